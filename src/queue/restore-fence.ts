/**
 * Detects that PostgreSQL is older than the mail sent: a backup was restored, or a standby took over without the last
 * transactions. Mail sent since then appears unsent in it. All mail is then suspended before any of it goes out,
 * because only the operator knows what was sent (docs/decisions/023-fence-counter.md).
 *
 * Every outbound process and every worker increments a counter in one row, once per second. Redis and each process
 * remember the highest value that was committed. A row below that value belongs to an older state. The row is locked
 * from the comparison to the suspension, so no process sees the corrected counter without the suspension. Redis away:
 * the comparison uses what the process itself remembers. A crash repeats the comparison.
 */
import type { Context } from '#src/context.ts'
import { urgent, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { EPOCH_KEY, FENCE_KEY } from './keys.ts'
import { recordWaitingLost } from './lost-mail.ts'
import { publishSuspensions, storeSuspension } from './suspensions.ts'

/** A heartbeat does not wait longer for Redis: the lease must be renewed while Redis does not answer. */
const REDIS_WAIT_MS = 500

const BEAT = urgent(
  'fence-beat',
  sql`
    WITH beat AS (
      UPDATE restore_fence SET counter = counter + 1, beat_at = clock_timestamp()
      WHERE is_only AND counter >= $1
      RETURNING counter, beat_at
    ), renewed AS (
      UPDATE leases SET expires_at = now() + $3 * interval '1 second'
      WHERE id = $2 AND NOT is_declared_dead AND EXISTS (SELECT FROM beat)
      RETURNING id
    )
    SELECT counter, (extract(epoch FROM beat_at) * 1000)::float8 AS "atMs",
      EXISTS (SELECT FROM renewed) AS "isRenewed"
    FROM beat`,
)

const LOCK = sql`
  SELECT counter, (extract(epoch FROM beat_at) * 1000)::float8 AS "atMs"
  FROM restore_fence
  FOR UPDATE
`
const CORRECT = sql`
  UPDATE restore_fence
  SET counter = $1, beat_at = clock_timestamp(), detected_at = clock_timestamp(),
    lost_from = $2, lost_until = $3
`
/** No token may be issued twice: a process may still hold one that this database does not know. */
const SKIP_TOKENS = sql`
  SELECT setval('leases_id_seq', greatest(last_value, $1::bigint))
  FROM leases_id_seq
`
const WAITING = sql`
  SELECT EXISTS (SELECT FROM recipients WHERE is_open)
    OR EXISTS (SELECT FROM campaigns WHERE is_open)
    OR EXISTS (SELECT FROM enrolments WHERE state = 'active') AS "isWaiting"
`

type FenceDeps = Pick<Context, 'db' | 'redis' | 'log'>

/** The newest committed state that is known. */
interface KnownState {
  readonly counter: number
  /** When that counter was written, epoch ms by PostgreSQL's clock; 0 if unknown. */
  readonly atMs: number
  /** The highest fencing token. */
  readonly token: number
}

export interface BeatResult {
  /** The lease was renewed; false if it does not exist, or if the database was older. */
  readonly isRenewed: boolean
  /** Redis took part in the comparison. */
  readonly isCompared: boolean
}

export interface RestoreFence {
  /** The highest counter that this process knows to be committed; a claim compares it again. */
  readonly counter: number
  /**
   * Increments the counter and renews the lease, if there is one. If the database is older, suspends all mail and ends
   * all leases instead. Rejects while PostgreSQL is unavailable.
   */
  beat(lease?: { readonly id: number; readonly seconds: number }): Promise<BeatResult>
}

export function createRestoreFence(ctx: FenceDeps): RestoreFence {
  let known: KnownState = { counter: 0, atMs: 0, token: 0 }
  const learn = (state: KnownState): void => {
    known = {
      counter: Math.max(known.counter, state.counter),
      atMs: Math.max(known.atMs, state.atMs),
      token: Math.max(known.token, state.token),
    }
  }
  return {
    get counter() {
      return known.counter
    },
    beat: async (lease) => {
      // in this order: what Redis remembers was committed before PostgreSQL is queried
      const remembered = await readRemembered(ctx)
      const isCompared = remembered !== null
      learn({ ...(remembered ?? known), token: Math.max(remembered?.token ?? 0, lease?.id ?? 0) })
      const { rows } = await ctx.db.query<Omit<KnownState, 'token'> & { isRenewed: boolean }>(BEAT, [
        known.counter,
        lease?.id ?? null,
        lease?.seconds ?? 0,
      ])
      const [row] = rows
      if (row === undefined) {
        await suspendAfterRestore(ctx, known)
        return { isRenewed: false, isCompared }
      }
      learn({ ...row, token: 0 })
      await remember(ctx, known)
      return { isRenewed: row.isRenewed, isCompared }
    },
  }
}

/** Null when Redis does not answer. */
async function readRemembered({ redis }: FenceDeps): Promise<KnownState | null> {
  const scores = await withinWait(redis.zmscore(FENCE_KEY, 'counter', 'at', 'token'))
  if (scores === null) return null
  const [counter, atMs, token] = scores.map(Number)
  return { counter: counter ?? 0, atMs: atMs ?? 0, token: token ?? 0 }
}

async function remember({ redis }: FenceDeps, { counter, atMs, token }: KnownState): Promise<void> {
  await withinWait(redis.zadd(FENCE_KEY, 'GT', counter, 'counter', atMs, 'at', token, 'token'))
}

/** Null when the reply does not come in time, or is an error. */
async function withinWait<T>(reply: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), REDIS_WAIT_MS)
  try {
    return await Promise.race([reply.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}

interface Finding {
  readonly counter: number
  readonly isWaiting: boolean
  readonly reason: string
  /** Since when changes are missing. */
  readonly lostFrom: Date | null
}

const RECORD_RESTORE = sql`
  UPDATE restore_fence
  SET detected_at = clock_timestamp(), lost_from = $1, lost_until = $2
`

/**
 * Suspends all mail in the transaction that restores a backup, for the case that neither Redis nor a process remembers
 * the newer state, as in a second installation. The counter stays that of the backup: what remembers a newer one also
 * detects it, and replaces the schedule in Redis. Returns false if no mail waits, and so none is suspended.
 */
export async function recordRestore(
  tx: Queryable,
  { from, until }: { readonly from: Date; readonly until: Date | null },
): Promise<boolean> {
  await tx.query('INSERT INTO restore_fence DEFAULT VALUES ON CONFLICT DO NOTHING')
  const waiting = await tx.query<{ isWaiting: boolean }>(WAITING)
  const isWaiting = waiting.rows[0]?.isWaiting === true
  const range = until === null ? `after ${from.toISOString()}` : `from ${from.toISOString()} to ${until.toISOString()}`
  const reason = `a backup was restored: changes ${range} are missing`
  if (isWaiting) await suspendAll(tx, reason)
  await tx.query('DELETE FROM leases')
  await tx.query(RECORD_RESTORE, [from, until])
  return isWaiting
}

function suspendAll(tx: Queryable, reason: string): Promise<void> {
  return storeSuspension(tx, {
    kind: 'domain',
    scope: 'mail',
    subject: '*',
    reason: `${reason}. Mail of that time may be sent again; see docs/guides/backup.md`,
    until: null,
  })
}

/** Suspends once; from then on the operator decides. */
async function suspendAfterRestore(ctx: FenceDeps, known: KnownState): Promise<void> {
  const finding = await ctx.db.transaction((tx) => correct(tx, known))
  if (finding === null) return
  await recordWaitingLost(ctx, finding.lostFrom).catch((error: unknown) =>
    ctx.log.error(
      { err: error },
      'failed to record which waiting mail is lost; mailstead lost-mail names it from logs',
    ),
  )
  // the schedule in Redis belongs to the newer state
  await withinWait(ctx.redis.del(EPOCH_KEY))
  await publishSuspensions(ctx)
  const { counter, isWaiting, reason } = finding
  ctx.log.error(
    { remembered: known.counter, counter },
    isWaiting ? `${reason}. All mail is suspended` : `${reason}. No mail is waiting, so none is suspended`,
  )
}

/** Null when another process was first. */
async function correct(tx: Queryable, known: KnownState): Promise<Finding | null> {
  await tx.query('INSERT INTO restore_fence DEFAULT VALUES ON CONFLICT DO NOTHING')
  const { rows } = await tx.query<{ counter: number; atMs: number | null }>(LOCK)
  const found = rows[0] ?? { counter: 0, atMs: null }
  if (found.counter >= known.counter) return null
  const [from, until] = [found.atMs, known.atMs === 0 ? null : known.atMs]
  const reason = reasonOf(from, until)
  const waiting = await tx.query<{ isWaiting: boolean }>(WAITING)
  const isWaiting = waiting.rows[0]?.isWaiting === true
  if (isWaiting) await suspendAll(tx, reason)
  // what another process claimed or knows belongs to the newer state: each acquires a lease again
  await tx.query('DELETE FROM leases')
  await tx.query(SKIP_TOKENS, [known.token])
  await tx.query(CORRECT, [known.counter + 1, dateOf(from), dateOf(until)])
  return { counter: found.counter, isWaiting, reason, lostFrom: dateOf(from) }
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

/** States which changes are missing, as far as it is known. */
function reasonOf(from: number | null, until: number | null): string {
  const what = 'the database is older than the mail sent'
  const cause = 'a backup was restored, or a standby without the last changes took over'
  if (until === null) return `${what}: ${cause}`
  const end = new Date(until).toISOString()
  if (from === null || from > until) return `${what}: its changes until ${end} are missing. Either ${cause}`
  const seconds = Math.max(1, Math.round((until - from) / 1000))
  const start = new Date(from).toISOString()
  return `${what}: its changes of ${seconds} s are missing, from ${start} to ${end}. Either ${cause}`
}
