import type { Texts } from '#dashboard/src/texts/en/en.ts'

export const audiences: Texts['audiences'] = {
  title: 'Zielgruppen',
  description: 'Benannte Listen von Kontakten, jede mit eigenen Anmeldungen und eigenem Formular.',
  notLoaded: 'Die Zielgruppen konnten nicht geladen werden',
  audienceNotLoaded: 'Die Zielgruppe konnte nicht geladen werden',
  emptyTitle: 'Noch keine Zielgruppen',
  emptyText:
    'Eine Zielgruppe ist eine Liste, bei der sich Menschen anmelden, etwa ein Newsletter. Kampagnen gehen an Zielgruppen.',
  create: 'Neue Zielgruppe',
  createText: 'Ihr Formular ist sofort erreichbar.',
  name: 'Name',
  nameHint: 'Er steht auf dem Formular und auf der Seite zum Abmelden.',
  descriptionField: 'Beschreibung',
  contacts: 'Kontakte',
  created: 'Angelegt',
  optIn: 'Anmeldung',
  doubleOptIn: 'Double-Opt-in',
  singleOptIn: 'Single-Opt-in',
  confirmLabel: 'Anmeldungen werden bestätigt (Double-Opt-in)',
  confirmHint:
    'Wer das Formular ausfüllt, bekommt eine E-Mail mit einem Link. Das hält Tippfehler fern und belegt die Einwilligung.',
  tabs: { contacts: 'Kontakte', forms: 'Formular', settings: 'Einstellungen' },
  noContactsTitle: 'In dieser Zielgruppe ist noch niemand',
  noContactsText:
    'Importieren Sie Kontakte, legen Sie einen von Hand an oder binden Sie das Formular in Ihre Website ein.',
  showForm: 'Formular anzeigen',
  save: 'Speichern',
  saved: 'Zielgruppe gespeichert',
  id: 'ID',
  idText: 'Für Anfragen an die API.',
  copyId: 'ID kopieren',
  remove: 'Zielgruppe löschen',
  removeText: 'Kontakte, die in keiner anderen Zielgruppe sind, werden mit ihr gelöscht.',
  removeTitle: (name) => `„${name}“ löschen?`,
  removeCount: (count) =>
    `Die Zielgruppe hat ${count === 1 ? '1 Kontakt' : `${count.toLocaleString('de')} Kontakte`}. Wer in keiner anderen Zielgruppe ist, wird endgültig gelöscht, und das Formular nimmt keine Anmeldungen mehr an.`,
  formLink: 'Link zum Formular',
  formLinkText: 'Eine Seite dieses Servers. Sie brauchen dafür keine eigene Website.',
  copyLink: 'Link kopieren',
  openForm: 'Formular öffnen',
  embed: 'In Ihre Website einbinden',
  embedKinds: { form: 'HTML-Formular', link: 'Link', fetch: 'JavaScript' },
  embedTexts: {
    form: 'Braucht kein JavaScript. Das versteckte Feld hält Programme fern, die jedes Feld ausfüllen.',
    link: 'Führt zur Seite des Formulars.',
    fetch: 'Für eigene Formulare. Jede Website darf es senden.',
  },
  preview: 'Vorschau',
  previewText: 'Probieren Sie es aus: Nichts wird gesendet.',
  previewAgain: 'Formular wieder anzeigen',
  doubleTitle: 'Anmeldungen werden per E-Mail bestätigt',
  doubleText:
    'Die E-Mail kommt von einer bestätigten Domain dieses Arbeitsbereichs. Ohne eine solche nimmt das Formular niemanden an.',
  singleTitle: 'Anmeldungen gelten sofort',
  singleText:
    'Jeder kann beliebige Adressen eintragen. Schalten Sie in den Einstellungen Double-Opt-in ein, wenn nichts anderes falsche Adressen fernhält.',
}
