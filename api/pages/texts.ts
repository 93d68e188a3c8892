/** The texts of the pages that belong to no workspace: invalid links, and mail that is gone. */
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
  /** The sender is suspended or was removed. */
  readonly closedSender: string
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
  closedSender: 'The sender of this email can no longer use this service. You can still unsubscribe.',
}

export const TEXTS: PageTexts = ENGLISH
