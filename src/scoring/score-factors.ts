/**
 * The deliverability score of an address: 1 times the factor of every row in the table below that applies to it.
 * docs/guides/contacts-and-audiences.md shows the table, and a test keeps the two equal. Pure: anyone with the facts
 * can compute it by hand.
 */
export const SCORE_FACTORS = {
  malformed: { times: 0, when: 'it is not a valid address (RFC 5321)' },
  unreachable: { times: 0, when: 'its domain accepts no mail: no MX and no address record, or a null MX (RFC 7505)' },
  hardBounce: { times: 0, when: "it is on the workspace's suppression list after a hard bounce" },
  complaint: { times: 0.2, when: "it is on the workspace's suppression list after a complaint" },
  disposable: { times: 0.3, when: 'its domain provides disposable addresses' },
  implicitMx: { times: 0.7, when: 'its domain has no MX, only an address record (RFC 5321 section 5.1)' },
  role: { times: 0.7, when: 'it is a role address, not a person (postmaster, info, sales; RFC 2142)' },
  refusedOnce: { times: 0.6, when: "the workspace's mail to it bounced or failed once since the last delivery" },
  refusedTwice: { times: 0.6, when: 'a second time' },
  refusedOften: { times: 0.6, when: 'a third time, or more' },
  unproven: { times: 0.8, when: "none of the workspace's mail was delivered to it in the last 180 days" },
} as const satisfies Record<string, { readonly times: number; readonly when: string }>
export type ScoreFactor = keyof typeof SCORE_FACTORS

/** Whether a domain accepts mail. `unknown`: DNS did not answer, which proves nothing. */
export type MailDomainStatus = 'mx' | 'address' | 'none' | 'unknown'

export interface AddressFacts {
  readonly isWellFormed: boolean
  readonly domain: Exclude<MailDomainStatus, 'unknown'>
  readonly isDisposable: boolean
  readonly isRole: boolean
  /** Reason on the suppression list, or null. */
  readonly suppression: string | null
  /** Outcomes of mail to it in the last 180 days, latest first. */
  readonly outcomes: readonly string[]
}

const REFUSALS = ['refusedOnce', 'refusedTwice', 'refusedOften'] as const

export function factorsOf({
  isWellFormed,
  domain,
  isDisposable,
  isRole,
  suppression,
  outcomes,
}: AddressFacts): ScoreFactor[] {
  const lastDelivery = outcomes.indexOf('delivered')
  const refusals = lastDelivery < 0 ? outcomes.length : lastDelivery
  const isTrue: Readonly<Record<ScoreFactor, boolean>> = {
    malformed: !isWellFormed,
    unreachable: domain === 'none',
    hardBounce: suppression === 'hard_bounce',
    complaint: suppression === 'complaint',
    disposable: isDisposable,
    implicitMx: domain === 'address',
    role: isRole,
    refusedOnce: refusals >= 1,
    refusedTwice: refusals >= 2,
    refusedOften: refusals >= REFUSALS.length,
    unproven: lastDelivery < 0,
  }
  return (Object.keys(SCORE_FACTORS) as ScoreFactor[]).filter((factor) => isTrue[factor])
}

/** 0 to 1, rounded to three digits. */
export function scoreOf(facts: AddressFacts): number {
  const product = factorsOf(facts).reduce((score, factor) => score * SCORE_FACTORS[factor].times, 1)
  return Math.round(product * 1000) / 1000
}
