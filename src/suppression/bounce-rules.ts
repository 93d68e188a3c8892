/**
 * Which refusals put an address on the suppression list by themselves: one row for each class of failure that is about the recipient and
 * nobody else. What has no row never does: a full or disabled mailbox, a filter, a policy, a network, a receiver in trouble.
 *
 * A row's version stands in every entry that it made (`no-such-user@1`). Whoever changes what a class means raises it, and
 * `mailstead bounces review` looks again at what was made before.
 */
export interface BounceRule {
  readonly version: number
  /** How often it must be said, a day apart: a domain may be missing for an hour, and a forward may be mended. */
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
  'forward-broken': { version: 1, proofs: 2, meaning: 'The mailbox forwards its mail to one that does not exist.' },
} as const satisfies Record<string, BounceRule>

export type BounceClass = keyof typeof BOUNCE_RULES

/** Of proofs that count apart. */
export const PROOF_GAP_MS = 24 * 3600 * 1000

/** Security and policy (RFC 3463 3.8), whatever the words beside it say. */
const POLICY = /^[45]\.7\./

/** The rule for a hard failure; null where it does not condemn the address. */
export function bounceRuleFor(failureClass: string, status: string | null): BounceClass | null {
  if (!isBounceClass(failureClass) || (status !== null && POLICY.test(status))) return null
  return failureClass
}

function isBounceClass(name: string): name is BounceClass {
  return Object.hasOwn(BOUNCE_RULES, name)
}

/** As it is kept with an entry. */
export function bounceRuleName(failureClass: BounceClass): string {
  return `${failureClass}@${BOUNCE_RULES[failureClass].version}`
}
