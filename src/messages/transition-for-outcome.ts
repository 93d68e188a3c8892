/**
 * Maps the outcome of an attempt to the transition of its recipient. Pure; `transition.ts` makes the transition. It
 * decides whether to retry or to fail, by the tier's table: only attempts with a reply of a server to this message
 * count, and age counts from acceptance or the scheduled time.
 */
import { backoffMs } from '#src/platform/backoff.ts'
import { tierRow } from '#src/queue/tiers.ts'
import type { ClaimedRecipient } from './claim.ts'
import type { Attempt, Outcome } from './outcome.ts'
import { isReportRequested } from './submission.ts'
import type { Transition } from './transition.ts'
import { countText } from '#src/platform/plural.ts'

export interface RetryRules {
  /** RETRY_SCALE */
  readonly scale: number
  /** MESSAGE_LIFETIME_SECONDS; null = by tier. */
  readonly lifetimeSeconds: number | null
  /** CAPTURE_DOMAIN: mail that is accepted there is captured, not delivered. */
  readonly captureDomain?: string
}

interface EndedAttemptContext {
  readonly claimed: ClaimedRecipient
  /** The TLS version of the connection; null without TLS. */
  readonly tls: string | null
  readonly rules: RetryRules & { readonly nowMs: number }
}

type Kind = Outcome['kind']
type OutcomeOf<K extends Kind> = Extract<Outcome, { kind: K }>
type Decision = Pick<Transition, 'move' | 'reason' | 'dueAt' | 'isCounted' | 'eventData'>

const DECISIONS: {
  readonly [K in Exclude<Kind, 'postponed'>]: (outcome: OutcomeOf<K>, ended: EndedAttemptContext) => Decision
} = {
  delivered: accepted,
  relayed: accepted,
  deferred: deferOrEnd,
  bounced: (outcome) => ({
    move: 'bounce',
    reason: outcome.detail,
    dueAt: null,
    isCounted: true,
    eventData: bounceData(outcome),
  }),
  unknown: ({ detail }, { claimed, rules }) => ({
    move: 'mark_unknown',
    reason: detail,
    dueAt: new Date(rules.nowMs + tierRow(claimed.tier).unknownWaitSeconds * 1000 * rules.scale),
    isCounted: true,
    eventData: null,
  }),
  suppressed: ({ detail, cause, causeKind }) => ({
    move: 'suppress',
    reason: detail,
    dueAt: null,
    isCounted: false,
    eventData: { reason: 'suppressed', cause, cause_kind: causeKind },
  }),
  failed: ({ reason, detail }) => ({
    move: reason === 'too-old' ? 'expire' : 'fail',
    reason: detail,
    dueAt: null,
    isCounted: false,
    eventData: { reason, message: detail },
  }),
}

/** The transition that ends this attempt. `nowMs` is the time of the outcome. */
export function transitionFor(
  claimed: ClaimedRecipient,
  attempt: Attempt,
  rules: RetryRules & { readonly nowMs: number },
): Transition {
  const { outcome } = attempt
  if (outcome.kind === 'postponed') return postpone(claimed, outcome, rules)
  const decide = DECISIONS[outcome.kind] as (outcome: Outcome, ended: EndedAttemptContext) => Decision
  return {
    messageId: claimed.messageId,
    n: claimed.n,
    lease: claimed.lease,
    claimedAt: claimed.claimedAt,
    attempt: { number: claimed.attempt, record: attempt },
    ...decide(outcome, { claimed, tls: attempt.tls, rules }),
  }
}

/** Due again when it may be sent, but at the latest right after its lifetime, when the next claim expires it. */
function postpone(
  claimed: ClaimedRecipient,
  { detail, untilMs }: OutcomeOf<'postponed'>,
  { lifetimeSeconds }: RetryRules,
): Transition {
  return releaseTransition(claimed, new Date(Math.min(untilMs, endOfLifetime(claimed, lifetimeSeconds) + 1)), detail)
}

/** Releases a recipient; the attempt does not count, because no server was contacted. */
export function releaseTransition(
  claimed: { readonly messageId: string; readonly n: number; readonly lease: number; readonly claimedAt?: Date },
  dueAt: Date,
  reason: string | null,
): Transition {
  return {
    messageId: claimed.messageId,
    n: claimed.n,
    move: 'release',
    lease: claimed.lease,
    claimedAt: claimed.claimedAt,
    reason,
    dueAt,
    isCounted: false,
    attempt: null,
    eventData: null,
  }
}

/**
 * Accepted by the receiver, the built-in receiver or a provider. Acceptance by a provider is not reported as a success.
 */
function accepted(outcome: OutcomeOf<'delivered' | 'relayed'>, { claimed, tls, rules }: EndedAttemptContext): Decision {
  const isDelivered = outcome.kind === 'delivered'
  const isCaptured = claimed.domain === rules.captureDomain
  const isReported =
    isDelivered && claimed.submitted !== null && isReportRequested(claimed.submitted, claimed.n, 'SUCCESS')
  return {
    move: isCaptured ? 'capture' : isDelivered ? 'deliver' : 'relay',
    reason: null,
    dueAt: null,
    isCounted: true,
    eventData: {
      reply: outcome.reply.text,
      code: outcome.reply.code,
      tls,
      ...(isReported ? { dsn: 'relayed' } : {}),
      ...(isCaptured ? { captured: true } : {}),
    },
  }
}

function bounceData(outcome: OutcomeOf<'bounced'>): object {
  return {
    bounce_type: outcome.isHard ? 'hard' : 'soft',
    bounce_class: outcome.reason,
    bounce_scope: outcome.scope,
    bounce_code: codeOf(outcome),
    bounce_message: outcome.detail,
  }
}

function codeOf({ reply }: OutcomeOf<'bounced' | 'deferred'>): string | null {
  return reply === null ? null : (reply.enhanced ?? String(reply.code))
}

/** The end of a recipient's lifetime, in epoch ms. */
export function endOfLifetime(
  claimed: Pick<ClaimedRecipient, 'tier' | 'beganAt' | 'expiresAt'>,
  lifetimeSeconds: number | null,
): number {
  const age = (lifetimeSeconds ?? tierRow(claimed.tier).maxAgeSeconds) * 1000
  return Math.min(claimed.beganAt.getTime() + age, claimed.expiresAt?.getTime() ?? Infinity)
}

function deferOrEnd(outcome: OutcomeOf<'deferred'>, { claimed, rules }: EndedAttemptContext): Decision {
  const tier = tierRow(claimed.tier)
  const tries = claimed.tries + (outcome.isCounted ? 1 : 0)
  // an attempt at a dead host does not count, but its backoff grows as that of counted attempts
  const step = outcome.isCounted ? tries : claimed.attempt
  const dueAt = new Date(rules.nowMs + backoffMs(tier.backoffSeconds, step, rules.scale))
  if (tries > tier.retries)
    return end(outcome, 'retries-used', `tried ${countText(tries, 'time')}, the last answer was: ${outcome.detail}`)
  if (dueAt.getTime() > endOfLifetime(claimed, rules.lifetimeSeconds))
    return end(outcome, 'too-old', `too old for another try, the last error was: ${outcome.detail}`)
  return {
    move: 'defer',
    reason: outcome.detail,
    dueAt,
    isCounted: outcome.isCounted,
    eventData: {
      reason: outcome.reason,
      message: outcome.detail,
      code: codeOf(outcome),
      next_try_at: dueAt.toISOString(),
      tries,
    },
  }
}

function end(outcome: OutcomeOf<'deferred'>, why: 'retries-used' | 'too-old', detail: string): Decision {
  return {
    move: why === 'too-old' ? 'expire' : 'fail',
    reason: detail,
    dueAt: null,
    isCounted: outcome.isCounted,
    eventData: { reason: why, cause: outcome.reason, message: detail },
  }
}
