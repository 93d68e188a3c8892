/**
 * What is encrypted or authenticated under keys of MASTER_KEY, and which roles get the key of each purpose. A role
 * that is not listed cannot read, forge or write a value of that purpose, even if an attacker controls it. A value of a
 * `sealed` purpose is encrypted with a public key: roles below `seal` can write it, and only those of `keys` can read
 * it.
 */
export const KEY_ROLES = ['api', 'outbound', 'submission', 'inbound', 'sandbox', 'worker'] as const
export type KeyRole = (typeof KEY_ROLES)[number]

interface PurposeRow {
  /** Roles with the secret key. */
  readonly keys: readonly KeyRole[]
  /** Roles with the public key only. */
  readonly seal?: readonly KeyRole[]
}

const ROWS = {
  dkim: { keys: ['outbound'], seal: ['api', 'worker'] },
  'account-secret': { keys: ['outbound', 'worker'], seal: ['api'] },
  webhook: { keys: ['worker'], seal: ['api'] },
  'return-path': { keys: ['outbound', 'inbound', 'sandbox'] },
  'tracking-open': { keys: ['outbound', 'api'] },
  'tracking-view': { keys: ['outbound', 'api'] },
  'tracking-click': { keys: ['outbound', 'api'] },
  'tracking-name': { keys: ['api'] },
  unsubscribe: { keys: ['outbound', 'inbound', 'api'] },
  'unsubscribe-address': { keys: ['outbound', 'api'] },
  'unsubscribe-mailbox': { keys: ['outbound', 'inbound', 'api'] },
  'unsubscribe-undo': { keys: ['api'] },
  'subscribe-proof': { keys: ['api'] },
  'subscribe-challenge': { keys: ['api'] },
  'oauth-state': { keys: ['api'] },
  'oauth-verifier': { keys: ['api'] },
  'oauth-grant': { keys: ['api'] },
  'login-state': { keys: ['api'] },
  'totp-secret': { keys: ['api'] },
  'list-cursor': { keys: ['api'] },
  'unconfirmed-grant': { keys: ['worker'], seal: ['api'] },
  // names of rate limits in Redis, which must not contain an address
  'subscribe-pace': { keys: ['api'] },
  'unsubscribe-pace': { keys: ['api'] },
  'view-pace': { keys: ['api'] },
  'tls-reports-pace': { keys: ['inbound', 'api'] },
  'dmarc-reports-pace': { keys: ['inbound'] },
  // links to attachments of received mail: the inbound role makes them, the api verifies them
  'received-file': { keys: ['inbound', 'api'] },
  'acme-account': { keys: ['worker'] },
  // private keys of certificates: the worker requests them, and can read none of them later
  'certificate-web': { keys: ['api'], seal: ['worker'] },
  'certificate-smtp': { keys: ['submission', 'inbound'], seal: ['worker'] },
  // operator.json, which only `start` reads
  operator: { keys: [] },
} as const satisfies Record<string, PurposeRow>

export type Purpose = keyof typeof ROWS

export const PURPOSES: ReadonlyMap<Purpose, PurposeRow> = new Map(
  Object.entries<PurposeRow>(ROWS) as [Purpose, PurposeRow][],
)

/** Whether values of the purpose are encrypted with a public key. */
export function isSealed(purpose: Purpose): boolean {
  return PURPOSES.get(purpose)?.seal !== undefined
}
