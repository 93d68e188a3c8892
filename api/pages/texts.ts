/**
 * All texts of the pages behind the links in a mail. Another language is another object of the same type.
 */
interface PageText {
  readonly title: string
  readonly text: string
}

export interface PageTexts {
  readonly invalidLink: PageText
  /** The sender is closed, or the operator blocked the link. */
  readonly closedLink: PageText
  readonly rateLimited: PageText
  readonly serverError: PageText
  readonly mailGone: PageText
  /** The contact was deleted. */
  readonly contactGone: PageText
  readonly unsubscribe: {
    readonly title: string
    /** `list` is null if the mail belongs to no audience: then the question is about all mail of the sender. */
    readonly question: (email: string, list: string | null) => string
    readonly button: string
    readonly choose: string
  }
  /** The sender is suspended or was removed. */
  readonly closedSender: string
  readonly unsubscribed: {
    readonly title: string
    readonly text: (email: string, list: string | null) => string
    readonly undoQuestion: string
    readonly undo: string
  }
  readonly restored: PageText
  readonly preferences: {
    readonly title: string
    readonly intro: (email: string) => string
    readonly lists: string
    readonly none: string
    readonly unsubscribeAll: string
    readonly unsubscribeAllHint: string
    readonly save: string
    readonly saved: string
  }
}

const ENGLISH: PageTexts = {
  invalidLink: {
    title: 'Link not valid',
    text: 'This link is incomplete or has expired. Please open it again from the email that you received.',
  },
  closedLink: {
    title: 'Link switched off',
    text:
      'This link no longer works: the sender of the email can no longer use this service, ' +
      'or the link may be harmful. You can still unsubscribe by the link in the email.',
  },
  rateLimited: { title: 'Too many attempts', text: 'Please wait a few minutes and try again.' },
  serverError: { title: 'Something went wrong', text: 'The problem is on our side. Please try again later.' },
  mailGone: { title: 'Email no longer available', text: 'We no longer store this email, so we cannot show it here.' },
  contactGone: {
    title: 'Already unsubscribed',
    text: 'Your address is no longer on our lists. You do not need to do anything.',
  },
  unsubscribe: {
    title: 'Unsubscribe',
    question: (email, list) =>
      list === null ? `Unsubscribe ${email} from these emails?` : `Unsubscribe ${email} from ${list}?`,
    button: 'Unsubscribe',
    choose: 'Choose which emails you receive instead',
  },
  closedSender: 'The sender of this email can no longer use this service. You can still unsubscribe.',
  unsubscribed: {
    title: 'You are unsubscribed',
    text: (email, list) =>
      list === null
        ? `We have unsubscribed ${email} from these emails.`
        : `We have unsubscribed ${email} from ${list}.`,
    undoQuestion: 'Unsubscribed by mistake?',
    undo: 'Subscribe again',
  },
  restored: { title: 'You are subscribed again', text: 'Your previous settings are restored.' },
  preferences: {
    title: 'Email preferences',
    intro: (email) => `Choose which emails we send to ${email}.`,
    lists: 'Send me',
    none: 'You are not subscribed to any of our lists.',
    unsubscribeAll: 'Unsubscribe from all emails',
    unsubscribeAllHint: 'You will still receive emails about your orders and your account.',
    save: 'Save preferences',
    saved: 'Your preferences are saved.',
  },
}

export const TEXTS: PageTexts = ENGLISH
