/**
 * Leases of outbound processes. A process holds one row whose id is its fencing token; recipients it is sending carry that id, and every
 * move that ends a sending names it. One heartbeat renews everything the process holds.
 *
 * The process dies: its row runs out and stays so for a few of its heartbeats, or its pid is seen gone by a worker on the same machine; the
 * worker releases what it held. Run out is not dead yet: a machine that slept, a clock that was set or a PostgreSQL that was frozen let the
 * time pass for a process that lives, and it renews as soon as it can. The process is alive but cannot reach PostgreSQL: by its own clock
 * the lease ends (`isHeld`) before anyone else may think so, and it starts no delivery until it is renewed. PostgreSQL itself was away:
 * nobody is declared dead until it has been up for one whole lease.
 *
 * With each token it is looked whether PostgreSQL is behind what was sent (restore-fence.ts); until that is known the lease is not held.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { checkFence } from './restore-fence.ts'

/** Our own clock gives up this share of a lease before its end, for clocks that run apart. */
const HELD_SHARE = 0.8
const FENCE_RETRY_MS = 500
/** A start waits no longer for a Redis that says nothing; nothing is sent until it does. */
const FENCE_TIMEOUT_MS = 2000

export interface Lease {
  /** The fencing token now in force. It changes when the row was lost: what was held under the old one is no longer ours. */
  readonly id: number
  /** True while nobody else can have taken our recipients. */
  isHeld(): boolean
  /** Ends the lease at once; to be called when nothing is held any more. */
  end(): Promise<void>
}

interface Heartbeat {
  id: number
  renewedAt: number
  /** The token was held against those that Redis remembers. */
  isFenced: boolean
  isEnded: boolean
}

/** Takes a lease and keeps it by a heartbeat; it is held once Redis was asked, too. @throws when PostgreSQL is away. */
export async function acquireLease(ctx: Context): Promise<Lease> {
  const heartbeat: Heartbeat = { id: await register(ctx), renewedAt: performance.now(), isFenced: false, isEnded: false }
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
          'the lease could not be renewed; no delivery is started until it is',
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
  if (id === undefined) throw new Error('PostgreSQL gave no lease')
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
    'the lease had run out and its recipients were given to others; a new one was taken',
  )
}

/** Redis away: nothing could be claimed anyway, and it is looked again soon. */
async function confirmFence(ctx: Context, heartbeat: Heartbeat): Promise<void> {
  const { id } = heartbeat
  try {
    await checkFence(ctx)
    heartbeat.isFenced ||= heartbeat.id === id
  } catch (error) {
    ctx.log.debug(
      { err: error, lease: id },
      'it is not known whether the database is behind; nothing is sent until it is',
    )
    if (!heartbeat.isEnded) setTimeout(() => void confirmFence(ctx, heartbeat), FENCE_RETRY_MS).unref()
  }
}

/** Whether any outbound process holds a lease that has not run out. */
export async function hasOutbound(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM leases WHERE expires_at > now() LIMIT 1')
  return rows.length > 0
}

/** A name for "the machine on which a pid means something": boot and pid namespace. */
function machineId(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return `${hostname()} (no pid check)`
  }
}

/** Of a lease: two heartbeats. */
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

/** Finds, each time it is called, the leases whose process is gone. It remembers which had run out before. */
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

/** A killed process that nobody has waited for yet still has its pid. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
