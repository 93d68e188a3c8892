/**
 * What the pages behind the links of a mail say. All of it stands here, one row for each thing that is said, so that another language is
 * another table of the same shape.
 */
interface PageText {
  readonly title: string
  readonly text: string
}

export interface PageTexts {
  readonly invalidLink: PageText
  readonly rateLimited: PageText
  readonly serverError: PageText
  readonly mailGone: PageText
  /** A contact that was deleted. */
  readonly contactGone: PageText
  readonly unsubscribe: {
    readonly title: string
    /** `list` is null for all mail of the sender. */
    readonly question: (email: string, list: string | null) => string
    readonly button: string
    readonly choose: string
  }
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
    readonly mailGone: string
    readonly noMailHint: string
    readonly save: string
    readonly saved: string
  }
}

const ENGLISH: PageTexts = {
  invalidLink: {
    title: 'Nothing here',
    text: 'This link is not complete, or not valid any more. Open it again from the mail that it came with.',
  },
  rateLimited: { title: 'Please wait', text: 'There were too many attempts. Try again in a while.' },
  serverError: { title: 'That did not work', text: 'Something went wrong on our side. Please try again later.' },
  mailGone: { title: 'Not there any more', text: 'This mail is not kept any longer, so it cannot be shown here.' },
  contactGone: {
    title: 'You get no more mail',
    text: 'Your address is not on our lists any more. There is nothing left to do.',
  },
  unsubscribe: {
    title: 'Unsubscribe',
    question: (email, list) =>
      list === null ? `Shall ${email} get no more mail of this kind?` : `Shall ${email} get no more mail of “${list}”?`,
    button: 'Unsubscribe',
    choose: 'Choose what you get instead',
  },
  unsubscribed: {
    title: 'You are unsubscribed',
    text: (email, list) =>
      list === null ? `${email} gets no more mail of this kind.` : `${email} gets no more mail of “${list}”.`,
    undoQuestion: 'Was that a mistake?',
    undo: 'Undo',
  },
  restored: { title: 'You are subscribed again', text: 'Everything is as it was before.' },
  preferences: {
    title: 'What you get',
    intro: (email) => `Mail to ${email}:`,
    lists: 'Send me',
    none: 'You are on none of our lists.',
    mailGone: 'No mail at all',
    noMailHint: 'Also none that belongs to no list. Letters about orders, accounts and the like still come.',
    save: 'Save',
    saved: 'Your choice was saved.',
  },
}

export const TEXTS: PageTexts = ENGLISH
