import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'

/** The next actions of the deliverability desk, and their evidence. */
export const actions: ServerTexts = {
  'action.suspended': 'Der Versand an {receiver} ist ausgesetzt.',
  'action.suspended_from': 'Der Versand an {receiver} ist für {source} ausgesetzt.',
  'action.suspended_todo':
    'Beheben Sie, was die Antwort nennt, bevor wieder Mail gesendet wird. Nach Ablauf der Zeit geht es von selbst weiter.',
  'action.slowed': '{receiver} nimmt weniger Verbindungen an als geplant.',
  'action.slowed_from': '{receiver} nimmt von {source} weniger Verbindungen an als geplant.',
  'action.slowed_todo':
    'Nichts, wenn die Mail rechtzeitig ankommt: Das Limit steigt von selbst. Sonst senken Sie das Limit in der Shaping-Datei.',
  'action.complaints': 'Empfänger bei {receiver} melden zu viel Mail als Spam.',
  'action.complaints_todo':
    'Suchen Sie die Kampagne oder den Arbeitsbereich mit den Beschwerden, und halten Sie den Versand an. Senden Sie nur an Personen, die darum gebeten haben. Erhöhen Sie die Menge erst wieder, wenn die Quote unter 0,1 % liegt.',
  'action.refused': '{receiver} lehnt Mail wegen ihres Absenders ab oder stellt sie zurück.',
  'action.refused_todo':
    'Lesen Sie die Antwort. Sie nennt den Grund, und oft eine Seite mit einem Formular, auf dem Sie um Hilfe bitten können.',
  'action.tls_failing': 'Mail an {receiver} wartet, weil TLS scheitert.',
  'action.tls_failing_todo':
    'Vergleichen Sie MTA-STS-Richtlinie, TLSA-Einträge und Zertifikat des Empfangssystems, und sagen Sie seinem Postmaster, was nicht stimmt.',
  'action.many_deferrals': '{receiver} stellt viel Mail zurück.',
  'action.many_deferrals_todo':
    'Lesen Sie die Antwort. Wenn sie um weniger Mail bittet, senken Sie die Rate dieses Empfangssystems in der Shaping-Datei.',
  'action.warm_up_limit': '{source} hat heute bei {receiver} gesendet, was das Aufwärmen erlaubt.',
  'action.warm_up_limit_todo':
    'Nichts: Der Rest wird morgen gesendet. Fügen Sie dem Pool Quellen hinzu, wenn die Mail heute gehen muss.',
  'action.unencrypted': 'Mail an {receiver} wird ohne TLS gesendet.',
  'action.unencrypted_todo':
    'Bitten Sie seinen Postmaster um STARTTLS, oder setzen Sie eine TLS-Stufe für seine Domains, wenn Ihre Mail verschlüsselt sein muss.',
  'action.source_gone': 'Die Adresse von {source} ist auf keinem Rechner.',
  'action.source_gone_todo': 'Fügen Sie {address} einem Rechner hinzu, der sendet, oder entfernen Sie die Quelle.',
  'action.no_source_todo':
    'Starten Sie einen Knoten mit einer Quelle des Pools, oder fügen Sie dem Pool eine Quelle hinzu.',
  'action.certificate_expired': 'Das Zertifikat von {name} ist abgelaufen.',
  'action.certificate_expiring': 'Das Zertifikat von {name} läuft bald ab.',
  'action.certificate_todo': 'Lesen Sie, warum es nicht erneuert wird: mailstead certificate list',
  'action.listed': 'Die Adresse von {source} steht auf einer Sperrliste.',
  'action.many_bounces': 'Zu viele Adressen von {sender} gibt es nicht.',
  'action.many_bounces_todo':
    'Suchen Sie die Liste, aus der die Adressen stammen, und senden Sie nur an Personen, die ihre Adresse bestätigt haben.',
  'action.many_bounces_todo_of_operator':
    'Fragen Sie den Arbeitsbereich, woher seine Adressen stammen. Setzen Sie ihn aus, wenn es niemand weiß.',
  'action.dmarc_failing': 'Mail von {domain} über {source} besteht DMARC nicht.',
  'action.dmarc_failing_todo':
    'Prüfen Sie die DKIM-Einträge und die MAIL-FROM-Domain von {domain}. Eines von beiden muss bestehen.',
  'action.dmarc_unknown': '{address} sendet Mail von {domain}, die DMARC nicht besteht.',
  'action.dmarc_unknown_todo':
    'Finden Sie heraus, wer sie sendet. Ein eigener Dienst: Lassen Sie ihn mit DKIM für {domain} signieren. Ein Fälscher: Setzen Sie eine strengere Richtlinie im DMARC-Eintrag.',
  'action.operator_reply': 'Ein Empfangssystem meldet ein Problem, das nur der Betreiber beheben kann.',
  'action.operator_reply_todo': 'Tun Sie, was die Antwort sagt, und bestätigen Sie den Hinweis: mailstead notices',

  'evidence.until': 'bis {at}',
  'evidence.until_resumed': 'bis der Betreiber den Versand fortsetzt',
  'evidence.rule': 'durch die Regel {rule}',
  'evidence.connections': 'gleichzeitige Verbindungen: {count}',
  'evidence.complaints': 'Beschwerden in 7 Tagen: {percent} % ({part} von {whole})',
  'evidence.limit': 'Grenze: {percent} %',
  'evidence.attempt_count': 'Versuche in 24 Stunden: {count}',
  'evidence.attempts': 'Versuche in 24 Stunden: {percent} % ({part} von {whole})',
  'evidence.reasons': 'Gründe: {reasons}',
  'evidence.deferrals': 'Zurückstellungen in 24 Stunden: {percent} % ({part} von {whole})',
  'evidence.warm_up': 'Schritt {step} des Aufwärmens: {taken} von {allowance}',
  'evidence.encrypted': 'mit TLS gesendet in 24 Stunden: {percent} % ({part} von {whole})',
  'evidence.day': '24 Stunden: {delivered} zugestellt, {deferred} zurückgestellt',
  'evidence.expires': 'läuft ab am {at}',
  'evidence.refused_attempts': '{receiver} hat in 24 Stunden abgelehnt oder zurückgestellt: {attempts}',
  'evidence.sent': 'gesendet in 24 Stunden: {count}',
  'evidence.hard_bounces': 'Hard Bounces in 7 Tagen: {percent} % ({part} von {whole})',
  'evidence.dmarc_failed': 'nicht bestanden in 7 Tagen: {percent} % ({part} von {whole})',
  'evidence.reporter': 'das meiste gemeldet von {reporter}',
  'evidence.replies': 'Antworten: {count}',
}
