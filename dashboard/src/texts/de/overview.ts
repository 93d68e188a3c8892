import type { Texts } from '#dashboard/src/texts/en/en.ts'

const domainTodo = 'Veröffentlichen Sie die Einträge auf ihrer Seite und prüfen Sie sie dann.'
const campaignWaits = 'Sie läuft von selbst weiter, wenn der Betreiber gelöst hat, was der Grund nennt.'
const quotaTodo = 'Bitten Sie den Betreiber um einen anderen Tarif, oder warten Sie bis zum nächsten Monat.'

export const overview: Texts['overview'] = {
  title: 'Übersicht',
  description: (zone) => `Was mit Ihrer Mail geschieht. Zeiten in ${zone.replaceAll('_', ' ')}.`,
  period: 'Zeitraum',
  shortPeriods: { '24h': '24 Std.', '7d': '7 T', '30d': '30 T', '90d': '90 T', '12m': '12 Mon.' },
  csv: 'CSV',
  notLoaded: 'Die Statistik konnte nicht geladen werden',
  notComplete: 'Mail von vor der letzten Aktualisierung wird noch gezählt. Bis dahin wachsen die Zahlen.',
  figures: {
    sent: { label: 'Gesendet', hint: 'dem Empfangssystem übergeben', share: (share) => share },
    delivered: {
      label: 'Zugestellt',
      hint: 'vom Empfangssystem angenommen',
      share: (share) => `${share} der gesendeten`,
    },
    deferred: { label: 'Zurückgestellt', hint: 'Versuche, die wiederholt werden', share: (share) => share },
    bounced: { label: 'Abgewiesen', hint: 'endgültig abgelehnt', share: (share) => `${share} der gesendeten` },
    complained: {
      label: 'Beschwerden',
      hint: 'als Spam gemeldet',
      share: (share) => `${share} der zugestellten`,
    },
    opened: { label: 'Geöffnet', hint: 'von Menschen, erstmals', share: (share) => `${share} der zugestellten` },
    clicked: { label: 'Geklickt', hint: 'von Menschen, erstmals', share: (share) => `${share} der zugestellten` },
    unsubscribed: {
      label: 'Abgemeldet',
      hint: 'per Link oder Kopfzeile',
      share: (share) => `${share} der zugestellten`,
    },
  },
  chart: 'Diagramm',
  charts: {
    delivery: {
      label: 'Zustellung',
      title: 'Was aus der Mail wurde',
      text: 'Ein Empfänger, bei dem die Zustellung wiederholt wird, zählt bei jedem Versuch als zurückgestellt.',
    },
    readers: {
      label: 'Leser',
      title: 'Was Leser taten',
      text: 'Öffnungen und Klicks von Menschen, ohne Maschinen wie Datenschutz-Proxys.',
    },
  },
  noMail: 'Keine Mail in diesem Zeitraum',
  noMailText: 'Wählen Sie einen längeren Zeitraum, oder senden Sie eine erste Nachricht.',
  toStart: 'Testmail senden',
  queue: 'Wartet jetzt',
  queueText: 'Empfänger in der Warteschlange, nach Dringlichkeit.',
  queueNotLoaded: 'Die Warteschlange konnte nicht gezählt werden',
  nothingWaits: 'nichts wartet',
  oldestDue: 'älteste fällig',
  tiers: { instant: 'Sofort', high: 'Hoch', normal: 'Normal', bulk: 'Masse' },
  groups: {
    tier: { title: 'Nach Dringlichkeit', heading: 'Dringlichkeit', empty: 'Keine Mail in diesem Zeitraum.' },
    receiver: { title: 'Nach Empfangssystem', heading: 'Empfangssystem', empty: 'Keine Mail in diesem Zeitraum.' },
    domain: { title: 'Nach Absenderdomain', heading: 'Domain', empty: 'Keine Mail in diesem Zeitraum.' },
    tag: {
      title: 'Nach Tag',
      heading: 'Tag',
      empty: 'Keine Mail mit Tags. Mit Tags sehen Sie, was jede Art von Mail bewirkt.',
    },
  },
  sentAndDelivered: 'Gesendet · zugestellt',
  others: 'Andere',
  attention: 'Braucht Aufmerksamkeit',
  attentionNotLoaded: 'Was Aufmerksamkeit braucht, konnte nicht geladen werden',
  severities: { error: 'Problem', warning: 'Warnung' },
  showAll: (count) => `Alle ${count} zeigen`,
  look: 'Ansehen',
  openObject: {
    domain: 'Domain öffnen',
    account: 'Konto öffnen',
    webhook: 'Webhook öffnen',
    campaign: 'Kampagne öffnen',
    key: 'Schlüssel öffnen',
  },
  attentionKinds: {
    'domain-pending': { title: 'noch nicht bestätigt', todo: domainTodo },
    'domain-degraded': { title: 'ihr DKIM-Eintrag fehlt, sie darf höchstens 24 Stunden senden', todo: domainTodo },
    'domain-failed': {
      title: 'darf nicht senden, weil ihr DKIM-Eintrag nicht gefunden wurde',
      todo: `${domainTodo} Oder löschen Sie die Domain.`,
    },
    'account-paused': {
      title: 'angehalten, seine Mail wartet',
      todo: 'Korrigieren Sie die Zugangsdaten und setzen Sie es dann fort.',
    },
    'webhook-disabled': {
      title: 'abgeschaltet, erhält keine Ereignisse',
      todo: 'Reparieren Sie das Ziel, schalten Sie es ein und wiederholen Sie, was fehlt.',
    },
    'campaign-paused': { title: 'angehalten', todo: 'Lösen Sie, was der Grund nennt, und setzen Sie sie dann fort.' },
    'campaign-failed': {
      title: 'fehlgeschlagen',
      todo: 'Lösen Sie, was der Grund nennt, und erstellen Sie sie dann neu.',
    },
    'campaign-sending': { title: 'zurückgehalten', todo: campaignWaits },
    'campaign-sent': { title: 'der Rest ist zurückgehalten', todo: campaignWaits },
    'campaign-scheduled': { title: 'kann nicht starten', todo: 'Lösen Sie vor dem Termin, was der Grund nennt.' },
    'key-expires': {
      title: 'der Schlüssel läuft innerhalb von zwei Wochen ab',
      todo: 'Erstellen Sie einen anderen Schlüssel und benutzen Sie ihn, bevor dieser abläuft.',
    },
    'workspace-suspended': {
      title: 'Die Mail des Arbeitsbereichs ist gesperrt und wartet',
      todo: 'Lösen Sie, was der Grund nennt, und bitten Sie dann den Betreiber, sie freizugeben.',
    },
    'bounce-rate': {
      title: 'Viele Adressen existieren nicht: An der Grenze wird alle Mail des Arbeitsbereichs gesperrt',
      todo: 'Senden Sie nur an bestätigte Adressen, und entfernen Sie die abgewiesenen.',
    },
    'complaint-rate': {
      title: 'Viele melden die Mail als Spam: An der Grenze wird alle Mail des Arbeitsbereichs gesperrt',
      todo: 'Senden Sie nur an Menschen, die darum gebeten haben, und machen Sie das Abmelden leicht.',
    },
    'quota-near': { title: 'Das Monatskontingent ist fast verbraucht', todo: quotaTodo },
    'quota-used': { title: 'Das Monatskontingent ist verbraucht', todo: quotaTodo },
  },
}
