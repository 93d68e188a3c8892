/**
 * What the pages behind the links of a mail say. All of it stands here, one row for each thing that is said, so that another language is
 * another table of the same shape.
 */
interface Said {
  readonly title: string
  readonly text: string
}

export interface Texts {
  readonly noLink: Said
  readonly tooOften: Said
  readonly fault: Said
  readonly noMail: Said
  /** A contact that was deleted. */
  readonly nobody: Said
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
  readonly restored: Said
  readonly preferences: {
    readonly title: string
    readonly intro: (email: string) => string
    readonly lists: string
    readonly none: string
    readonly noMail: string
    readonly noMailHint: string
    readonly save: string
    readonly saved: string
  }
}

const ENGLISH: Texts = {
  noLink: {
    title: 'Nothing here',
    text: 'This link is not complete, or not valid any more. Open it again from the mail that it came with.',
  },
  tooOften: { title: 'Please wait', text: 'There were too many attempts. Try again in a while.' },
  fault: { title: 'That did not work', text: 'Something went wrong on our side. Please try again later.' },
  noMail: { title: 'Not there any more', text: 'This mail is not kept any longer, so it cannot be shown here.' },
  nobody: {
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
    noMail: 'No mail at all',
    noMailHint: 'Also none that belongs to no list. Letters about orders, accounts and the like still come.',
    save: 'Save',
    saved: 'Your choice was saved.',
  },
}

export const TEXTS: Texts = ENGLISH
