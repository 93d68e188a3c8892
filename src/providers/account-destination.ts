/** The destination of mail of a connected account: the account, which takes the place of the recipient's domain. */
const PREFIX = 'account:'

export function destinationOf(accountId: string): string {
  return `${PREFIX}${accountId}`
}

/** The receiver name of all connected accounts; for domains the shaping file defines it. */
export const ACCOUNT_RECEIVER = 'connected-account'

/** The account's id; null for a domain. A domain never contains a colon. */
export function accountIdOf(destination: string): string | null {
  return destination.startsWith(PREFIX) ? destination.slice(PREFIX.length) : null
}
