/**
 * From an outcome to a move: what a result means for the recipient's life. Pure; `move.ts` carries it out.
 * Retry or give up is decided here, from the tier's table: tries are real answers to this message, age counts from acceptance.
 */
import { backoffMs } from '#src/backoff.ts'
import { rowOf } from '#src/queue/tiers.ts'
import type { Claimed } from './claim.ts'
import type { Moving } from './move.ts'
import type { Attempt, Outcome } from './outcome.ts'
import { wantsReport } from './submission.ts'

export interface RetryRules {
  /** RETRY_SCALE */
  readonly scale: number
  /** MESSAGE_LIFETIME_SECONDS; null = by tier. */
  readonly lifetimeSeconds: number | null
  /** What is taken there is captured, not delivered. */
  readonly captureDomain?: string
}

type Verdict = Pick<Moving, 'move' | 'reason' | 'dueAt' | 'isCounted' | 'eventData'>

/** The move that ends this attempt. `nowMs` is when the outcome was known. */
export function moveFor(claimed: Claimed, attempt: Attempt, rules: RetryRules & { readonly nowMs: number }): Moving {
  const { outcome } = attempt
  if (outcome.kind === 'held') return hold(claimed, outcome, rules)
  return {
    messageId: claimed.messageId,
    n: claimed.n,
    lease: claimed.lease,
    attempt: { number: claimed.attempt, record: attempt },
    ...judge(claimed, { outcome, tls: attempt.tls }, rules),
  }
}

/** It comes again when there may be a way for it, or when its time is over, which is found out then. */
function hold(
  claimed: Claimed,
  { detail, untilMs }: Extract<Outcome, { kind: 'held' }>,
  { lifetimeSeconds }: RetryRules,
): Moving {
  return releaseOf(claimed, new Date(Math.min(untilMs, lastMoment(claimed, lifetimeSeconds) + 1)), detail)
}

/** Given back without a try: nothing was said to any server. */
export function releaseOf(
  claimed: { readonly messageId: string; readonly n: number; readonly lease: number },
  dueAt: Date,
  reason: string | null,
): Moving {
  return {
    messageId: claimed.messageId,
    n: claimed.n,
    move: 'release',
    lease: claimed.lease,
    reason,
    dueAt,
    isCounted: false,
    attempt: null,
    eventData: null,
  }
}

interface Ended {
  readonly outcome: Exclude<Outcome, { kind: 'held' }>
  readonly tls: string | null
}

function judge(claimed: Claimed, { outcome, tls }: Ended, rules: RetryRules & { readonly nowMs: number }): Verdict {
  if (outcome.kind === 'deferred') return deferOrExpire(claimed, outcome, rules)
  if (outcome.kind === 'delivered' || outcome.kind === 'handed-over') {
    const isReported =
      outcome.kind === 'delivered' && claimed.submitted !== null && wantsReport(claimed.submitted, claimed.n, 'SUCCESS')
    const eventData = {
      reply: outcome.reply.text,
      code: outcome.reply.code,
      tls,
      ...(isReported ? { dsn: 'relayed' } : {}),
    }
    const isCaptured = claimed.domain === rules.captureDomain
    return {
      move: isCaptured ? 'capture' : outcome.kind === 'delivered' ? 'deliver' : 'hand_off',
      reason: null,
      dueAt: null,
      isCounted: true,
      eventData: isCaptured ? { ...eventData, captured: true } : eventData,
    }
  }
  if (outcome.kind === 'bounced')
    return { move: 'bounce', reason: outcome.detail, dueAt: null, isCounted: true, eventData: bounceData(outcome) }
  if (outcome.kind === 'failed')
    return {
      move: 'expire',
      reason: outcome.detail,
      dueAt: null,
      isCounted: false,
      eventData: { reason: outcome.reason, message: outcome.detail },
    }
  if (outcome.kind === 'suppressed') {
    const eventData = { reason: 'suppressed', cause: outcome.cause, cause_kind: outcome.causeKind }
    return { move: 'suppress', reason: outcome.detail, dueAt: null, isCounted: false, eventData }
  }
  const waitMs = rowOf(claimed.tier).unknownWaitSeconds * 1000 * rules.scale
  return {
    move: 'lose_sight',
    reason: outcome.detail,
    dueAt: new Date(rules.nowMs + waitMs),
    isCounted: true,
    eventData: null,
  }
}

function bounceData(outcome: Extract<Outcome, { kind: 'bounced' }>): object {
  return {
    bounce_type: outcome.isHard ? 'hard' : 'soft',
    bounce_class: outcome.reason,
    bounce_scope: outcome.scope,
    bounce_code: outcome.reply?.enhanced ?? (outcome.reply === null ? null : String(outcome.reply.code)),
    bounce_message: outcome.detail,
  }
}

/** When the last moment of a recipient is, in epoch ms. */
export function lastMoment(
  claimed: Pick<Claimed, 'tier' | 'beganAt' | 'expiresAt'>,
  lifetimeSeconds: number | null,
): number {
  const age = (lifetimeSeconds ?? rowOf(claimed.tier).maxAgeSeconds) * 1000
  return Math.min(claimed.beganAt.getTime() + age, claimed.expiresAt?.getTime() ?? Infinity)
}

function deferOrExpire(
  claimed: Claimed,
  outcome: Extract<Outcome, { kind: 'deferred' }>,
  rules: RetryRules & { readonly nowMs: number },
): Verdict {
  const tier = rowOf(claimed.tier)
  const tries = claimed.tries + (outcome.isCounted ? 1 : 0)
  // waiting for a dead host is not a try, but its waits grow as those of a try do
  const step = outcome.isCounted ? tries : claimed.attempt
  const dueMs = rules.nowMs + backoffMs(tier.backoffSeconds, step, rules.scale)
  const code = outcome.reply === null ? null : (outcome.reply.enhanced ?? String(outcome.reply.code))
  if (tries > tier.retries)
    return giveUp(`tried ${tries} times, the last answer was: ${outcome.detail}`, outcome, 'retries-used')
  if (dueMs > lastMoment(claimed, rules.lifetimeSeconds))
    return giveUp(`too old for another try, the last trouble was: ${outcome.detail}`, outcome, 'too-old')
  return {
    move: 'defer',
    reason: outcome.detail,
    dueAt: new Date(dueMs),
    isCounted: outcome.isCounted,
    eventData: {
      reason: outcome.reason,
      message: outcome.detail,
      code,
      next_try_at: new Date(dueMs).toISOString(),
      tries,
    },
  }
}

function giveUp(
  detail: string,
  outcome: Extract<Outcome, { kind: 'deferred' }>,
  why: 'retries-used' | 'too-old',
): Verdict {
  return {
    move: 'expire',
    reason: detail,
    dueAt: null,
    isCounted: outcome.isCounted,
    eventData: { reason: why, cause: outcome.reason, message: detail },
  }
}
