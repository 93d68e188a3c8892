import type { Texts } from '#dashboard/src/texts/en/en.ts'

export const session: Texts['session'] = {
  signIn: 'Anmelden',
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  withPasskey: 'Mit Passkey anmelden',
  withProvider: (name) => `Weiter mit ${name}`,
  or: 'oder',
  secondFactor: 'Bestätigen Sie, dass Sie es sind',
  secondFactorText: 'Geben Sie die sechs Ziffern Ihrer Authenticator-App oder einen Ihrer Wiederherstellungscodes ein.',
  passkeyText: 'Verwenden Sie den Passkey Ihres Kontos.',
  noPasskeyHere:
    'Ihr Konto verlangt einen Passkey, den dieser Browser nicht unterstützt. Verwenden Sie einen anderen Browser, oder melden Sie sich unter der https-Adresse an.',
  code: 'Code',
  confirm: 'Bestätigen',
  usePasskey: 'Passkey verwenden',
  startAgain: 'Als jemand anderes anmelden',
  passkeyCancelled: 'Der Passkey wurde nicht verwendet. Versuchen Sie es noch einmal, oder nehmen Sie Ihr Passwort.',
  noAccount: 'Kein Konto? Bitten Sie ein Mitglied Ihres Arbeitsbereichs um eine Einladung.',
  firstRun: 'Ist dieser Server neu? `npm start` gibt einen Link aus, der das erste Konto anlegt.',
  forgotten: 'Passwort vergessen?',
  forgottenText: 'Geben Sie Ihre E-Mail-Adresse ein. Hat sie ein Konto, geht ein Link für ein neues Passwort dorthin.',
  sendLink: 'Link senden',
  linkSent: 'Wenn diese Adresse ein Konto hat, ist ein Link unterwegs. Er gilt einmal, eine Stunde lang.',
  backToSignIn: 'Zurück zur Anmeldung',
  about: 'Was ist das für ein Server?',
  ended: 'Ihre Sitzung ist beendet. Melden Sie sich neu an.',
}
