/** Where mail of a connected account goes: to the account. The name stands where a recipient's domain stands otherwise. */
const PREFIX = 'account:'

export function destinationOf(accountId: string): string {
  return `${PREFIX}${accountId}`
}

/** Its name where a domain's receiver has that of the shaping file. */
export const ACCOUNT_RECEIVER = 'connected-account'

/** The account's id; null for a domain. No domain has a colon in it. */
export function accountIdOf(destination: string): string | null {
  return destination.startsWith(PREFIX) ? destination.slice(PREFIX.length) : null
}
