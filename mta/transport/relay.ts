/**
 * Delivers through a connected account of the workspace: takes an open session of the account or opens one and
 * authenticates, then runs one transaction. A message that the provider accepts is `relayed`; the final outcome is not
 * known. Returns an Attempt and never throws. Refused credentials concern the account, never the message: the account
 * is paused, and the message is deferred without counting an attempt. The same applies while no token is available, or
 * when the provider reports that the account reached its quota. A session that ended while idle costs no attempt. After
 * the final dot this file never sends the message again.
 */
import type { Mail } from '#mta/smtp/transaction.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { Account } from '#src/providers/accounts.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { outcomeOfFailure, hasSessionEnded } from './failure-outcome.ts'
import {
  createInFlightDeliveries,
  newInFlightDelivery,
  type AcceptedListener,
  type InFlightDelivery,
} from './in-flight.ts'
import {
  redactSecrets,
  openAccountSession,
  type AccountSessionResult,
  type AccountSessionDeps,
} from './relay-connect.ts'
import { createSessionPool, type PooledSession, type SessionPool } from './connection-slots.ts'

export interface RelayJob {
  readonly account: Account
  readonly mail: Mail
  readonly onAccepted?: AcceptedListener
}

export interface RelayTransport {
  /** Null if `abort` ended it and the provider cannot have the message: not an attempt. */
  deliver(job: RelayJob): Promise<Attempt | null>
  abort(): void
  close(): Promise<void>
}

export interface RelayDeps extends AccountSessionDeps {
  readonly breaker: CircuitBreaker
  readonly now: () => number
  /** RETRY_SCALE */
  readonly scale: number
  readonly pause: (account: Account, reason: string) => Promise<unknown>
}

interface RelayDelivery extends InFlightDelivery, RelayJob {
  /** Key of the account and its current credentials: sessions opened with older credentials are not reused. */
  readonly key: string
  /** Epoch ms. */
  readonly startedAt: number
  /** By `performance.now()`. */
  readonly began: number
  secrets: readonly string[]
}

interface RelayResult {
  readonly outcome: Outcome
  readonly pooled: PooledSession | null
}

/** Delay before the next try while no token is available, before RETRY_SCALE. */
const TOKEN_RETRY_MS = 30_000
/** RFC 4954 6: authentication is missing, failed or too weak. */
const SIGN_IN_CODES = new Set([530, 534, 535, 538])
/** Google's and Microsoft's codes for an account that reached its daily limit. */
const OVER_QUOTA_CODES: ReadonlySet<string> = new Set(['5.4.5', '5.1.90'])
/** Texts of Microsoft and others for the same, with any code. */
const OVER_QUOTA = /submission ?quota|\b(?:daily|hourly) (?:\w+ ){0,2}(?:limit|quota)|\bsending (?:limit|quota)/i

export function createRelayTransport(deps: RelayDeps): RelayTransport {
  const pool = createSessionPool()
  const secretsOf = new WeakMap<PooledSession['session'], readonly string[]>()
  const deliveries = createInFlightDeliveries()
  const relay: RelayContext = {
    ...deps,
    settings: { ...deps.settings, onSocket: (socket) => deliveries.watch(socket) },
    pool,
    secretsOf,
  }
  return {
    deliver: async (job) => {
      if (deliveries.isAborted) return null
      const { account } = job
      const delivery: RelayDelivery = {
        ...newInFlightDelivery(job.mail),
        ...job,
        startedAt: deps.now(),
        began: performance.now(),
        key: `account:${account.id}:${account.generation}`,
        secrets: [],
      }
      const result = await deliveries.run(
        delivery,
        deliverToAccount(relay, delivery).catch((error: unknown) => outcomeOfInternalError(relay, delivery, error)),
      )
      if (result === null) return null
      const { pooled } = result
      if (pooled !== null) pool.release(delivery.key, pooled, account.limits.messagesPerConnection)
      return attemptOf(delivery, result)
    },
    abort: () => deliveries.abort(),
    close: () => pool.close(),
  }
}

interface RelayContext extends RelayDeps {
  readonly pool: SessionPool
  readonly secretsOf: WeakMap<PooledSession['session'], readonly string[]>
}

async function deliverToAccount(relay: RelayContext, delivery: RelayDelivery): Promise<RelayResult> {
  const { pool, secretsOf, breaker } = relay
  const open = pool.acquire(delivery.key, null, () => true)
  if (open !== null) {
    delivery.secrets = secretsOf.get(open.session) ?? []
    const result = await transactOn(open, delivery)
    if (delivery.isAborted || !hasSessionEnded(open.session, result))
      return { outcome: await outcomeFor(relay, delivery, result), pooled: open }
    delivery.lines.push('-- the open session had ended; opening a new one')
  }
  const refusal = breaker.beginAttempt(delivery.key)
  if (refusal !== null) {
    delivery.lines.push(`-- ${refusal}`)
    return { outcome: deferUncounted('host', 'unreachable', refusal), pooled: null }
  }
  const opened = await openAccountSession(relay, delivery.account, delivery.lines)
  if (opened.kind !== 'session') return { outcome: await outcomeOfFailedOpen(relay, delivery, opened), pooled: null }
  breaker.succeeded(delivery.key)
  const { session, address } = opened
  delivery.secrets = opened.secrets
  secretsOf.set(session, opened.secrets)
  delivery.lines.push(...session.opening)
  const pooled: PooledSession = {
    session,
    host: delivery.account.host,
    address,
    source: null,
    policy: 'opportunistic',
    isVerified: session.tls?.authorized === true,
    wasDaneDomain: false,
    idleSinceMs: 0,
  }
  return { outcome: await outcomeFor(relay, delivery, await transactOn(pooled, delivery)), pooled }
}

/** One transaction. During it an abort must report how far the message was. */
function transactOn(pooled: PooledSession, delivery: RelayDelivery): Promise<TransactionResult> {
  const { lines } = delivery
  const { session, host, address } = pooled
  if (session.delivered > 0)
    lines.push(`-- on an open session to ${host} [${address}], message ${session.delivered + 1}`)
  const onAccepted: Mail['onAccepted'] = (reply, said) => {
    const heard = { ...delivery, lines: [...lines, ...said] }
    delivery.onAccepted?.(attemptOf(heard, { outcome: { kind: 'relayed', reply }, pooled }))
  }
  return session.deliver({ ...delivery.mail, onAccepted }, delivery)
}

async function outcomeOfFailedOpen(
  relay: RelayContext,
  delivery: RelayDelivery,
  opened: Exclude<AccountSessionResult, { kind: 'session' }>,
): Promise<Outcome> {
  if (opened.kind === 'refused') {
    delivery.secrets = opened.secrets
    relay.breaker.succeeded(delivery.key)
    return pauseForRefusal(relay, delivery, opened.reply)
  }
  if (opened.kind === 'failed') {
    delivery.secrets = opened.secrets
    relay.breaker.failed(delivery.key, redactSecrets(opened.detail, opened.secrets))
    return deferUncounted('host', opened.reason, opened.detail)
  }
  relay.breaker.released(delivery.key)
  delivery.lines.push(`-- ${opened.reason}`)
  return {
    kind: 'postponed',
    reason: 'account',
    detail: opened.reason,
    untilMs: relay.now() + TOKEN_RETRY_MS * relay.scale,
  }
}

/** A provider's reply has the same meaning as any server's, except for replies about the account. */
function outcomeFor(
  relay: RelayContext,
  delivery: RelayDelivery,
  result: TransactionResult,
): Promise<Outcome> | Outcome {
  if (result.kind === 'accepted') return { kind: 'relayed', reply: result.reply }
  if (result.kind === 'rejected' && SIGN_IN_CODES.has(result.reply.code))
    return pauseForRefusal(relay, delivery, result.reply)
  if (result.kind === 'rejected' && isOverQuota(result.reply))
    return deferUncounted('source', 'account-quota', formatReply(result.reply))
  return outcomeOfFailure(result, delivery.mail.to)
}

function isOverQuota({ enhanced, text }: Reply): boolean {
  return OVER_QUOTA_CODES.has(enhanced ?? '') || OVER_QUOTA.test(text)
}

async function pauseForRefusal(
  { pause }: RelayContext,
  { account, secrets }: RelayDelivery,
  reply: Reply,
): Promise<Outcome> {
  const said = redactSecrets(formatReply(reply), secrets)
  await pause(account, `${account.host} refuses the credentials of ${account.username}: ${said}`)
  return deferUncounted('source', 'account-refused', `the connected account is paused: ${said}`)
}

/** Deferred without counting an attempt. */
function deferUncounted(scope: 'host' | 'source', reason: string, detail: string): Outcome {
  return { kind: 'deferred', scope, reason, detail, reply: null, isCounted: false }
}

/** For example: PostgreSQL was unavailable while the credentials were loaded. */
function outcomeOfInternalError({ breaker }: RelayContext, { key }: RelayDelivery, error: unknown): RelayResult {
  breaker.released(key)
  const why = error instanceof Error ? error.message : String(error)
  return {
    outcome: deferUncounted('source', 'our-trouble', `failed to load the credentials of the connected account: ${why}`),
    pooled: null,
  }
}

function attemptOf({ lines, secrets, startedAt, began }: RelayDelivery, { outcome, pooled }: RelayResult): Attempt {
  const tls = pooled?.session.tls ?? null
  return {
    startedAt,
    durationMs: performance.now() - began,
    outcome: redactOutcome(outcome, secrets),
    conversation: redactSecrets(lines.join('\n'), secrets),
    source: null,
    host: pooled?.host ?? null,
    address: pooled?.address ?? null,
    tls: tls === null ? null : `${tls.protocol} ${tls.cipher}, certificate verified`,
  }
}

function redactOutcome(outcome: Outcome, secrets: readonly string[]): Outcome {
  const hide = (text: string): string => redactSecrets(text, secrets)
  const said = 'reply' in outcome ? outcome.reply : null
  const reply = said === null ? {} : { reply: { ...said, text: hide(said.text), lines: said.lines.map(hide) } }
  return { ...outcome, ...('detail' in outcome ? { detail: hide(outcome.detail) } : {}), ...reply }
}
