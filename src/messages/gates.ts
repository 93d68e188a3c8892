/**
 * The gates between acceptance and sending, in order. For one recipient each gate tells whether it holds the recipient,
 * by which rule and until when. Pure: `explain.ts` gathers the input.
 *
 * A gate that waits for an event without a known time (a resumed destination, a free session) has no `until`.
 */
import { accountIdOf } from '#src/providers/account-destination.ts'
import { WAITS_FOR_SOURCE, NO_SOURCE_REASON } from '#src/egress/sources.ts'
import { parseGroupSite } from '#src/queue/keys.ts'
import { HELD_BACK_PREFIX } from '#src/queue/held-back.ts'
import type { QueuePosition, SiteState } from '#src/queue/site-state.ts'
import { RATE_PAUSE_PREFIX, type Suspension } from '#src/queue/suspensions.ts'
import { tierRow, type Tier } from '#src/queue/tiers.ts'
import { ANY_SOURCE, WILDCARD, fromText } from '#src/shaping/throttle-key.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { Suppression } from '#src/suppression/list.ts'
import type { MessageView, RecipientView } from './read.ts'
import { isWaiting, STATES } from './state.ts'
import { countText } from '#src/platform/plural.ts'

export interface Gate {
  readonly gate: GateName
  readonly holds: boolean
  /** A sentence for people. */
  readonly says: string
  readonly rule: string | null
  readonly until: Date | null
}

/** The input of the gates for one recipient. */
export interface GateFacts {
  readonly message: MessageView
  readonly recipient: RecipientView
  readonly now: Date
  readonly suppression: Suppression | null
  readonly usage: QuotaUsage
  readonly suspension: Suspension | null
  /** A suspension by a reply of its receiver. */
  readonly receiverSuspension: ReceiverSuspension | null
  /** RETRY_SCALE */
  readonly retryScale: number
  /** Null while Redis is unavailable. */
  readonly place: QueuePosition | null
}

export interface QuotaUsage {
  readonly plan: string
  readonly used: number
  /** Null = unlimited. */
  readonly quota: number | null
  readonly periodEndsAt: Date
}

type GateResult = Omit<Gate, 'gate' | 'rule' | 'until'> & Partial<Pick<Gate, 'rule' | 'until'>>

const open = (says: string, rule: string | null = null): GateResult => ({ holds: false, says, rule })
const held = (says: string, rule: string | null, until: Date | null = null): GateResult => ({
  holds: true,
  says,
  rule,
  until,
})

const GATES = {
  schedule: evaluateSchedule,
  suppression: evaluateSuppression,
  quota: evaluateQuota,
  tier: evaluateTier,
  'site limit': evaluateSite,
  suspension: evaluateSuspension,
  backoff: evaluateBackoff,
  DNS: evaluateDns,
  egress: evaluateEgress,
} as const satisfies Record<string, (facts: GateFacts) => GateResult>

export type GateName = keyof typeof GATES
export const GATE_NAMES = Object.keys(GATES) as [GateName, ...GateName[]]

/** Evaluates every gate, in order. A settled recipient is held only by the suppression that ended it. */
export function evaluateGates(facts: GateFacts): Gate[] {
  const { state } = facts.recipient
  const isOpen = isWaiting(state) || state === 'sending' || state === 'unknown'
  return GATE_NAMES.map((gate) => {
    const applies = isOpen || (gate === 'suppression' && state === 'suppressed')
    return {
      gate,
      rule: null,
      until: null,
      ...(applies ? GATES[gate](facts) : open(`not evaluated; ${state}: ${STATES[state]}`)),
    }
  })
}

function evaluateSchedule({ message, recipient, now }: GateFacts): GateResult {
  const { scheduledAt, timezone } = message
  if (scheduledAt === null) return open('it is not scheduled')
  const rule = `scheduled_at ${scheduledAt.toISOString()}, time zone ${timezone ?? 'UTC'}`
  if (recipient.state !== 'scheduled' || scheduledAt <= now)
    return open(`its scheduled time was ${scheduledAt.toISOString()}`, rule)
  return held('it waits for its scheduled time', rule, scheduledAt)
}

function evaluateSuppression({ recipient, suppression }: GateFacts): GateResult {
  if (suppression !== null) {
    const { kind, cause, createdAt } = suppression
    return held(`its address has been on the suppression list since ${createdAt.toISOString()}`, `${kind}: ${cause}`)
  }
  if (recipient.state === 'suppressed')
    return held(
      'its address was on the suppression list when it was accepted, and is no longer on it',
      recipient.reason,
    )
  return open('its address is not on the suppression list')
}

/** The quota counts at acceptance: a stored message is never held by it. */
function evaluateQuota({ usage: { plan, used, quota, periodEndsAt } }: GateFacts): GateResult {
  if (quota === null) return open('it was counted when it was accepted', `plan ${plan}: no quota`)
  const rule = `plan ${plan}: ${countText(quota, 'recipient')} a month, ${used} used`
  if (used < quota) return open('it was counted when it was accepted', rule)
  const says = 'it was counted when it was accepted; the quota is now used up, and no more mail is accepted this month'
  return { ...open(says, rule), until: periodEndsAt }
}

function isDue({ recipient, now }: GateFacts): boolean {
  return recipient.nextTryAt !== null && recipient.nextTryAt <= now
}

const SITE_STATE_UNKNOWN = 'not known: Redis is unavailable'

const TIER_RULE = 'strict priority of tiers at each site'

function evaluateTier(facts: GateFacts): GateResult {
  const {
    place,
    message: { tier },
  } = facts
  if (tier === 'instant') return open('instant mail comes first', TIER_RULE)
  if (place === null) return open(SITE_STATE_UNKNOWN)
  const ahead = Object.entries(place.ahead).map(([name, count]) => `${count} ${name}`)
  if (!isDue(facts) || ahead.length === 0) return open('no mail of a higher tier is ready at its site', TIER_RULE)
  return held(
    `mail of higher tiers is ready at its site and goes first: ${ahead.join(', ')}`,
    `${TIER_RULE}; this is ${tier}`,
  )
}

function evaluateSite(facts: GateFacts): GateResult {
  const {
    place,
    message: { tier },
    recipient: { state, reason, nextTryAt },
  } = facts
  if (state === 'queued' && !isDue(facts) && reason?.endsWith(WAITS_FOR_SOURCE) === true)
    return held(reason, 'the limits of a receiver apply to each source separately', nextTryAt)
  if (place === null) return open(SITE_STATE_UNKNOWN)
  if (place.states.length === 0) return open('no outbound process is at the connection limit of its site')
  const [sessions, waiting] = [
    sumOf(place.states.map((one) => one.sessions)),
    sumOf(place.states.map((one) => one.waiting)),
  ]
  const rule = limitOf(place.states)
  const site = place.site === null ? 'its site' : parseGroupSite(place.site).site
  const says = `${countText(sessions, 'connection')} to ${site} in use, ${waiting} waiting for one`
  const isFull = place.states.every((one) => (tier === 'instant' ? one.isFull.instant : one.isFull.others))
  return isFull && (place.isWaiting || isDue(facts)) ? held(says, rule) : open(says, rule)
}

/** The limits of each source that may send it. */
function limitOf(states: readonly SiteState[]): string {
  return [
    ...new Set(
      states.map(
        ({ connections, rule, source }) =>
          `${countText(connections, 'connection')} at once to ${rule}${fromText(source ?? ANY_SOURCE)}`,
      ),
    ),
  ].join(', ')
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}

function evaluateSuspension({ suspension, receiverSuspension }: GateFacts): GateResult {
  if (suspension === null) return evaluateReceiverSuspension(receiverSuspension)
  const { createdAt, until, reason } = suspension
  const rule = `suspended since ${createdAt.toISOString()}, until it is resumed`
  // the reason tells who paused it
  if (accountIdOf(suspension.subject) !== null)
    return held(`its connected account is suspended: ${reason}`, rule, until)
  if (reason.startsWith(HELD_BACK_PREFIX))
    return held(`its campaign is ${reason}`, 'a live installation must be complete before campaigns go out')
  const by = reason.startsWith(RATE_PAUSE_PREFIX) ? '' : 'by the operator: '
  return held(`${describeSuspended(suspension)} suspended ${by}${reason}`, rule, until)
}

function evaluateReceiverSuspension(suspension: ReceiverSuspension | null): GateResult {
  if (suspension === null) return open('its destination is not suspended')
  const { pace, source, rule, reply, until } = suspension
  const what = pace === WILDCARD ? 'every receiver' : pace
  return held(
    `${what} is suspended${fromText(source)} because of this reply: ${reply}`,
    `rule ${rule} of the shaping file`,
    until,
  )
}

function describeSuspended({ kind, subject }: Suspension): string {
  if (kind !== 'domain') return `its ${kind} ${subject} is`
  return subject === '*' ? 'all mail is' : `${subject} is`
}

function evaluateBackoff(facts: GateFacts): GateResult {
  const {
    recipient,
    message: { tier },
    now,
    place,
  } = facts
  if (recipient.state === 'unknown')
    return held(recipient.reason ?? STATES.unknown, unknownRule(tier), recipient.nextTryAt)
  if (recipient.state === 'deferred' && !isDue(facts) && lastReason(facts) !== 'dns') {
    const says = `the last attempt ended with: ${recipient.reason ?? 'no reason is known'}`
    return held(says, backoffRule(facts, tier), recipient.nextTryAt)
  }
  const { breakerUntilMs, detail, failures } = place?.failure ?? { breakerUntilMs: null, detail: '', failures: 0 }
  if (breakerUntilMs !== null && breakerUntilMs > now.getTime())
    return held(
      `all servers of its site failed: ${detail}`,
      `circuit breaker: open after ${countText(failures, 'failure')} in a row`,
      new Date(breakerUntilMs),
    )
  return open(
    recipient.tries === 0
      ? 'no attempt has failed yet'
      : `${recipient.tries} of ${countText(tierRow(tier).retries + 1, 'attempt')} used`,
  )
}

function unknownRule(tier: Tier): string {
  const { unknownWaitSeconds, afterUnknown } = tierRow(tier)
  const then = afterUnknown === 'assume_sent' ? 'assumed to be sent' : 'sent again'
  return `tier ${tier}: ${unknownWaitSeconds} s after a connection lost after the final dot, then ${then}`
}

function backoffRule({ recipient, retryScale }: GateFacts, tier: Tier): string {
  const { retries, backoffSeconds } = tierRow(tier)
  const scale = retryScale === 1 ? '' : `, times ${retryScale}`
  const waits = backoffSeconds.join(', ')
  return `tier ${tier}: ${recipient.tries} of ${countText(retries + 1, 'attempt')} used, backoff ${waits} s${scale}`
}

function lastReason({ recipient }: GateFacts): string | null {
  return recipient.attempts.at(-1)?.reason ?? null
}

function evaluateDns(facts: GateFacts): GateResult {
  const { recipient, place } = facts
  const rule = 'a DNS failure is temporary: the lookup is retried and does not count as an attempt'
  if (recipient.state === 'deferred' && lastReason(facts) === 'dns' && !isDue(facts))
    return held(recipient.reason ?? 'DNS did not respond', rule, recipient.nextTryAt)
  if (place?.failure?.reason === 'dns' && isDue(facts)) return held(place.failure.detail, rule)
  return open('no DNS failure is known')
}

function evaluateEgress(facts: GateFacts): GateResult {
  const { state, reason, nextTryAt } = facts.recipient
  if (state !== 'queued' || isDue(facts) || reason?.startsWith(NO_SOURCE_REASON) !== true)
    return open('a source may send it')
  return held(
    reason,
    'a source that is paused, gone or at its daily limit sends nothing; this does not count as an attempt',
    nextTryAt,
  )
}
