/**
 * Leases of outbound processes. A process has one row whose id is its fencing token. The recipients it sends carry that
 * id, and every transition that ends a sending names it. One heartbeat renews the lease for all of them.
 * - The process dies: its lease expires and stays so for a few heartbeats, or a worker on the same machine sees that
 * the pid is gone; the worker then releases its recipients. Expired alone does not mean dead: after a suspended
 * machine, a clock change or a frozen PostgreSQL, a live process renews as soon as it can.
 * - The process lives but cannot reach PostgreSQL: by its own clock the lease ends (`isHeld`) before anyone else may
 * conclude that, and it starts no delivery until the renewal.
 * - PostgreSQL was away: no lease is declared dead until PostgreSQL has been up for a whole lease. With each token the
 * process checks whether PostgreSQL is older than the mail sent (restore-fence.ts); until then the lease is not held.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { checkFence } from './restore-fence.ts'

/** The lease counts as held for this share of its duration, because clocks may differ. */
const HELD_SHARE = 0.8
const FENCE_RETRY_MS = 500
/** A start waits no longer for an unresponsive Redis; nothing is sent until Redis answers. */
const FENCE_TIMEOUT_MS = 2000

export interface Lease {
  /** The current fencing token. It changes if the row was lost; recipients of the old token then belong to others. */
  readonly id: number
  /** True while no other process can have the recipients of this lease. */
  isHeld(): boolean
  /** Ends the lease at once. Call it after all recipients are released. */
  end(): Promise<void>
}

interface Heartbeat {
  id: number
  renewedAt: number
  /** The token was compared with the highest one in Redis. */
  isFenced: boolean
  isEnded: boolean
}

/**
 * Acquires a lease and renews it by a heartbeat. It is held after the check with Redis. @throws if PostgreSQL is away.
 */
export async function acquireLease(ctx: Context): Promise<Lease> {
  const heartbeat: Heartbeat = {
    id: await register(ctx),
    renewedAt: performance.now(),
    isFenced: false,
    isEnded: false,
  }
  await Promise.race([confirmFence(ctx, heartbeat), sleep(FENCE_TIMEOUT_MS, undefined, { ref: false })])
  const leaseMs = ctx.config.leaseSeconds * 1000
  const timer = setInterval(() => {
    const began = performance.now()
    renew(ctx, heartbeat).then(
      () => {
        heartbeat.renewedAt = began
      },
      (error: unknown) => {
        ctx.log.warn(
          { err: error, lease: heartbeat.id },
          'failed to renew the lease; starting no delivery until it is renewed',
        )
      },
    )
  }, leaseMs / 6)
  return {
    get id() {
      return heartbeat.id
    },
    isHeld: () => heartbeat.isFenced && performance.now() - heartbeat.renewedAt < leaseMs * HELD_SHARE,
    end: async () => {
      clearInterval(timer)
      heartbeat.isEnded = true
      await ctx.db.query('DELETE FROM leases WHERE id = $1', [heartbeat.id])
    },
  }
}

async function register(ctx: Context): Promise<number> {
  const { rows } = await ctx.db.query<{ id: number }>(
    `INSERT INTO leases (machine, pid, expires_at) VALUES ($1, $2, now() + $3 * interval '1 second') RETURNING id`,
    [machineId(), process.pid, ctx.config.leaseSeconds],
  )
  const id = rows[0]?.id
  if (id === undefined) throw new Error('PostgreSQL returned no lease')
  return id
}

async function renew(ctx: Context, heartbeat: Heartbeat): Promise<void> {
  const { rowCount } = await ctx.db.query(
    `UPDATE leases SET expires_at = now() + $2 * interval '1 second' WHERE id = $1`,
    [heartbeat.id, ctx.config.leaseSeconds],
  )
  if (rowCount !== 0) return
  const lost = heartbeat.id
  heartbeat.isFenced = false
  heartbeat.id = await register(ctx)
  void confirmFence(ctx, heartbeat)
  ctx.log.warn(
    { lost, lease: heartbeat.id },
    'the lease expired and its recipients were released; acquired a new lease',
  )
}

/** While Redis is away nothing could be claimed anyway; checks again soon. */
async function confirmFence(ctx: Context, heartbeat: Heartbeat): Promise<void> {
  const { id } = heartbeat
  try {
    await checkFence(ctx)
    heartbeat.isFenced ||= heartbeat.id === id
  } catch (error) {
    ctx.log.debug(
      { err: error, lease: id },
      'cannot check whether the database is older than the mail sent; sending nothing until then',
    )
    if (!heartbeat.isEnded) setTimeout(() => void confirmFence(ctx, heartbeat), FENCE_RETRY_MS).unref()
  }
}

/** Whether any outbound process has a lease that has not expired. */
export async function hasOutbound(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM leases WHERE expires_at > now() LIMIT 1')
  return rows.length > 0
}

/** Identifies the machine on which a pid is valid: boot id and pid namespace. */
function machineId(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return `${hostname()} (no pid check)`
  }
}

/** Share of a lease: two heartbeats. */
const GRACE_SHARE = 1 / 3

interface LeaseRow {
  readonly id: number
  readonly machine: string
  readonly pid: number
  readonly is_over: boolean
}

const READ_LEASES = sql`
  SELECT id, machine, pid,
    expires_at < now() AND pg_postmaster_start_time() < now() - $1 * interval '1 second' AS is_over
  FROM leases
`

/** Returns a function that finds the leases of dead processes. It remembers which leases had expired before. */
export function createDeadLeaseFinder(leaseSeconds: number): (db: Queryable) => Promise<number[]> {
  const graceMs = leaseSeconds * 1000 * GRACE_SHARE
  const here = machineId()
  let suspects = new Map<number, number>()
  return async (db) => {
    const { rows } = await db.query<LeaseRow>(READ_LEASES, [leaseSeconds])
    const now = performance.now()
    suspects = new Map(rows.filter((row) => row.is_over).map(({ id }) => [id, suspects.get(id) ?? now]))
    return rows.filter((row) => now - (suspects.get(row.id) ?? now) >= graceMs || isGone(row, here)).map(({ id }) => id)
  }
}

function isGone({ machine, pid }: LeaseRow, here: string): boolean {
  return machine === here && !here.endsWith('(no pid check)') && !isAlive(pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** A killed process keeps its pid until its parent waits for it. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
