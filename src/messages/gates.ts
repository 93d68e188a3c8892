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
import { WILDCARD, fromText } from '#src/shaping/throttle-key.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { Suppression } from '#src/suppression/list.ts'
import type { MessageView, RecipientView } from './read.ts'
import { isWaiting, STATES } from './state.ts'
import { translationOf, type CodedText, type Translation } from '#src/platform/coded-text.ts'
import { type FindingText, joinSaid } from '#src/platform/finding-text.ts'
import { gateRuleText, gateText } from './gate-texts.ts'

export interface Gate {
  readonly gate: GateName
  readonly holds: boolean
  /** A sentence for people. */
  readonly says: string
  readonly translation: Translation
  readonly rule: string | null
  /** Of the sentences of the rule; empty: a text of somebody else, or none. */
  readonly ruleTranslations: readonly Translation[]
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

type GateResult = Omit<Gate, 'gate' | 'until'> & Partial<Pick<Gate, 'until'>>
type Rule = string | CodedText | FindingText | null

const open = (text: CodedText, rule: Rule = null): GateResult => {
  const { text: said, sentences } = joinSaid(rule === null ? [] : [rule])
  return {
    holds: false,
    says: text.text,
    translation: translationOf(text),
    rule: rule === null ? null : said,
    ruleTranslations: sentences,
  }
}
const held = (text: CodedText, rule: Rule, until: Date | null = null): GateResult => ({
  ...open(text, rule),
  holds: true,
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
      until: null,
      ...(applies ? GATES[gate](facts) : open(gateText('not_evaluated', { state, meaning: STATES[state] }))),
    }
  })
}

function evaluateSchedule({ message, recipient, now }: GateFacts): GateResult {
  const { scheduledAt, timezone } = message
  if (scheduledAt === null) return open(gateText('not_scheduled'))
  const rule = gateRuleText('schedule', { at: scheduledAt.toISOString(), zone: timezone ?? 'UTC' })
  if (recipient.state !== 'scheduled' || scheduledAt <= now)
    return open(gateText('scheduled_time_passed', { at: scheduledAt.toISOString() }), rule)
  return held(gateText('waits_for_scheduled_time'), rule, scheduledAt)
}

function evaluateSuppression({ recipient, suppression }: GateFacts): GateResult {
  if (suppression !== null) {
    const { kind, cause, createdAt } = suppression
    return held(
      gateText('suppressed', { since: createdAt.toISOString() }),
      gateRuleText('suppression', { kind, cause }),
    )
  }
  if (recipient.state === 'suppressed') return held(gateText('was_suppressed'), recipient.reason)
  return open(gateText('not_suppressed'))
}

/** The quota counts at acceptance: a stored message is never held by it. */
function evaluateQuota({ usage: { plan, used, quota, periodEndsAt } }: GateFacts): GateResult {
  if (quota === null) return open(gateText('counted'), gateRuleText('no_quota', { plan }))
  const rule = gateRuleText('quota', { plan, quota, used })
  if (used < quota) return open(gateText('counted'), rule)
  return { ...open(gateText('counted_and_quota_used'), rule), until: periodEndsAt }
}

function isDue({ recipient, now }: GateFacts): boolean {
  return recipient.nextTryAt !== null && recipient.nextTryAt <= now
}

const SITE_STATE_UNKNOWN = gateText('redis_unavailable')

const TIER_RULE = gateRuleText('tiers')

function evaluateTier(facts: GateFacts): GateResult {
  const {
    place,
    message: { tier },
  } = facts
  if (tier === 'instant') return open(gateText('instant_first'), TIER_RULE)
  if (place === null) return open(SITE_STATE_UNKNOWN)
  const ahead = Object.entries(place.ahead).map(([name, count]) => `${count} ${name}`)
  if (!isDue(facts) || ahead.length === 0) return open(gateText('no_higher_tier'), TIER_RULE)
  return held(gateText('higher_tiers_first', { ahead: ahead.join(', ') }), gateRuleText('tiers_of', { tier }))
}

function evaluateSite(facts: GateFacts): GateResult {
  const {
    place,
    message: { tier },
    recipient: { state, reason, nextTryAt },
  } = facts
  if (state === 'queued' && !isDue(facts) && reason?.endsWith(WAITS_FOR_SOURCE) === true)
    return held(gateText('source_busy', { reason }), gateRuleText('each_source'), nextTryAt)
  if (place === null) return open(SITE_STATE_UNKNOWN)
  if (place.states.length === 0) return open(gateText('no_connection_limit'))
  const [sessions, waiting] = [
    sumOf(place.states.map((one) => one.sessions)),
    sumOf(place.states.map((one) => one.waiting)),
  ]
  const rule = limitOf(place.states)
  const counts = { count: sessions, waiting }
  const text =
    place.site === null
      ? gateText('connections_to_its_site', counts)
      : gateText('connections', { ...counts, site: parseGroupSite(place.site).site })
  const isFull = place.states.every((one) => (tier === 'instant' ? one.isFull.instant : one.isFull.others))
  return isFull && (place.isWaiting || isDue(facts)) ? held(text, rule) : open(text, rule)
}

/** The limits of each source that may send it. */
function limitOf(states: readonly SiteState[]): FindingText {
  const texts = states.map(({ connections, rule, source }) => {
    const limit = { count: connections, receiver: rule }
    return source === null || fromText(source) === ''
      ? gateRuleText('connections', limit)
      : gateRuleText('connections_from', { ...limit, source })
  })
  return joinSaid(texts, ', ')
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}

function evaluateSuspension({ suspension, receiverSuspension }: GateFacts): GateResult {
  if (suspension === null) return evaluateReceiverSuspension(receiverSuspension)
  const { createdAt, until, reason } = suspension
  const rule = gateRuleText('suspended', { since: createdAt.toISOString() })
  if (accountIdOf(suspension.subject) !== null) return held(gateText('account_suspended', { reason }), rule, until)
  if (reason.startsWith(HELD_BACK_PREFIX))
    return held(gateText('campaign_held_back', { reason }), gateRuleText('complete'))
  return held(describeSuspension(suspension), rule, until)
}

function evaluateReceiverSuspension(suspension: ReceiverSuspension | null): GateResult {
  if (suspension === null) return open(gateText('not_suspended'))
  const { pace, source, rule, reply, until } = suspension
  const facts = { from: fromText(source), reply }
  return held(
    pace === WILDCARD
      ? gateText('every_receiver_suspended', facts)
      : gateText('receiver_suspended', { ...facts, receiver: pace }),
    gateRuleText('shaping', { rule }),
    until,
  )
}

function describeSuspension({ kind, subject, reason }: Suspension): CodedText {
  if (kind === 'domain' && subject === '*') return gateText('all_suspended', { reason })
  if (reason.startsWith(RATE_PAUSE_PREFIX))
    return kind === 'domain'
      ? gateText('domain_paused', { subject, reason })
      : gateText('object_paused', { kind, subject, reason })
  return kind === 'domain'
    ? gateText('domain_suspended', { subject, reason })
    : gateText('object_suspended', { kind, subject, reason })
}

function evaluateBackoff(facts: GateFacts): GateResult {
  const {
    recipient,
    message: { tier },
    now,
    place,
  } = facts
  if (recipient.state === 'unknown')
    return held(
      gateText('result_unknown', { reason: recipient.reason ?? STATES.unknown }),
      unknownRule(tier),
      recipient.nextTryAt,
    )
  if (recipient.state === 'deferred' && !isDue(facts) && lastReason(facts) !== 'dns') {
    const { reason } = recipient
    const text = reason === null ? gateText('last_attempt_without_reason') : gateText('last_attempt', { reason })
    return held(text, backoffRule(facts, tier), recipient.nextTryAt)
  }
  const { breakerUntilMs, detail, failures } = place?.failure ?? { breakerUntilMs: null, detail: '', failures: 0 }
  if (breakerUntilMs !== null && breakerUntilMs > now.getTime())
    return held(
      gateText('circuit_breaker', { detail }),
      gateRuleText('circuit_breaker', { failures }),
      new Date(breakerUntilMs),
    )
  return open(
    recipient.tries === 0
      ? gateText('no_failed_attempt')
      : gateText('attempts_used', { used: recipient.tries, max: tierRow(tier).retries + 1 }),
  )
}

function unknownRule(tier: Tier): CodedText {
  const { unknownWaitSeconds: seconds, afterUnknown } = tierRow(tier)
  return gateRuleText(afterUnknown === 'assume_sent' ? 'unknown_sent' : 'unknown_again', { tier, seconds })
}

function backoffRule({ recipient, retryScale }: GateFacts, tier: Tier): CodedText {
  const { retries, backoffSeconds } = tierRow(tier)
  const rule = { tier, used: recipient.tries, attempts: retries + 1, waits: backoffSeconds.join(', ') }
  return retryScale === 1
    ? gateRuleText('backoff', rule)
    : gateRuleText('backoff_scaled', { ...rule, scale: retryScale })
}

function lastReason({ recipient }: GateFacts): string | null {
  return recipient.attempts.at(-1)?.reason ?? null
}

function evaluateDns(facts: GateFacts): GateResult {
  const { recipient, place } = facts
  const rule = gateRuleText('dns')
  if (recipient.state === 'deferred' && lastReason(facts) === 'dns' && !isDue(facts))
    return held(
      gateText('dns_failed', { reason: recipient.reason ?? 'DNS did not respond' }),
      rule,
      recipient.nextTryAt,
    )
  if (place?.failure?.reason === 'dns' && isDue(facts))
    return held(gateText('dns_failed', { reason: place.failure.detail }), rule)
  return open(gateText('no_dns_failure'))
}

function evaluateEgress(facts: GateFacts): GateResult {
  const { state, reason, nextTryAt } = facts.recipient
  if (state !== 'queued' || isDue(facts) || reason?.startsWith(NO_SOURCE_REASON) !== true)
    return open(gateText('source_available'))
  return held(gateText('no_source', { reason }), gateRuleText('egress'), nextTryAt)
}
