/**
 * All texts of the public pages and of the confirmation mail, in English and German. A workspace may replace each text,
 * and add languages. `{list}` and `{email}` are filled in; they are data and are escaped where the text is shown. Pure.
 */

const ENGLISH = {
  'subscribe.title': 'Subscribe to {list}',
  'subscribe.email': 'Email address',
  'subscribe.first_name': 'First name (optional)',
  'subscribe.last_name': 'Last name (optional)',
  'subscribe.button': 'Subscribe',
  'subscribe.thanks_title': 'Thank you',
  'subscribe.thanks': 'You are subscribed to {list}.',
  'subscribe.check_title': 'Check your inbox',
  'subscribe.check': 'We sent you an email. Open the link in it to confirm your subscription to {list}.',
  'problem.prefix': 'Error',
  'problem.title': 'There is a problem',
  'problem.email': 'Enter an email address, such as name@example.com.',
  'problem.form': "We couldn't read the form. Please fill it in again.",
  'confirm.title': 'Confirm your subscription',
  'confirm.question': 'Subscribe {email} to {list}?',
  'confirm.button': 'Confirm subscription',
  'mail.subject': 'Please confirm: {list}',
  'mail.intro': 'You, or somebody in your name, asked to be subscribed to “{list}”.',
  'mail.instruction': 'To confirm, open this address and press the button there:',
  'mail.button': 'Confirm the subscription',
  'mail.footer':
    'If it was not you, do nothing: without your confirmation nothing is stored. The link works for 7 days.',
  'unsubscribe.title': 'Unsubscribe',
  'unsubscribe.question': 'Unsubscribe {email} from these emails?',
  'unsubscribe.question_list': 'Unsubscribe {email} from {list}?',
  'unsubscribe.button': 'Unsubscribe',
  'unsubscribe.choose': 'Choose which emails you receive instead',
  'unsubscribed.title': 'You are unsubscribed',
  'unsubscribed.text': 'We have unsubscribed {email} from these emails.',
  'unsubscribed.text_list': 'We have unsubscribed {email} from {list}.',
  'unsubscribed.undo_question': 'Unsubscribed by mistake?',
  'unsubscribed.undo': 'Subscribe again',
  'restored.title': 'You are subscribed again',
  'restored.text': 'Your previous settings are restored.',
  'preferences.title': 'Email preferences',
  'preferences.intro': 'Choose which emails we send to {email}.',
  'preferences.lists': 'Send me',
  'preferences.none': 'You are not subscribed to any of our lists.',
  'preferences.unsubscribe_all': 'Unsubscribe from all emails',
  'preferences.unsubscribe_all_hint': 'You will still receive emails about your orders and your account.',
  'preferences.save': 'Save preferences',
  'preferences.saved': 'Your preferences are saved.',
} as const

export type TextKey = keyof typeof ENGLISH
export const TEXT_KEYS = Object.keys(ENGLISH) as [TextKey, ...TextKey[]]
export type Texts = Readonly<Record<TextKey, string>>

const GERMAN: Texts = {
  'subscribe.title': '{list} abonnieren',
  'subscribe.email': 'E-Mail-Adresse',
  'subscribe.first_name': 'Vorname (freiwillig)',
  'subscribe.last_name': 'Nachname (freiwillig)',
  'subscribe.button': 'Abonnieren',
  'subscribe.thanks_title': 'Vielen Dank',
  'subscribe.thanks': 'Sie haben {list} abonniert.',
  'subscribe.check_title': 'Bitte sehen Sie in Ihr Postfach',
  'subscribe.check':
    'Wir haben Ihnen eine E-Mail gesendet. Öffnen Sie den Link darin, um das Abonnement von {list} zu bestätigen.',
  'problem.prefix': 'Fehler',
  'problem.title': 'Bitte prüfen Sie Ihre Eingabe',
  'problem.email': 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.',
  'problem.form': 'Wir konnten das Formular nicht lesen. Bitte füllen Sie es noch einmal aus.',
  'confirm.title': 'Abonnement bestätigen',
  'confirm.question': 'Soll {email} {list} erhalten?',
  'confirm.button': 'Abonnement bestätigen',
  'mail.subject': 'Bitte bestätigen: {list}',
  'mail.intro': 'Sie oder jemand in Ihrem Namen möchte „{list}“ abonnieren.',
  'mail.instruction': 'Zum Bestätigen öffnen Sie diese Adresse und drücken Sie dort den Knopf:',
  'mail.button': 'Abonnement bestätigen',
  'mail.footer':
    'Wenn Sie es nicht waren, tun Sie nichts: Ohne Ihre Bestätigung wird nichts gespeichert. Der Link gilt 7 Tage.',
  'unsubscribe.title': 'Abbestellen',
  'unsubscribe.question': 'Diese E-Mails an {email} abbestellen?',
  'unsubscribe.question_list': '{list} für {email} abbestellen?',
  'unsubscribe.button': 'Abbestellen',
  'unsubscribe.choose': 'Stattdessen auswählen, welche E-Mails Sie erhalten',
  'unsubscribed.title': 'Sie haben abbestellt',
  'unsubscribed.text': 'Wir senden diese E-Mails nicht mehr an {email}.',
  'unsubscribed.text_list': 'Wir senden {list} nicht mehr an {email}.',
  'unsubscribed.undo_question': 'War das ein Versehen?',
  'unsubscribed.undo': 'Wieder abonnieren',
  'restored.title': 'Sie erhalten die E-Mails wieder',
  'restored.text': 'Ihre früheren Einstellungen gelten wieder.',
  'preferences.title': 'E-Mail-Einstellungen',
  'preferences.intro': 'Wählen Sie, welche E-Mails wir an {email} senden.',
  'preferences.lists': 'Ich möchte erhalten',
  'preferences.none': 'Sie haben keine unserer Listen abonniert.',
  'preferences.unsubscribe_all': 'Alle E-Mails abbestellen',
  'preferences.unsubscribe_all_hint': 'E-Mails zu Ihren Bestellungen und Ihrem Konto erhalten Sie weiterhin.',
  'preferences.save': 'Einstellungen speichern',
  'preferences.saved': 'Ihre Einstellungen sind gespeichert.',
}

/** By language, as BCP 47 names it: two letters. */
export const CATALOGUE: Readonly<Record<string, Texts>> = { en: ENGLISH, de: GERMAN }
export const FALLBACK_LANGUAGE = 'en'

export type TextOverrides = Readonly<Record<string, Partial<Texts>>>

/** The texts of a language: those of the workspace, then the catalogue, then the default language and English. */
export function textsIn(language: string, overrides: TextOverrides, defaultLanguage: string): Texts {
  return {
    ...ENGLISH,
    ...CATALOGUE[defaultLanguage],
    ...overrides[defaultLanguage],
    ...CATALOGUE[language],
    ...overrides[language],
  }
}

/** Fills in `{email}` and `{list}`. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(email|list)\}/g, (whole, name: string) => values[name] ?? whole)
}

interface LanguageChoice {
  /** The contact's own, if it is known. */
  readonly ofContact: string | null
  /** The header of the browser. */
  readonly accepted: string | undefined
  readonly available: readonly string[]
  readonly byDefault: string
}

/** The contact's language, then what the browser accepts, then the default (RFC 9110 12.5.4). */
export function chooseLanguage({ ofContact, accepted = '', available, byDefault }: LanguageChoice): string {
  const wanted = accepted
    .slice(0, 500)
    .split(',')
    .map((part, place) => {
      const [tag = '', quality] = part.split(';').map((one) => one.trim())
      return { language: tag.slice(0, 2).toLowerCase(), q: qualityOf(quality), place }
    })
    .filter(({ q }) => q > 0)
    .toSorted((a, b) => b.q - a.q || a.place - b.place)
    .map(({ language }) => language)
  const own = ofContact === null ? [] : [ofContact.slice(0, 2).toLowerCase()]
  return [...own, ...wanted].find((language) => available.includes(language)) ?? byDefault
}

function qualityOf(text = 'q=1'): number {
  const value = Number(/^q=([\d.]{1,5})$/i.exec(text)?.[1] ?? 1)
  return Number.isFinite(value) ? value : 0
}
