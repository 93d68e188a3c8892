import type { Texts } from '#dashboard/src/texts/en/en.ts'

const n = (count: number): string => count.toLocaleString('de')
const entries = (count: number): string => (count === 1 ? '1 Eintrag' : `${n(count)} Einträgen`)

export const suppressionReviews: Texts['suppressionReviews'] = {
  title: 'Überprüfung der Sperren',
  description:
    'Prüft die harten Bounces auf den Sperrlisten aller Arbeitsbereiche nach den heutigen Regeln. Ein Eintrag, den sie nicht vornehmen würden, war ein Irrtum.',
  one: 'Überprüfung der Sperren',
  start: 'Überprüfung starten',
  startText:
    'Ein Inbound-Prozess klassifiziert die gespeicherten Berichte und Antworten neu. Manuelle Einträge, Beschwerden und Importe bleiben.',
  what: 'Was mit Irrtümern geschieht',
  choices: {
    list: { label: 'Auflisten', text: 'Nichts ändert sich. Was gefunden wird, können Sie danach entfernen.' },
    lift: {
      label: 'Entfernen',
      text: 'E-Mails an diese Adressen werden wieder angenommen. Jede Entfernung steht im Protokoll und im Verlauf des Kontakts.',
    },
  },
  remove: 'Irrtümer entfernen',
  removeTitle: 'Irrtümer von den Sperrlisten entfernen?',
  removeText: (count) =>
    `Eine zweite Überprüfung prüft alle Einträge erneut und entfernt die Irrtümer: zurzeit ${n(count)}. E-Mails an diese Adressen werden wieder angenommen.`,
  requested: 'Angefordert',
  by: 'Angefordert von',
  unknown: 'Nicht bekannt',
  ended: 'Beendet',
  mode: 'Irrtümer werden',
  modes: { list: 'aufgelistet', lift: 'entfernt' },
  state: 'Status',
  states: { waiting: 'Wartet', running: 'Läuft', done: 'Fertig' },
  progress: 'Fortschritt',
  checked: (checked, total) =>
    total === null ? `${n(checked)} geprüft` : `${n(checked)} von ${entries(total)} geprüft`,
  checkedCount: 'Geprüft',
  found: 'Irrtümer',
  removed: 'Entfernt',
  waitingTitle: 'Die Überprüfung wartet auf einen Inbound-Prozess',
  waitingText: 'Sie beginnt, sobald einer läuft. Startet binnen eines Tages keiner, wird sie verworfen.',
  mayLeave: 'Sie können diese Seite verlassen: Die Überprüfung läuft weiter.',
  noMistakes: 'Bisher keine Irrtümer',
  noMistakesText: 'Einträge, die die heutigen Regeln nicht vornehmen würden, erscheinen hier während der Überprüfung.',
  allRight: 'Keine Irrtümer',
  allRightText: 'Heute würden dieselben Adressen gesperrt.',
  shown: (shown, count) => `Die ersten ${n(shown)} von ${n(count)} werden gezeigt.`,
  address: 'Adresse',
  workspace: 'Arbeitsbereich',
  rule: 'Eingetragen durch die Regel',
  class: 'Heute gelesen als',
  reply: 'Antwort',
  empty: 'Keine Überprüfungen am letzten Tag',
  emptyText:
    'Nach einem Upgrade mit anderen Regeln für Bounces findet eine Überprüfung Adressen, die irrtümlich gesperrt wurden.',
  gone: 'Diese Überprüfung ist nicht mehr gespeichert',
  goneText: 'Überprüfungen werden einen Tag lang gespeichert. Starten Sie eine neue.',
}
