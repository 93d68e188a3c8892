/**
 * Through a connected account of the workspace: an open session of the account when there is one, else a new one that signs in, then one
 * transaction. What the provider takes is handed over; whether it arrives is not known. Answers an Attempt and never throws.
 *
 * Credentials that are refused are the account's trouble and never the message's: the account is paused, and the mail waits without a try.
 * So it does while there is no token, or the provider says that the account has sent its share of the day. An idle session that turns out
 * dead costs nothing; after the final dot there is no second try here.
 */
import type { Mail } from '#mta/smtp/envelope.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { Account } from '#src/providers/accounts.ts'
import type { Breaker } from './breaker.ts'
import { createErrands, hasEnded, newErrand, outcomeOf, transact, type Errand } from './in-flight.ts'
import { hideSecrets, openAccount, type AccountOpened, type AccountOpening } from './relay-connect.ts'
import { createSessionPool, type Pooled, type SessionPool } from './session-pool.ts'

export interface AccountLetter {
  readonly account: Account
  readonly mail: Mail
}

export interface Relay {
  /** Null when `abort` cut it short and the provider cannot have the message: nothing came of it. */
  deliver(letter: AccountLetter): Promise<Attempt | null>
  abort(): void
  close(): Promise<void>
}

export interface RelayParts extends AccountOpening {
  readonly breaker: Breaker
  readonly now: () => number
  /** RETRY_SCALE */
  readonly scale: number
  readonly pause: (account: Account, reason: string) => Promise<unknown>
}

interface RelayErrand extends Errand, AccountLetter {
  /** Of the account as it signs in now: sessions of older credentials are not used. */
  readonly key: string
  secrets: readonly string[]
}

interface Done {
  readonly outcome: Outcome
  readonly pooled: Pooled | null
}

/** Without a token: tried again after so long, before RETRY_SCALE. */
const WITHOUT_TOKEN_MS = 30_000
/** RFC 4954 6: not signed in, or not well enough. */
const SIGN_IN_CODES = new Set([530, 534, 535, 538])
/** Google's and Microsoft's codes for an account that has sent its share of the day. */
const OVER_QUOTA_CODES: ReadonlySet<string> = new Set(['5.4.5', '5.1.90'])
/** Microsoft's and others' words for it, whatever the code. */
const OVER_QUOTA = /submission ?quota|\b(?:daily|hourly) (?:\w+ ){0,2}(?:limit|quota)|\bsending (?:limit|quota)/i

export function createRelay(parts: RelayParts): Relay {
  const pool = createSessionPool()
  const secretsOf = new WeakMap<Pooled['session'], readonly string[]>()
  const errands = createErrands()
  const means: Means = {
    ...parts,
    settings: { ...parts.settings, watch: (socket) => errands.watch(socket) },
    pool,
    secretsOf,
  }
  return {
    deliver: async ({ account, mail }) => {
      if (errands.isAborted) return null
      const startedAt = parts.now()
      const began = performance.now()
      const errand: RelayErrand = {
        ...newErrand(mail),
        account,
        key: `account:${account.id}:${account.generation}`,
        secrets: [],
      }
      const done = await errands.carry(
        errand,
        carryOut(means, errand).catch((error: unknown) => trouble(means, errand, error)),
      )
      if (done === null) return null
      const { pooled } = done
      if (pooled !== null) pool.put(errand.key, pooled, account.limits.messagesPerConnection)
      return recordOf(errand, done, { startedAt, durationMs: performance.now() - began })
    },
    abort: () => errands.abort(),
    close: () => pool.close(),
  }
}

interface Means extends RelayParts {
  readonly pool: SessionPool
  readonly secretsOf: WeakMap<Pooled['session'], readonly string[]>
}

async function carryOut(means: Means, errand: RelayErrand): Promise<Done> {
  const { pool, secretsOf, breaker } = means
  const open = pool.take(errand.key, null, () => true)
  if (open !== null) {
    errand.secrets = secretsOf.get(open.session) ?? []
    const result = await transactOn(open, errand)
    if (errand.isCut || !hasEnded(open.session, result))
      return { outcome: await outcomeFor(means, errand, result), pooled: open }
    errand.lines.push('-- the open session had ended; trying a new one')
  }
  const refusal = breaker.refuse(errand.key)
  if (refusal !== null) {
    errand.lines.push(`-- ${refusal}`)
    return { outcome: waits('host', 'unreachable', refusal), pooled: null }
  }
  const opened = await openAccount(means, errand.account, errand.lines)
  if (opened.kind !== 'session') return { outcome: await notOpened(means, errand, opened), pooled: null }
  breaker.succeeded(errand.key)
  const { session, address } = opened
  errand.secrets = opened.secrets
  secretsOf.set(session, opened.secrets)
  errand.lines.push(...session.opening)
  const pooled: Pooled = {
    session,
    host: errand.account.host,
    address,
    source: null,
    policy: 'opportunistic',
    isVerified: session.tls?.authorized === true,
    wasDaneDomain: false,
    idleSinceMs: 0,
  }
  return { outcome: await outcomeFor(means, errand, await transactOn(pooled, errand)), pooled }
}

function transactOn({ session, host, address }: Pooled, errand: Errand): Promise<TransactionResult> {
  if (session.delivered > 0)
    errand.lines.push(`-- on an open session to ${host} [${address}], message ${session.delivered + 1}`)
  return transact(session, errand)
}

async function notOpened(
  means: Means,
  errand: RelayErrand,
  opened: Exclude<AccountOpened, { kind: 'session' }>,
): Promise<Outcome> {
  if (opened.kind === 'refused') {
    errand.secrets = opened.secrets
    means.breaker.succeeded(errand.key)
    return pausing(means, errand, opened.reply)
  }
  if (opened.kind === 'failed') {
    errand.secrets = opened.secrets
    means.breaker.failed(errand.key, hideSecrets(opened.detail, opened.secrets))
    return waits('host', opened.reason, opened.detail)
  }
  means.breaker.released(errand.key)
  errand.lines.push(`-- ${opened.reason}`)
  return {
    kind: 'postponed',
    reason: 'account',
    detail: opened.reason,
    untilMs: means.now() + WITHOUT_TOKEN_MS * means.scale,
  }
}

/** What the provider says of the message means what any server means, but for what is about the account. */
function outcomeFor(means: Means, errand: RelayErrand, result: TransactionResult): Promise<Outcome> | Outcome {
  if (result.kind === 'accepted') return { kind: 'relayed', reply: result.reply }
  if (result.kind === 'rejected' && SIGN_IN_CODES.has(result.reply.code)) return pausing(means, errand, result.reply)
  if (result.kind === 'rejected' && isOverQuota(result.reply))
    return waits('source', 'account-quota', formatReply(result.reply))
  return outcomeOf(result, errand)
}

function isOverQuota({ enhanced, text }: Reply): boolean {
  return OVER_QUOTA_CODES.has(enhanced ?? '') || OVER_QUOTA.test(text)
}

async function pausing({ pause }: Means, { account, secrets }: RelayErrand, reply: Reply): Promise<Outcome> {
  const said = hideSecrets(formatReply(reply), secrets)
  await pause(account, `${account.host} does not let ${account.username} in: ${said}`)
  return waits('source', 'account-refused', `the connected account is paused: ${said}`)
}

/** Not one of the message's tries. */
function waits(scope: 'host' | 'source', reason: string, detail: string): Outcome {
  return { kind: 'deferred', scope, reason, detail, reply: null, isCounted: false }
}

/** PostgreSQL is away while the credentials are asked for. */
function trouble({ breaker }: Means, { key }: RelayErrand, error: unknown): Done {
  breaker.released(key)
  const why = error instanceof Error ? error.message : String(error)
  return { outcome: waits('source', 'our-trouble', `it could not be signed in: ${why}`), pooled: null }
}

function recordOf(
  { lines, secrets }: RelayErrand,
  { outcome, pooled }: Done,
  times: Pick<Attempt, 'startedAt' | 'durationMs'>,
): Attempt {
  const tls = pooled?.session.tls ?? null
  return {
    ...times,
    outcome: withoutSecrets(outcome, secrets),
    conversation: hideSecrets(lines.join('\n'), secrets),
    source: null,
    host: pooled?.host ?? null,
    address: pooled?.address ?? null,
    tls: tls === null ? null : `${tls.protocol} ${tls.cipher}, certificate verified`,
  }
}

function withoutSecrets(outcome: Outcome, secrets: readonly string[]): Outcome {
  const hide = (text: string): string => hideSecrets(text, secrets)
  const said = 'reply' in outcome ? outcome.reply : null
  const reply = said === null ? {} : { reply: { ...said, text: hide(said.text), lines: said.lines.map(hide) } }
  return { ...outcome, ...('detail' in outcome ? { detail: hide(outcome.detail) } : {}), ...reply }
}
