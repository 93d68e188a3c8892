/**
 * Handles the result of an attempt, step by step: record metrics, publish why a domain is deferred, apply the reply to
 * the throttle, choose the transition, write it. Only the last step waits. A message that was accepted is in the
 * journal already; one that the receiver may have is noted there before the write. The process dies before the write:
 * a result in the journal is recorded by the next process, and any other recipient is released with the lease.
 */
import type { ReplyEffects } from '#mta/shaping/reply-effects.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt, Deferral } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'
import { inStep } from './delivery-span.ts'
import { withSuppressionCandidate, type SuppressionCandidate } from './hard-bounce.ts'
import type { ResultJournal } from './result-journal.ts'
import type { DeliveryResult, ResultWriter } from './result-writer.ts'
import type { ClaimedDelivery } from './session-grant.ts'
import { traceIdOf } from '#src/traces/traceparent.ts'

export interface ResultHandlerDeps {
  /** `site`: null for a connected account. */
  readonly recordMetrics: (claimed: ClaimedRecipient, attempt: Attempt, site: string | null) => void
  /** For `explain`: why this domain is deferred from this source. */
  readonly publishStatus: (domain: string, deferral: Deferral, source: string | null) => void
  readonly replyEffects: Pick<ReplyEffects, 'apply'>
  readonly writer: Pick<ResultWriter, 'write'>
  readonly journal: Pick<ResultJournal, 'record' | 'settle'>
}

export type ResultHandler = (delivery: ClaimedDelivery, attempt: Attempt) => Promise<void>

/** The function resolves when the result is committed. */
export function createResultHandler(
  ctx: Pick<Context, 'config' | 'clock' | 'log'>,
  deps: ResultHandlerDeps,
): ResultHandler {
  return async (delivery, attempt) => {
    const { claimed, selected } = delivery
    const { outcome } = attempt
    deps.recordMetrics(claimed, attempt, accountIdOf(claimed.domain) === null ? delivery.site : null)
    if (outcome.kind === 'deferred') deps.publishStatus(claimed.domain, outcome, selected.source)
    applyToThrottle(deps.replyEffects, delivery, attempt)
    const result = resultOf(ctx, claimed, attempt)
    if (outcome.kind === 'unknown') deps.journal.record(result)
    const isMoved = await inStep(delivery, RECORD_STEP, () => deps.writer.write(result))
    deps.journal.settle(result)
    logResult(ctx, claimed, attempt, { transition: result.transition, isMoved })
  }
}

const RECORD_STEP = { name: 'record result', kind: 'internal' } as const

/** What is written for the attempt. */
export function resultOf(
  ctx: Pick<Context, 'config' | 'clock'>,
  claimed: ClaimedRecipient,
  attempt: Attempt,
): DeliveryResult {
  return { claimed, ...chooseTransition(ctx, claimed, attempt) }
}

/** Applies the reply to the throttle of the source that was used, even if another one was selected. */
function applyToThrottle(
  replyEffects: Pick<ReplyEffects, 'apply'>,
  { claimed: { workspaceId, domain }, selected }: ClaimedDelivery,
  { outcome, source }: Attempt,
): void {
  // shaping rules are about receivers, and a provider's reply is about one account
  if (accountIdOf(domain) !== null) return
  const throttle = source === null || source === selected.source ? selected.throttle : selected.throttleOf(source)
  replyEffects.apply(throttle, 'reply' in outcome ? outcome.reply : null, workspaceId, source ?? selected.source)
}

function chooseTransition(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  claimed: ClaimedRecipient,
  attempt: Attempt,
): SuppressionCandidate {
  const { retryScale: scale, messageLifetimeSeconds: lifetimeSeconds, captureDomain } = config
  const nowMs = clock.now()
  const transition = transitionFor(claimed, attempt, { scale, lifetimeSeconds, captureDomain, nowMs })
  return attempt.outcome.kind === 'bounced'
    ? withSuppressionCandidate(config, claimed, attempt, { transition, nowMs })
    : { transition, hardBounce: null }
}

/** Logs one line for each attempt; its message is the transition. */
function logResult(
  { log }: Pick<Context, 'log'>,
  { messageId: id, address: to, tier, content, requestId, traceparent }: ClaimedRecipient,
  { host, durationMs }: Attempt,
  { transition, isMoved }: { readonly transition: ReturnType<typeof transitionFor>; readonly isMoved: boolean },
): void {
  const { reason, move } = transition
  const origin = requestId === null ? {} : { requestId }
  const traceId = traceIdOf(traceparent)
  const line = { ...origin, traceId, id, from: content.from.email, to, tier, host, reason, ms: Math.round(durationMs) }
  log.info({ ...line, late: !isMoved || undefined }, move)
}
