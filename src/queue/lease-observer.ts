/**
 * Leases of outbound processes as others see them (lease.ts): which of them belong to dead processes, and which of
 * those have a journal that must be read before their recipients are released. A process is dead if its lease is
 * expired for a few heartbeats, or if it ran on this machine and its pid is gone.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** Whether any outbound process has a lease that has not expired. */
export async function hasOutbound(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM leases WHERE expires_at > now() LIMIT 1')
  return rows.length > 0
}

/** Identifies the machine on which a pid is valid: boot id and pid namespace. */
export function machineId(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return `${hostname()} (no pid check)`
  }
}

/** Identifies the installation of the operating system, which a restart of the machine does not change; else null. */
export function hostId(): string | null {
  try {
    const id = readFileSync('/etc/machine-id', 'utf8').trim()
    return /^[0-9a-f]{32}$/.test(id) ? id : null
  } catch {
    return null
  }
}

/** Share of a lease: two heartbeats. */
const GRACE_SHARE = 1 / 3

interface LeaseRow {
  readonly id: number
  readonly machine: string
  readonly pid: number
  readonly journal: string | null
  readonly is_over: boolean
  readonly is_awaited: boolean
  readonly is_declared_dead: boolean
  readonly node: string | null
  readonly host: string | null
  /** Changes with each renewal. */
  readonly renewed_until: string
}

const READ_LEASES = sql`
  SELECT id, machine, pid, journal, is_declared_dead, node, host, expires_at::text AS renewed_until,
    expires_at < now() AND pg_postmaster_start_time() < now() - $1 * interval '1 second' AS is_over,
    journal IS NOT NULL AND expires_at > now() - $2 * interval '1 second' AS is_awaited
  FROM leases
`

/** A lease as others see it. */
export interface ObservedLease {
  readonly id: number
  /** The journal that has results of its recipients; null if there is none, or if it was read. */
  readonly journal: string | null
  /** Its process is dead. */
  readonly isDead: boolean
  /** The next process on its node still has time to read the journal. */
  readonly isJournalAwaited: boolean
}

type LeaseSettings = Pick<Context['config'], 'leaseSeconds' | 'journalWaitSeconds' | 'nodeName'>

/**
 * Returns a function that reads all leases, and is to be called every second. It remembers which leases had expired
 * before, and how long the leases of an earlier boot were not renewed.
 */
export function createLeaseObserver(
  { leaseSeconds, journalWaitSeconds, nodeName }: LeaseSettings,
  boot: Boot = thisBoot(),
): (db: Queryable) => Promise<ObservedLease[]> {
  const graceMs = leaseSeconds * 1000 * GRACE_SHARE
  const here = machineId()
  const findOfEarlierBoot = createBootWatch(boot, nodeName)
  let suspects = new Map<number, number>()
  return async (db) => {
    const { rows } = await db.query<LeaseRow>(READ_LEASES, [leaseSeconds, journalWaitSeconds])
    const now = performance.now()
    const earlier = findOfEarlierBoot(rows, now)
    suspects = new Map(rows.filter((row) => row.is_over).map(({ id }) => [id, suspects.get(id) ?? now]))
    return rows.map((row) => ({
      id: row.id,
      journal: row.journal,
      isDead:
        row.is_declared_dead ||
        earlier.has(row.id) ||
        now - (suspects.get(row.id) ?? now) >= graceMs ||
        isGone(row, here),
      isJournalAwaited: row.is_awaited,
    }))
  }
}

export interface Boot {
  /** The installation of the operating system; null: unknown. */
  readonly host: string | null
  readonly boot: string
}

function thisBoot(): Boot {
  return { host: hostId(), boot: bootOf(machineId()) }
}

function bootOf(machine: string): string {
  return machine.split(' ', 1)[0] ?? ''
}

const BOOT_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
/** A process renews its lease every second. */
const SILENT_ROUNDS = 10
/** Longer between two rounds: the silence counts from the later one, because PostgreSQL may have been away. */
const ROUND_GAP_MS = 5000

interface SilentLease {
  readonly renewedUntil: string
  readonly rounds: number
  readonly atMs: number
}

/**
 * Finds the leases that processes of this node held before the machine was restarted: the node and the operating
 * system are the same, and the boot is another one. A clone of the machine may have the same id, and even the same
 * name, so a lease counts only when it was not renewed in ten rounds, one after the other.
 */
function createBootWatch(
  { host, boot }: Boot,
  nodeName: string,
): (rows: readonly LeaseRow[], nowMs: number) => ReadonlySet<number> {
  const isCandidate = ({ machine, ...row }: LeaseRow): boolean =>
    host !== null && row.host === host && row.node === nodeName && isOtherBoot(boot, bootOf(machine))
  let silent = new Map<number, SilentLease>()
  return (rows, nowMs) => {
    const watched = rows.filter(isCandidate).map(({ id, renewed_until: renewedUntil }): [number, SilentLease] => {
      const last = silent.get(id)
      const isSilent = last?.renewedUntil === renewedUntil && nowMs - last.atMs < ROUND_GAP_MS
      return [id, { renewedUntil, rounds: isSilent ? last.rounds + 1 : 0, atMs: nowMs }]
    })
    silent = new Map(watched)
    return new Set(watched.filter(([, { rounds }]) => rounds >= SILENT_ROUNDS).map(([id]) => id))
  }
}

function isOtherBoot(boot: string, other: string): boolean {
  return BOOT_ID.test(boot) && BOOT_ID.test(other) && boot !== other
}

/**
 * The results in a journal are recorded: these leases, which name it, may be released. Returns whether another lease
 * names it: then a process may still write to it.
 */
export async function markJournalRead(db: Queryable, journal: string, leaseIds: readonly number[]): Promise<boolean> {
  await db.query('UPDATE leases SET journal = NULL WHERE journal = $1 AND id = ANY ($2)', [journal, leaseIds])
  const { rows } = await db.query('SELECT FROM leases WHERE journal = $1 LIMIT 1', [journal])
  return rows.length > 0
}

function isGone({ machine, pid }: LeaseRow, here: string): boolean {
  return machine === here && !here.endsWith('(no pid check)') && !isAlive(pid)
}

/** Sends the signal that only tests whether the process exists. */
function probe(pid: number): void {
  process.kill(pid, 0)
}

/** Whether a process of this machine runs, of any user. */
export function isAlive(pid: number, sendProbe = probe): boolean {
  try {
    sendProbe(pid)
  } catch (error) {
    // a process of another user may exist
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  return !isZombie(pid)
}

/** A killed process keeps its pid until its parent waits for it. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
