/**
 * One delivery, from a claimed recipient to the result of its attempt: check, prepare (route, TLS policy, compose,
 * sign), wait for a session, send. The steps are functions of the pipeline and do not know each other. The caller
 * handles the result. No step throws for anything that a message, a server or DNS does: a step that ends the delivery
 * returns an outcome.
 *
 * The process dies before or during the conversation: the recipient is released with the lease, uncounted. The
 * process dies between the receiver's 250 and the commit of the result: the journal has the result
 * (result-journal.ts), and the next process records it. If it dies after the final dot and before it read the reply,
 * the recipient is sent again. That can happen in this window only.
 */
import type { Route } from '#mta/route/route.ts'
import { UNENFORCED } from '#mta/security/policy.ts'
import type { DirectJob } from '#mta/transport/direct.ts'
import type { AcceptedListener } from '#mta/transport/in-flight.ts'
import type { RelayJob } from '#mta/transport/relay.ts'
import { pathKey } from '#mta/transport/circuit-breaker.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { attemptWithoutSession, type Attempt, type Outcome } from '#src/messages/outcome.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'
import { findCancellation } from './cancellation.ts'
import type { DeliveryPipeline } from './delivery-pipeline.ts'
import { inStep, SMTP_STEP } from './delivery-span.ts'
import { buildMessage } from './message-builder.ts'
import type { ClaimedDelivery, SessionGrant } from './session-grant.ts'

/** How long mail waits for an MTA-STS policy that is being fetched. */
const POLICY_WAIT_MS = 2000
/** After more than this since the claim, the data that the claim loaded is loaded again. */
const LATE_MS = 3000

/**
 * The result of preparation: a job for the receiver's servers, a submission through a connected account, or an outcome.
 */
type Prepared =
  | { readonly kind: 'direct'; readonly job: DirectJob }
  | { readonly kind: 'account'; readonly submission: RelayJob }
  | { readonly kind: 'ended'; readonly outcome: Outcome }

interface Delivery {
  readonly pipeline: DeliveryPipeline
  readonly delivery: ClaimedDelivery
  readonly grant: SessionGrant
  readonly onAccepted: AcceptedListener
}

/**
 * Makes one attempt. A small message is prepared first and then waits for a session of the throttle. Large content is
 * loaded only within a session, and only a bounded amount of it at a time. Resolves with null when no attempt was made
 * and the recipient is to be released: the throttle refused it, the process stops before the message is transmitted,
 * or there is a source to select by now. The caller ends the session. `onAccepted` is called as soon as the receiver
 * accepts the message.
 */
export async function deliver(
  pipeline: DeliveryPipeline,
  delivery: ClaimedDelivery,
  grant: SessionGrant,
  onAccepted: AcceptedListener = () => undefined,
): Promise<Attempt | null> {
  const { claimed } = delivery
  const startedAt = pipeline.now()
  const cancellation = findCancellation(claimed, pipeline)
  if (cancellation !== null) return attemptWithoutSession(cancellation, startedAt)
  const parts: Delivery = { pipeline, delivery, grant, onAccepted }
  return claimed.content.isLarge ? deliverLarge(parts, startedAt) : deliverSmall(parts, startedAt)
}

async function deliverSmall(parts: Delivery, startedAt: number): Promise<Attempt | null> {
  const prepared = await prepare(parts)
  if (prepared.kind === 'ended') return attemptWithoutSession(prepared.outcome, startedAt)
  return withSession(parts, () => send(parts, prepared, startedAt))
}

function deliverLarge(parts: Delivery, startedAt: number): Promise<Attempt | null> {
  const { pipeline, delivery } = parts
  return withSession(parts, () =>
    pipeline.memory.runWithin(delivery.claimed.content.size, async () => send(parts, await prepare(parts), startedAt)),
  )
}

/**
 * Waits for a session. The wait takes time: a recipient that lost its lease or its source meanwhile must not begin.
 */
async function withSession(
  { pipeline, delivery, grant }: Delivery,
  work: () => Promise<Attempt | null>,
): Promise<Attempt | null> {
  const { claimed, selected, heldSinceMs } = delivery
  delivery.phase = 'waiting'
  const hasEntered = await selected.throttle.enter(claimed.tier)
  delivery.phase = hasEntered ? 'in-session' : 'preparing'
  if (!hasEntered || grant.isStopped() || !grant.mayProceed() || !selected.isUsable()) return null
  const isLate = performance.now() - heldSinceMs > LATE_MS
  const cancellation = isLate ? await findLateCancellation(pipeline, claimed) : null
  return cancellation === null ? work() : attemptWithoutSession(cancellation, pipeline.now())
}

/** After a long wait: loads again whether the address is suppressed and the contact still subscribed. */
async function findLateCancellation(pipeline: DeliveryPipeline, claimed: ClaimedRecipient): Promise<Outcome | null> {
  const { workspaceId, deferredContent } = claimed
  try {
    const [suppression, contact] = await Promise.all([
      pipeline.suppression(claimed),
      deferredContent === null ? null : pipeline.contact({ workspaceId, ...deferredContent }),
    ])
    return findCancellation({ ...claimed, suppression, contact }, pipeline)
  } catch (error) {
    return internalError(error)
  }
}

async function send({ pipeline, delivery }: Delivery, prepared: Prepared, startedAt: number): Promise<Attempt | null> {
  if (prepared.kind === 'ended') return attemptWithoutSession(prepared.outcome, startedAt)
  if (prepared.kind === 'account')
    return inStep(delivery, SMTP_STEP, () => pipeline.accounts.relay.deliver(prepared.submission))
  if (prepared.job.endpoints.length === 0) return null
  return inStep(delivery, SMTP_STEP, () => pipeline.transport.deliver(prepared.job))
}

const COMPOSE_STEP = { name: 'compose and sign', kind: 'internal' } as const

/** Everything that needs no session. An error means that a store is away: the message waits. */
async function prepare(parts: Delivery): Promise<Prepared> {
  const accountId = accountIdOf(parts.delivery.claimed.domain)
  try {
    return accountId === null ? await prepareDirect(parts) : await prepareAccount(parts, accountId)
  } catch (error) {
    return ended(internalError(error))
  }
}

async function prepareDirect(parts: Delivery): Promise<Prepared> {
  const { pipeline, delivery, grant, onAccepted } = parts
  const { claimed, selected } = delivery
  const route = await pipeline.route(claimed.domain)
  if (route.kind !== 'hosts') return ended(outcomeOfRoute(route))
  const unreachableReason = pipeline.unreachableReason(pathKey(route.site, selected.source))
  if (unreachableReason !== null) return ended(unreachable(unreachableReason))
  const ignoresTls = claimed.submitted?.ignoresTls === true
  const tls = ignoresTls ? UNENFORCED : await pipeline.tlsPolicy(claimed.domain, route.hosts)
  if (tls.isPending) return ended(policyPending(claimed, pipeline))
  const domain = await pipeline.sendingDomain(claimed.domainId)
  if (domain.kind !== 'ready') return ended(domainRefused(domain.kind, claimed))
  const message = await inStep(delivery, COMPOSE_STEP, () => buildMessage(pipeline, claimed, domain.keys))
  if (message.kind === 'ended') return message
  const { data, smtputf8 } = message
  const from = pipeline.returnPath(claimed, domain.mailFrom)
  const job: DirectJob = {
    site: route.site,
    hosts: route.hosts,
    tls,
    endpoints: selected.endpoints,
    throttle: selected.throttle,
    throttleFor: selected.throttleOf,
    mail: { from, to: claimed.address, data, smtputf8, maySend: grant.mayProceed },
    onAccepted,
  }
  return { kind: 'direct', job }
}

/** The provider signs, and accepts only an address of the account as the return-path: bounces go to that mailbox. */
async function prepareAccount(
  { pipeline, delivery, grant, onAccepted }: Delivery,
  accountId: string,
): Promise<Prepared> {
  const account = await pipeline.accounts.find(accountId)
  if (!('addresses' in account)) return ended(account)
  const { claimed } = delivery
  const message = await inStep(delivery, COMPOSE_STEP, () => buildMessage(pipeline, claimed, []))
  if (message.kind === 'ended') return message
  const { data, smtputf8 } = message
  const from = claimed.content.from.email
  const mail = { from, to: claimed.address, data, smtputf8, maySend: grant.mayProceed }
  return { kind: 'account', submission: { account, mail, onAccepted } }
}

function ended(outcome: Outcome): Prepared {
  return { kind: 'ended', outcome }
}

function unreachable(detail: string): Outcome {
  return { kind: 'deferred', scope: 'host', reason: 'unreachable', detail, reply: null, isCounted: false }
}

/** Waits without a session: other domains may use the same hosts. */
function policyPending({ domain }: ClaimedRecipient, pipeline: Pick<DeliveryPipeline, 'now'>): Outcome {
  return {
    kind: 'postponed',
    reason: 'tls-policy',
    detail: `the MTA-STS policy of ${domain} is being fetched`,
    untilMs: pipeline.now() + POLICY_WAIT_MS,
  }
}

function domainRefused(kind: 'gone' | 'not-verified', { content }: ClaimedRecipient): Outcome {
  const what = kind === 'gone' ? 'was removed' : 'is no longer verified: its DKIM record is missing from DNS'
  return { kind: 'failed', reason: `domain-${kind}`, detail: `the sending domain of ${content.from.email} ${what}` }
}

function outcomeOfRoute(route: Exclude<Route, { kind: 'hosts' }>): Outcome {
  if (route.kind === 'unknown') {
    const detail = route.text
    return { kind: 'deferred', scope: 'destination', reason: 'dns', detail, reply: null, isCounted: false }
  }
  const reply = composeReply(550, route.status, route.text)
  const isHard = route.reason !== 'loop'
  return { kind: 'bounced', scope: 'recipient', reason: route.reason, isHard, detail: formatReply(reply), reply }
}

/** An internal error, such as a store that is away: temporary, and not caused by the message. */
function internalError(error: unknown): Outcome {
  const detail = `failed to prepare the message: ${error instanceof Error ? error.message : String(error)}`
  return { kind: 'deferred', scope: 'source', reason: 'our-trouble', detail, reply: null, isCounted: false }
}
