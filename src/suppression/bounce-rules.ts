/**
 * Hard bounces that put an address on the suppression list: one row for each class of failure that concerns only the
 * recipient. Classes without a row never suppress: full or disabled mailboxes, filters, policies, networks, failures of
 * the receiver. Each suppression stores the version of its rule (`no-such-user@1`). A change of a class's meaning must
 * raise the version; `mailstead bounces review` then checks the suppressions made before.
 */
export interface BounceRule {
  readonly version: number
  /** Number of bounces required, a day apart: a domain may be missing for an hour, a forward may be repaired. */
  readonly proofs: 1 | 2
  readonly meaning: string
}

export const BOUNCE_RULES = {
  'no-such-user': { version: 1, proofs: 1, meaning: 'The receiver has no such mailbox.' },
  moved: { version: 1, proofs: 1, meaning: 'The mailbox is gone, and its owner is elsewhere.' },
  'bad-address': { version: 1, proofs: 1, meaning: 'The receiver cannot have such an address.' },
  'no-such-domain': { version: 1, proofs: 2, meaning: 'The domain does not exist.' },
  'no-mail-accepted': { version: 1, proofs: 2, meaning: "The domain's server says that the domain accepts no mail." },
  'null-mx': { version: 1, proofs: 2, meaning: 'The domain accepts no mail: it has a null MX record.' },
  'no-host': { version: 1, proofs: 2, meaning: 'The domain has no host that accepts mail, according to DNS.' },
  'forward-broken': { version: 1, proofs: 2, meaning: 'The address forwards or expands to one that does not exist.' },
} as const satisfies Record<string, BounceRule>

export type BounceClass = keyof typeof BOUNCE_RULES

/** Minimum time between two bounces that both count. */
export const PROOF_GAP_MS = 24 * 3600 * 1000

/** Security and policy (RFC 3463 3.8), whatever the text says. */
const POLICY = /^[45]\.7\./

/** The rule for a hard failure; null if it does not suppress the address. */
export function bounceRuleFor(failureClass: string, status: string | null): BounceClass | null {
  if (!isBounceClass(failureClass) || (status !== null && POLICY.test(status))) return null
  return failureClass
}

function isBounceClass(name: string): name is BounceClass {
  return Object.hasOwn(BOUNCE_RULES, name)
}

/** The rule's name as stored with a suppression. */
export function bounceRuleName(failureClass: BounceClass): string {
  return `${failureClass}@${BOUNCE_RULES[failureClass].version}`
}
