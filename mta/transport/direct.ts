/**
 * Delivers directly to the receiver's MX hosts: takes an open session of the site or tries the hosts in order, then
 * runs one transaction. Returns an Attempt and never throws for what a server or network does. A host that cannot be
 * reached, or refuses at its greeting, is followed by the next. A reply to the message itself is final for this
 * attempt. A session that ended while idle costs no attempt: the message goes out on another one. After the final dot
 * this file never sends the message again: the outcome is `unknown`, and the tier decides what follows.
 *
 * The source was selected before the message waited in its queue (mta/scheduling/source-selection.ts). If the source's
 * address is no longer on this machine, the delivery returns null: the scheduler releases the message and tries another
 * source at once. Hosts of the operator's transport map are reached from any address that the system chooses.
 */
import type { Egress } from '#mta/egress/source-choice.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import { isSufficient, policyNameFor } from '#mta/security/policy.ts'
import type { Mail } from '#mta/smtp/transaction.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import { pathKey, type CircuitBreaker } from './circuit-breaker.ts'
import { outcomeOfFailure, hasSessionEnded, unreachable, unroutable } from './failure-outcome.ts'
import {
  createInFlightDeliveries,
  newInFlightDelivery,
  type AcceptedListener,
  type InFlightDelivery,
} from './in-flight.ts'
import { connectFirst, SOURCE_LOST, type DestinationHosts, type ConnectFailure, type ConnectDeps } from './connect.ts'
import {
  createConnectionSlots,
  protectionOf,
  type ConnectionSlot,
  type IdleRequest,
  type NewConnectionSlot,
  type PooledSession,
  type SlotRequest,
} from './connection-slots.ts'

export interface DirectJob extends Omit<DestinationHosts, 'mayUse'> {
  readonly site: string
  /** Limits the connections of the first endpoint, for all sites that share the throttle. */
  readonly throttle: Throttle
  /** The throttle of another endpoint, if it is needed. */
  readonly throttleFor: (source: string | null) => Throttle
  readonly mail: Mail
  readonly onAccepted?: AcceptedListener
}

export interface DirectTransport {
  /** Null if `abort` ended it and the receiver cannot have the message, or if the source is gone: not an attempt. */
  deliver(job: DirectJob): Promise<Attempt | null>
  /**
   * Aborts all deliveries. A message that the receiver may have ends as `unknown`; the others end without an attempt.
   */
  abort(): void
  /** Closes the idle sessions. */
  close(): Promise<void>
}

export interface DirectDeps extends ConnectDeps {
  readonly breaker: CircuitBreaker
  readonly egress: Pick<Egress, 'onAddressLost' | 'recheckAddresses' | 'isUnavailable'>
  readonly now: () => number
}

export function createDirectTransport(options: DirectDeps): DirectTransport {
  const slots = createConnectionSlots()
  const deliveries = createInFlightDeliveries()
  const deps: DirectDeps = {
    ...options,
    settings: { ...options.settings, onSocket: (socket) => deliveries.watch(socket) },
  }
  // they would never receive anything
  options.egress.onAddressLost((address) => deliveries.closeFrom(address))
  return {
    deliver: async (job) => {
      if (deliveries.isAborted) return null
      const delivery: DirectDelivery = {
        ...newInFlightDelivery(job.mail),
        job,
        startedAt: options.now(),
        began: performance.now(),
        acquireSlot: () =>
          slots.acquire(slotRequest(job, preferredSource(job)), idleRequest(job), (path) =>
            options.breaker.maxConnections(path),
          ),
        tryAcquireSlot: (by) => slots.tryAcquire(slotRequest(job, by)),
      }
      const result = await deliveries.run(delivery, deliverDirect(deps, delivery))
      if (result === null) return null
      if (await isSourceGone(options, job, result.outcome)) return null
      const attempt = attemptOf(delivery, result)
      if (result.pooled !== null) slots.release(job.site, result.pooled)
      return attempt
    },
    abort: () => deliveries.abort(),
    close: () => slots.close(),
  }
}

async function isSourceGone({ egress }: DirectDeps, { endpoints }: DirectJob, outcome: Outcome): Promise<boolean> {
  if (outcome.kind !== 'deferred' || outcome.reason !== SOURCE_LOST) return false
  await egress.recheckAddresses()
  // running out of local ports gives the same error: the source still exists, and the message is deferred
  return endpoints.some(({ source }) => egress.isUnavailable(source))
}

interface DirectDelivery extends InFlightDelivery {
  readonly job: DirectJob
  /** Epoch ms. */
  readonly startedAt: number
  /** By `performance.now()`. */
  readonly began: number
  /** Waits for an open connection or a slot for a new one; null if the throttle closes. */
  readonly acquireSlot: () => Promise<ConnectionSlot | null>
  /** A slot for a connection from another source, without waiting; null if none is free. */
  readonly tryAcquireSlot: (source: string | null) => NewConnectionSlot | null
}

interface DirectResult {
  readonly outcome: Outcome
  readonly pooled: PooledSession | null
  readonly source: string | null
  /** The host that gave no session. */
  readonly at?: ConnectFailure['at']
}

function attemptOf(
  { job, lines, startedAt, began }: DirectDelivery,
  { outcome, pooled, source, at }: DirectResult,
): Attempt {
  return {
    outcome,
    startedAt,
    durationMs: performance.now() - began,
    conversation: lines.join('\n'),
    source,
    host: (pooled ?? at)?.host ?? null,
    address: (pooled ?? at)?.address ?? null,
    tls: pooled === null ? null : describeTls(job, pooled),
  }
}

/** The source whose queue the message waited in. */
function preferredSource({ endpoints }: DirectJob): string | null {
  return endpoints[0]?.source ?? null
}

function slotRequest(job: DirectJob, source: string | null): SlotRequest {
  return { site: job.site, source, throttle: source === preferredSource(job) ? job.throttle : job.throttleFor(source) }
}

function idleRequest({ endpoints, tls }: DirectJob): IdleRequest {
  return {
    sources: endpoints.map(({ source }) => source),
    isSuitable: (pooled) => isSufficient(tls, protectionOf(pooled)),
  }
}

/**
 * Null when the throttle closes. If an open session ended while idle or reached its share of messages, tries the next
 * session; the result on a new session is final.
 */
async function deliverDirect(deps: DirectDeps, delivery: DirectDelivery): Promise<DirectResult | null> {
  for (;;) {
    const slot = await delivery.acquireSlot()
    if (slot === null) return null
    if (slot.kind === 'new') return connectAndDeliver(deps, delivery, slot)
    const { pooled } = slot
    const result = await transactOn(pooled, delivery)
    if (delivery.isAborted || !hasSessionEnded(pooled.session, result)) return resultOn(pooled, delivery, result)
    delivery.lines.push('-- the open session had ended; trying another')
  }
}

/** Charges the message to the source that sent it. */
function resultOn(pooled: PooledSession, delivery: DirectDelivery, result: TransactionResult): DirectResult {
  const { job } = delivery
  if (pooled.source !== preferredSource(job)) {
    job.throttle.chargeMessages(-1)
    job.throttleFor(pooled.source).chargeMessages(1)
  }
  const outcome: Outcome =
    result.kind === 'accepted' ? { kind: 'delivered', reply: result.reply } : outcomeOfFailure(result, job.mail.to)
  return { outcome, pooled, source: pooled.source }
}

async function connectAndDeliver(
  deps: DirectDeps,
  delivery: DirectDelivery,
  slot: NewConnectionSlot,
): Promise<DirectResult> {
  const { job, lines } = delivery
  const path = pathKey(job.site, preferredSource(job))
  const refusal = deps.breaker.beginAttempt(path)
  if (refusal !== null) {
    slot.cancel()
    lines.push(`-- ${refusal}`)
    return { outcome: unreachable({ reason: 'unreachable', detail: refusal }), pooled: null, source: null }
  }
  const opened = await connectWithSlots(deps, delivery, slot)
  if (!('session' in opened)) {
    if (opened.isByPolicy === true || opened.isLocalFault === true) deps.breaker.released(path)
    else deps.breaker.failed(path, opened.detail)
    const outcome = opened.isCertain === true ? unroutable(opened) : unreachable(opened)
    return { outcome, pooled: null, source: opened.source ?? null, at: opened.at }
  }
  deps.breaker.succeeded(path)
  lines.push(...opened.session.opening)
  return resultOn(opened, delivery, await transactOn(opened, delivery))
}

/** A connection from another source uses that source's slot; the first source's slot is then released. */
async function connectWithSlots(
  deps: DirectDeps,
  { job, lines, tryAcquireSlot }: DirectDelivery,
  slot: NewConnectionSlot,
): Promise<PooledSession | ConnectFailure> {
  const others = new Map<string | null, NewConnectionSlot>()
  const mayUse = (source: string | null): boolean => {
    const other = others.get(source) ?? tryAcquireSlot(source)
    if (other !== null) others.set(source, other)
    return other !== null
  }
  const opened = await connectFirst(deps, { ...job, mayUse }, lines)
  const used = 'session' in opened ? (others.get(opened.source) ?? slot) : null
  if ('session' in opened) used?.assign(opened)
  for (const one of [slot, ...others.values()]) if (one !== used) one.close()
  return opened
}

/** One transaction. During it an abort must report how far the message was. */
function transactOn(pooled: PooledSession, delivery: DirectDelivery): Promise<TransactionResult> {
  const { lines, job } = delivery
  const { session, host, address } = pooled
  if (session.delivered > 0)
    lines.push(`-- on an open session to ${host} [${address}], message ${session.delivered + 1}${tlsRemark(session)}`)
  const onAccepted: Mail['onAccepted'] = (reply, said) => {
    const outcome: Outcome = { kind: 'delivered', reply }
    const heard = { ...delivery, lines: [...lines, ...said] }
    job.onAccepted?.(attemptOf(heard, { outcome, pooled, source: pooled.source }))
  }
  return session.deliver({ ...delivery.mail, onAccepted }, delivery)
}

/** The TLS description in the attempt; null for plain text. */
function describeTls({ tls: policy }: DirectJob, pooled: PooledSession): string | null {
  const {
    session: { tls },
    isVerified,
  } = pooled
  if (tls === null) return null
  const certificate = `certificate ${isVerified ? '' : 'not '}verified`
  return `${tls.protocol} ${tls.cipher}, ${policyNameFor(policy, protectionOf(pooled))}, ${certificate}`
}

function tlsRemark(session: Session): string {
  return session.tls === null ? ', not encrypted' : `, ${session.tls.protocol} ${session.tls.cipher}`
}
