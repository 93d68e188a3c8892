import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'
import { actions } from './server-actions.ts'
import { checks } from './server-checks.ts'
import { gates } from './server-gates.ts'
import { fields } from './server-fields.ts'
import { reasons } from './server-reasons.ts'
import { refusals } from './server-refusals.ts'
import { sentences } from './server-sentences.ts'

/** With the parameters of the server in braces. What a text of a receiver or of an operator says is not translated. */
export const server: ServerTexts = {
  ...actions,
  ...checks,
  ...fields,
  ...gates,
  ...reasons,
  ...refusals,
  ...sentences,
  'record.dkim_published': 'Der DKIM-Schlüssel ist veröffentlicht.',
  'record.txt_missing': 'Es gibt keinen TXT-Eintrag.',
  'record.dkim_not_a_key': 'Es gibt einen TXT-Eintrag, aber er ist kein DKIM-Schlüssel.',
  'record.dkim_several': 'Unter diesem Namen gibt es {count} DKIM-Einträge. Behalten Sie nur diesen.',
  'record.quoted': 'Der Wert enthält Anführungszeichen. Tragen Sie ihn ohne sie ein.',
  'record.dkim_version': 'Der Wert hat v={found} statt v=DKIM1.',
  'record.dkim_key_type': 'Der Wert hat k={found} statt k={expected}.',
  'record.dkim_hash': 'Der Wert hat h={found}. Das erlaubt sha256 nicht.',
  'record.dkim_service': 'Der Wert hat s={found}. Das erlaubt keine E-Mail.',
  'record.dkim_revoked': 'Der Schlüssel (p=) ist leer, gilt also als widerrufen.',
  'record.dkim_other_key': 'Der Eintrag enthält einen anderen Schlüssel.',
  'record.dkim_cut':
    'Der Schlüssel ist nach {length} von {expected} Zeichen abgeschnitten. Tragen Sie den Wert als mehrere Zeichenketten von höchstens 255 Zeichen ein.',
  'record.dkim_not_published_by_operator':
    'Der CNAME-Eintrag ist veröffentlicht, aber der Betreiber dieses Dienstes hat den Schlüssel nicht veröffentlicht.',
  'record.record_elsewhere':
    'Der Eintrag steht unter {found}. Tragen Sie seinen Namen als {short} ein: Ihr DNS-Anbieter hängt die Domain an.',
  'record.hidden_by_cname': 'Ein CNAME auf {target} verdeckt alle anderen Einträge dieses Namens. Entfernen Sie ihn.',
  'record.cname_published': 'Der CNAME-Eintrag ist veröffentlicht.',
  'record.cname_missing': 'Es gibt keinen CNAME-Eintrag.',
  'record.cname_elsewhere': 'Der CNAME zeigt auf {found}. Er muss auf {expected} zeigen.',
  'record.cname_is_address':
    'Der Name hat einen Adresseintrag. Er muss ein CNAME auf {expected} sein, ohne Proxy des DNS-Anbieters.',
  'record.mx_published': 'Der MX-Eintrag ist veröffentlicht.',
  'record.mx_missing': 'Es gibt keinen MX-Eintrag.',
  'record.mx_elsewhere': 'Der MX ist {found}. Er darf nur {expected} sein, sonst gehen Bounces verloren.',
  'record.spf_authorises': 'SPF erlaubt diesen Dienst, mit {count} von {max} DNS-Abfragen.',
  'record.spf_missing': 'Es gibt keinen SPF-Eintrag.',
  'record.spf_several':
    'Es gibt {count} SPF-Einträge, deshalb sind alle ungültig (RFC 7208 4.5). Führen Sie sie zu einem zusammen.',
  'record.spf_without_us': 'Der SPF-Eintrag erlaubt diesen Dienst nicht. Ergänzen Sie include:{include} vor „all“.',
  'record.spf_invalid': 'Der SPF-Eintrag ist ungültig: {term} ist kein gültiger Ausdruck.',
  'record.spf_included_invalid': 'Der SPF-Eintrag von {name} ist ungültig: {term} ist kein gültiger Ausdruck.',
  'record.spf_lookups':
    'Der SPF-Eintrag braucht mehr als {max} DNS-Abfragen, deshalb ist er ungültig (RFC 7208 4.6.4). Entfernen Sie einige Ausdrücke.',
  'record.spf_slow': 'Die Auswertung des SPF-Eintrags dauert zu lange. Er wird erneut geprüft.',
  'record.spf_loop': 'Der SPF-Eintrag bindet über {name} sich selbst ein. Empfangssysteme lehnen das ab.',
  'record.spf_include_unread':
    'Der eingebundene Eintrag von {name} konnte nicht gelesen werden. Er wird erneut geprüft.',
  'record.spf_include_without_record': 'Er bindet {name} ein. Dort gibt es keinen SPF-Eintrag.',
  'record.spf_include_of_operator':
    'Er bindet {name} ein. Dort gibt es keinen SPF-Eintrag: Der Betreiber dieses Dienstes muss ihn veröffentlichen.',
  'record.spf_include_several': 'Er bindet {name} ein. Dort gibt es {count} SPF-Einträge.',
  'record.spf_include_of_operator_several':
    'Er bindet {name} ein. Dort gibt es {count} SPF-Einträge: Der Betreiber dieses Dienstes muss das korrigieren.',
  'record.spf_name_unread': 'Ein Name im SPF-Eintrag konnte nicht gelesen werden. Der Eintrag wird erneut geprüft.',
  'record.spf_included_name_unread':
    'Ein Name im SPF-Eintrag von {name} konnte nicht gelesen werden. Der Eintrag wird erneut geprüft.',
  'record.spf_void_lookups':
    'Mehr als {max} Namen im SPF-Eintrag existieren nicht, deshalb ist er ungültig (RFC 7208 4.6.4).',
  'record.dmarc_published': 'Der DMARC-Eintrag hat die Richtlinie {policy}.',
  'record.dmarc_inherited': 'Es gilt die DMARC-Richtlinie von {domain}.',
  'record.dmarc_missing': 'Es gibt keinen DMARC-Eintrag.',
  'record.dmarc_several': 'Es gibt {count} DMARC-Einträge. Das zählt wie keiner (RFC 7489 6.6.3). Behalten Sie einen.',
  'record.dmarc_without_policy': 'Der DMARC-Eintrag hat keine Richtlinie. Ergänzen Sie p=none oder eine strengere.',
  'record.dmarc_policy': 'Der DMARC-Eintrag hat {tag}={found}. Möglich sind {policies}.',
  'record.dmarc_version': 'Der DMARC-Eintrag beginnt nicht mit v=DMARC1;.',
  'record.dns_timeout': 'Kein DNS-Server hat rechtzeitig geantwortet. Der Eintrag wird erneut geprüft.',
  'record.dns_unreachable': 'Kein DNS-Server ist erreichbar. Der Eintrag wird erneut geprüft.',
  'record.dns_servfail': 'Der DNS-Server meldet einen Fehler (SERVFAIL). Der Eintrag wird erneut geprüft.',
  'record.dns_refused': 'Der DNS-Server hat die Abfrage abgelehnt. Der Eintrag wird erneut geprüft.',
  'record.dns_failed': 'Die DNS-Abfrage ist fehlgeschlagen ({code}). Der Eintrag wird erneut geprüft.',

  'recommendation.mail_from':
    'Veröffentlichen Sie die MX- und TXT-Einträge von {name} (MAIL FROM). Dann kommen Bounces an Ihren eigenen Namen zurück, und SPF besteht für die Domain in From. Empfangssysteme und DMARC belohnen das.',
  'recommendation.dkim_cnames':
    'Veröffentlichen Sie alle CNAME-Einträge für DKIM. Ohne sie können die Schlüssel der Domain nicht automatisch ersetzt werden.',
  'recommendation.dmarc':
    'Veröffentlichen Sie den DMARC-Eintrag _dmarc.{domain}. Große Empfangssysteme verlangen ihn von Massenversendern.',
  'recommendation.dmarc_reports_nowhere':
    'Ergänzen Sie rua=mailto:{address} im Eintrag _dmarc.{domain}. Er nennt keine Adresse für DMARC-Berichte.',
  'recommendation.dmarc_reports_elsewhere':
    'Ergänzen Sie mailto:{address} nach einem Komma in rua des Eintrags _dmarc.{domain}. Die DMARC-Berichte gehen nur an {found} und erscheinen hier nicht.',
  'recommendation.dmarc_reports_not_agreed':
    'Bitten Sie den Betreiber dieses Dienstes, {record} TXT "v=DMARC1" zu veröffentlichen. Ohne diesen Eintrag senden Empfangssysteme keine DMARC-Berichte über diese Domain.',

  'domain_status.unchecked': 'Ihre DNS-Einträge wurden noch nicht geprüft.',
  'domain_status.verified': '{domain} ist verifiziert.',
  'domain_status.verified_missing':
    '{domain} ist verifiziert, aber der DKIM-Eintrag wurde bei der letzten Prüfung nicht gefunden.',
  'domain_status.degraded':
    '{domain} hat den DKIM-Eintrag verloren. Nach dem Verlust kann die Domain noch 24 Stunden senden.',
  'domain_status.not_verified': '{domain} ist nicht verifiziert.',
  'domain_status.taken': 'Die Einträge sind richtig, aber ein anderer Arbeitsbereich hat diese Domain verifiziert.',

  'finding.no_content': 'Die Kampagne hat keinen Inhalt. Wählen Sie eine Vorlage, oder schreiben Sie Betreff und Text.',
  'finding.sender_not_verified': 'Der Absender muss zu einer verifizierten Domain des Arbeitsbereichs gehören.',
  'finding.no_audience': 'Die Kampagne hat keine Zielgruppe.',
  'finding.nobody': 'Die Kampagne hat keine Empfänger.',
  'finding.quota': 'Das Kontingent dieses Monats reicht noch für {remaining}. Danach würde die Kampagne pausieren.',
  'finding.warm_up':
    'Das Aufwärmlimit für {receivers} liegt unter der Zahl der Empfänger. Der Rest folgt an späteren Tagen.',
  'finding.never_mailed': '{percent} % der Empfänger haben seit einem Jahr nichts bekommen.',
  'finding.dkim_missing': 'Die DKIM-Einträge der Absenderdomain sind aus dem DNS verschwunden.',
  'finding.dkim_aligned': 'Mit der Domain in From signiert: DKIM passt zum Absender.',
  'finding.spf_aligned': 'Der Return-Path liegt unter der Domain in From: SPF passt zum Absender.',
  'finding.spf_not_aligned':
    'Der Return-Path liegt nicht unter der Domain in From: SPF passt nicht zum Absender, DMARC hängt allein an DKIM.',
  'finding.dmarc_published': 'Die Absenderdomain hat einen DMARC-Eintrag.',
  'finding.dmarc_missing': 'Die Absenderdomain hat keinen gültigen DMARC-Eintrag.',
  'finding.dmarc_required':
    'Die Absenderdomain hat keinen gültigen DMARC-Eintrag. Große Empfangssysteme verlangen ihn von Massenversendern.',
  'finding.subject_empty': 'Der Betreff ist leer.',
  'finding.subject_of_reply':
    'Der Betreff beginnt wie eine Antwort oder Weiterleitung. Spamfilter, und in einigen Ländern das Recht, werten das als Täuschung.',
  'finding.test_too_small':
    'Der Test hat zu wenige Empfänger für zwei Betreffzeilen. Alle anderen warten trotzdem, bis er endet.',
  'finding.unsubscribe_https': 'Abmelden mit einem Klick, über HTTPS und per Mail.',
  'finding.unsubscribe_http': 'Der Abmeldelink ist nicht HTTPS. Empfangssysteme zeigen ihn nicht an (RFC 8058 4).',

  'check.Node.js': 'Node.js',
  'check_reason.Node.js': 'Einer älteren Version fehlen Funktionen, die der Dienst braucht.',
  'check.notices': 'Hinweise',
  'check_reason.notices': 'Diese Probleme warten auf jemanden: Von selbst lösen sie sich nicht.',
  'check.suspensions': 'Aussetzungen',
  'check_reason.suspensions': 'Ausgesetzte Mail wartet und scheitert, wenn sie zu alt wird.',
  'check.mode': 'Modus',
  'check_reason.mode': 'In der Sandbox verlässt keine Mail diesen Rechner.',
  'check.disk': 'Speicherplatz',
  'check_reason.disk': 'Eine volle Platte hält PostgreSQL an. Dann nimmt der Dienst keine Mail an.',
  'check.PostgreSQL': 'PostgreSQL',
  'check_reason.PostgreSQL': 'Es speichert alle Mail und alle Einstellungen. Ohne PostgreSQL wird nichts angenommen.',
  'check.PostgreSQL connections': 'PostgreSQL-Verbindungen',
  'check_reason.PostgreSQL connections': 'Ein Prozess, der keine Verbindung bekommt, kann nicht arbeiten.',
  'check.migrations': 'Migrationen',
  'check_reason.migrations': 'Programm und Datenbank müssen dieselbe Version haben.',
  'check.clock': 'Uhrzeit',
  'check_reason.clock': 'Wiederholungen, Limits und Signaturen hängen von der Uhrzeit ab.',
  'check.process clocks': 'Uhren der Prozesse',
  'check_reason.process clocks': 'Rechner mit verschiedenen Uhrzeiten sind sich nicht einig, was fällig ist.',
  'check.master key': 'Hauptschlüssel',
  'check_reason.master key':
    'Ohne ihn lassen sich Signaturschlüssel und Zugangsdaten nicht entschlüsseln. Dann wird keine Mail signiert.',
  'check.Redis': 'Redis',
  'check_reason.Redis': 'Es enthält den Zeitplan und die Limits. Ohne Redis wird Mail angenommen und wartet.',
  'check.Redis eviction': 'Verdrängung in Redis',
  'check_reason.Redis eviction': 'Wenn Redis Schlüssel verdrängt, wartet Mail, bis der Zeitplan neu gefüllt ist.',
  'check.Redis persistence': 'Persistenz von Redis',
  'check_reason.Redis persistence': 'Ohne sie kostet ein Neustart von Redis Minuten, in denen Mail wartet.',
  'check.DNS': 'DNS',
  'check_reason.DNS': 'Ohne DNS wird kein Empfangssystem gefunden.',
  'check.DNSSEC': 'DNSSEC',
  'check_reason.DNSSEC': 'Ohne DNSSEC kann DANE den Weg zu den Empfangssystemen nicht schützen.',
  'check.queue age': 'Alter der Warteschlange',
  'check_reason.queue age': 'Mail, die lange wartet, kommt spät an und scheitert schließlich.',
  'check.retention': 'Aufbewahrung',
  'check_reason.retention': 'Mail, die länger als zugesagt gespeichert wird, ist ein Problem des Datenschutzes.',
  'check.backup': 'Sicherung',
  'check_reason.backup': 'Ohne Sicherung geht bei einem Plattenschaden alles verloren.',
  'check.bounces': 'Bounces',
  'check_reason.bounces': 'Bounces, die niemand auswertet, lassen ungültige Adressen auf den Listen.',
  'check.return-path': 'Return-Path',
  'check_reason.return-path':
    'SPF ist nur dann auf die Domain des Absenders ausgerichtet, wenn sein Return-Path Einträge hat.',
  'check.sender DMARC': 'DMARC der Absender',
  'check_reason.sender DMARC': 'Große Empfangssysteme lehnen Massenmail von Domains ohne DMARC ab.',
  'check.DKIM keys': 'DKIM-Schlüssel',
  'check_reason.DKIM keys': 'Alte Schlüssel sind schwächer. Empfangssysteme raten, sie zu wechseln.',
  'check.operator DKIM': 'DKIM des Betreibers',
  'check_reason.operator DKIM':
    'Feedback-Loops melden Beschwerden an den, der signiert hat. Eine ungültige Signatur bekommt keine.',
  'check.TLS reports': 'TLS-Berichte',
  'check_reason.TLS reports': 'Die Berichte nennen Empfangssysteme, die nicht sicher erreichbar waren.',
  'check.hosted mail': 'Gehostete Mail',
  'check_reason.hosted mail': 'Browser und Sperrlisten beurteilen einen Hostnamen nach seiner schlechtesten Seite.',
  'check.egress sources': 'Ausgangsadressen',
  'check_reason.egress sources': 'Empfangssysteme beurteilen jede sendende Adresse für sich.',
  'check.egress PTR': 'PTR der Ausgangsadressen',
  'check.egress FCrDNS': 'Vorwärtsauflösung der Ausgangsadressen',
  'check.egress EHLO name': 'EHLO-Name der Ausgangsadressen',
  'check.egress port 25': 'Port 25 der Ausgangsadressen',
  'check.egress blocklists': 'Sperrlisten der Ausgangsadressen',
  'check.plain HTTP': 'HTTP ohne TLS',
  'check_reason.plain HTTP': 'Passwörter und Schlüssel, die ohne TLS gesendet werden, können unterwegs gelesen werden.',
  'check.public URLs': 'Öffentliche URLs',
  'check_reason.public URLs': 'Dorthin führen die Links zum Öffnen, Klicken und Abmelden aus der Mail an Fremde.',
  'check.web certificate': 'Web-Zertifikat',
  'check_reason.web certificate':
    'Ohne gültiges Zertifikat zeigen die Links in der Mail eine Warnung, und Webhooks scheitern.',
  'check.SMTP certificate': 'SMTP-Zertifikat',
  'check_reason.SMTP certificate': 'Programme und andere Server senden nicht über eine unsichere Verbindung.',
  'check.bounce domain': 'Bounce-Domain',
  'check_reason.bounce domain':
    'Ohne ihren MX-Eintrag kommt kein Bounce zurück, und ungültige Adressen bleiben auf den Listen.',
  'check.bounce domain SPF': 'SPF der Bounce-Domain',
  'check_reason.bounce domain SPF': 'Empfangssysteme prüfen SPF des Return-Path, der in dieser Domain liegt.',
  'check.bounce domain DMARC': 'DMARC der Bounce-Domain',
  'check_reason.bounce domain DMARC':
    'Ohne DMARC können andere als diese Domain senden, und große Empfangssysteme erwarten einen Eintrag.',
  'check.DMARC reports': 'DMARC-Berichte',
  'check_reason.DMARC reports':
    'Ohne den Eintrag senden Empfangssysteme diesem Dienst keine Berichte über Domains von Kunden.',
  'check.PTR': 'PTR',
  'check_reason.PTR': 'Große Empfangssysteme lehnen Mail von einer Adresse ohne Namen ab.',
  'check.forward match': 'Passende Vorwärtsauflösung',
  'check_reason.forward match': 'Empfangssysteme lehnen eine Adresse ab, deren Name nicht zu ihr zurückführt.',
  'check.EHLO name': 'EHLO-Name',
  'check_reason.EHLO name': 'Empfangssysteme vergleichen den Namen in der Begrüßung mit dem der Adresse.',
  'check.blocklists': 'Sperrlisten',
  'check_reason.blocklists': 'Empfangssysteme lehnen Mail von gelisteten Adressen ab.',
  'check.port 25 out': 'Port 25 nach außen',
  'check_reason.port 25 out':
    'Andere Mailserver sind nur über Port 25 erreichbar. Viele Hoster sperren ihn, bis man sie bittet.',

  'error.VALIDATION_ERROR': 'Eine Angabe fehlt oder ist ungültig.',
  'error.INVALID_TEMPLATE': 'Die Vorlage fehlt, ist ungültig oder lässt sich mit diesen Werten nicht anzeigen.',
  'error.UNAUTHORIZED': 'Die Anmeldung ist ungültig oder abgelaufen.',
  'error.FORBIDDEN': 'Das ist hier nicht erlaubt.',
  'error.INSUFFICIENT_SCOPE': 'Dem Schlüssel fehlt die Berechtigung dafür.',
  'error.PLAN_REQUIRED': 'Diese Funktion braucht einen höheren Tarif.',
  'error.NOT_FOUND': 'Das Gesuchte gibt es nicht, oder es gehört zu einem anderen Arbeitsbereich.',
  'error.METHOD_NOT_ALLOWED': 'Der Server kennt diese Anfrage nicht. Laden Sie die Seite neu.',
  'error.REQUEST_TIMEOUT': 'Die Anfrage kam nicht rechtzeitig an. Versuchen Sie es erneut.',
  'error.CONFLICT': 'Der jetzige Zustand lässt das nicht zu.',
  'error.IDEMPOTENCY_MISMATCH': 'Diese Anfrage wurde schon mit anderen Angaben gesendet. Laden Sie die Seite neu.',
  'error.IDEMPOTENCY_IN_PROGRESS': 'Dieselbe Anfrage läuft noch. Warten Sie einen Augenblick.',
  'error.PAYLOAD_TOO_LARGE': 'Die Daten sind größer als erlaubt.',
  'error.UNSUPPORTED_MEDIA_TYPE': 'Diese Art von Datei wird nicht angenommen.',
  'error.RATE_LIMITED': 'Ein Limit ist erreicht. Versuchen Sie es später erneut.',
  'error.HEADERS_TOO_LARGE': 'Die Kopfzeilen der Anfrage sind größer als erlaubt.',
  'error.INTERNAL_ERROR': 'Auf dem Server ist ein Fehler aufgetreten. Versuchen Sie es erneut.',
  'error.SERVICE_UNAVAILABLE': 'Der Dienst ist gerade nicht verfügbar. Versuchen Sie es in Kürze erneut.',
  'error.UNREACHABLE': 'Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es erneut.',
  'error.UNKNOWN': 'Der Server hat mit einem Fehler geantwortet.',
}
