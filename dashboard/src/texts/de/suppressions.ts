import type { Texts } from '#dashboard/src/texts/en/en.ts'

const addresses = (count: number): string => (count === 1 ? '1 Adresse' : `${count.toLocaleString('de')} Adressen`)

export const suppressions: Texts['suppressions'] = {
  title: 'Sperrliste',
  description: 'Adressen, die keine E-Mails von diesem Arbeitsbereich bekommen, jede mit ihrem Grund.',
  notLoaded: 'Die Sperrliste konnte nicht geladen werden',
  entryNotLoaded: 'Der Eintrag konnte nicht geladen werden',
  emptyTitle: 'Keine Adresse ist gesperrt',
  emptyText:
    'Adressen kommen hierher, wenn ein Postfach nicht existiert, wenn jemand E-Mails als Spam meldet oder sich abmeldet, oder wenn Sie sie eintragen.',
  search: 'Adressen suchen',
  counted: addresses,
  email: 'Adresse',
  cause: 'Ursache',
  why: 'Grund',
  since: 'Gesperrt seit',
  changed: 'Ursache geändert',
  rule: 'Regel',
  reply: 'Antwort des Empfangssystems',
  showMessage: 'Nachricht anzeigen, die dazu führte',
  showMessages: 'Alle Nachrichten an diese Adresse',
  kinds: {
    complaint: 'Beschwerde',
    hard_bounce: 'Hard Bounce',
    unsubscribe: 'Abgemeldet',
    unsubscribe_bulk: 'Von Massenmails abgemeldet',
    manual: 'Von Hand',
    import: 'Importiert',
  },
  meanings: {
    complaint: 'Der Empfänger hat eine E-Mail als Spam gemeldet.',
    hard_bounce: 'Das Empfangssystem sagt, dass es das Postfach nicht gibt.',
    unsubscribe: 'Der Empfänger möchte keine E-Mails von diesem Arbeitsbereich.',
    unsubscribe_bulk: 'Der Empfänger möchte keine Massenmails. E-Mails der anderen Stufen gehen hinaus.',
    manual: 'Jemand hat die Adresse in die Liste eingetragen.',
    import: 'Die Adresse stand auf einer importierten Liste.',
  },
  periods: { day: 'Letzte 24 Stunden', week: 'Letzte 7 Tage', month: 'Letzte 30 Tage', year: 'Letztes Jahr' },
  export: 'Exportieren',
  import: 'Importieren',
  add: 'Adressen eintragen',
  addTitle: 'Adressen sperren',
  addText: 'E-Mails an sie werden nicht mehr gesendet, gleich von welchem Schlüssel oder welcher Kampagne.',
  addresses: 'Adressen',
  addressesHint: 'Eine je Zeile oder durch Kommas getrennt. Höchstens 1.000; für mehr importieren Sie eine Datei.',
  tooMany: 'Mehr als 1.000 Adressen. Importieren Sie stattdessen eine Datei.',
  reason: 'Grund',
  reasonHint: 'Er steht in der Liste.',
  addMany: (count) => (count === 0 ? 'Sperren' : `${addresses(count)} sperren`),
  addedToast: (added, listed) =>
    listed === 0
      ? `${addresses(added)} gesperrt`
      : `${addresses(added)} gesperrt, ${listed.toLocaleString('de')} waren es schon`,
  remove: 'Aus der Liste entfernen',
  removeTitle: (count) => `${addresses(count)} aus der Liste entfernen?`,
  removeText: 'E-Mails werden wieder an sie gesendet, auch solche, die jetzt warten.',
  removedToast: (count) => `${addresses(count)} aus der Liste entfernt`,
  removeWarnings: {
    complaint: 'Jemand hat Ihre E-Mail als Spam gemeldet. Weitere E-Mails schaden dem Ruf Ihrer Domain.',
    hard_bounce:
      'Das Postfach gab es nicht. Gibt es es noch immer nicht, kommt die E-Mail wieder zurück, und Empfangssysteme zählen das.',
    unsubscribe:
      'Diese Person wollte keine E-Mails mehr. In vielen Ländern brauchen Sie ihre Einwilligung, um ihr wieder zu schreiben.',
    unsubscribe_bulk:
      'Diese Person wollte keine Massenmails mehr. In vielen Ländern brauchen Sie ihre Einwilligung, um ihr wieder zu schreiben.',
  },
  importTitle: 'Gesperrte Adressen importieren',
  importText:
    'Eine CSV-Datei von hier oder von einem anderen Dienst. Nichts kommt doppelt hinzu, ein Import kann also wiederholt werden.',
  importHint: 'CSV mit einer Spalte email; reason und kind können fehlen',
  importing: 'Wird importiert',
  resultAdded: 'Eingetragen',
  resultListed: 'Schon in der Liste',
  resultInvalid: 'Zeilen ohne gültige Adresse',
  line: 'Zeile',
  close: 'Schließen',
}
