/**
 * Leases of outbound processes. A process has one row whose id is its fencing token. The recipients it sends carry that
 * id, and every transition that ends a sending names it. One heartbeat renews the lease for all of them, and compares
 * the database with what Redis remembers (restore-fence.ts); before the first comparison the lease is not held.
 * - The process dies: its lease expires and stays so for a few heartbeats, or a worker on the same machine sees that
 * the pid is gone; the worker then releases its recipients. First the next process on its node reads its journal, for
 * which the worker waits a bounded time (mta/outbound/journal-recovery.ts). Expired alone does not mean dead: after a
 * suspended machine, a clock change or a frozen PostgreSQL, a live process renews as soon as it can.
 * - The process lives but cannot reach PostgreSQL: by its own clock the lease ends (`isHeld`) before anyone else may
 * conclude that, and it starts no delivery until the renewal.
 * - PostgreSQL was away: no lease is declared dead until PostgreSQL has been up for a whole lease. A heartbeat comes
 * before the first claim on a new connection, because another server may answer there.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { sql } from '#src/stores/sql.ts'
import { hostId, machineId } from './lease-observer.ts'
import { createRestoreFence, type RestoreFence } from './restore-fence.ts'

/** The lease counts as held for this share of its duration, because clocks may differ. */
const HELD_SHARE = 0.8
/** What is lost with the last transactions of a failed server is noticed if it is older than this. */
const HEARTBEAT_MS = 1000
/** A claim needs a comparison with Redis within this many intervals; otherwise a heartbeat comes first. */
const COMPARED_BEATS = 3
/** A heartbeat without a reply is not waited for any longer: the next one uses another connection. */
const SILENT_MS = 5000
/** A start waits no longer for an unresponsive Redis; nothing is sent until Redis answers. */
const START_TIMEOUT_MS = 2000

/** What a claim proves to the database. */
export interface LeaseProof {
  /** The fencing token. */
  readonly lease: number
  /** The database must not be older than this (restore-fence.ts). */
  readonly counter: number
}

export interface Lease {
  /** The current fencing token. It changes if the row was lost; recipients of the old token then belong to others. */
  readonly id: number
  /** True while no other process can have the recipients of this lease. */
  isHeld(): boolean
  /**
   * Claims recipients. Rejects if the lease is not held, or if the database refused because it is older or the lease
   * was lost: then nothing was claimed, and the recipients still wait.
   */
  claim<T>(work: (proof: LeaseProof) => Promise<readonly T[]>): Promise<readonly T[]>
  /** `listener` runs before a lease that replaces a lost one is held; while it rejects, the lease is not held. */
  onReplaced(listener: () => Promise<void>): void
  /** Ends the lease at once. Call it after all recipients are released. */
  end(): Promise<void>
  /** Renews the lease no more, so that it ends in its time, as after a crash. */
  abandon(): void
}

/**
 * Acquires a lease and renews it by a heartbeat. It is held after the check with Redis. `journal` names the file with
 * the results of its recipients; null if there is none. @throws if PostgreSQL is away.
 */
export async function acquireLease(ctx: Context, journal: string | null = null): Promise<Lease> {
  const heartbeat = new Heartbeat(ctx, await register(ctx, journal), journal)
  await Promise.race([heartbeat.beat(), sleep(START_TIMEOUT_MS, undefined, { ref: false })])
  heartbeat.start()
  return {
    get id() {
      return heartbeat.id
    },
    isHeld: () => heartbeat.isHeld,
    claim: (work) => heartbeat.claim(work),
    onReplaced: (listener) => heartbeat.setListener(listener),
    end: () => heartbeat.end(),
    abandon: () => heartbeat.abandon(),
  }
}

/** One beat and its time; a beat that does not end in time is superseded. */
interface RunningBeat {
  readonly beganAt: number
  readonly done: Promise<void>
}

class Heartbeat {
  readonly #ctx: Context
  readonly #fence: RestoreFence
  readonly #journal: string | null
  readonly #leaseMs: number
  readonly #intervalMs: number
  #id: number
  #renewedAt = performance.now()
  /** The last comparison with Redis under this lease: when, and with which connections; -Infinity before the first. */
  #compared = { at: -Infinity, connections: -1 }
  #isConfirmed = false
  #onReplaced: () => Promise<void> = () => Promise.resolve()
  /** Replacements of the lease, and how many of them the listener knows. */
  #replacements = { count: 0, reported: 0 }
  #isEnded = false
  #isFailing = false
  #running: RunningBeat | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(ctx: Context, id: number, journal: string | null) {
    this.#ctx = ctx
    this.#journal = journal
    this.#fence = createRestoreFence(ctx)
    this.#id = id
    this.#leaseMs = ctx.config.leaseSeconds * 1000
    this.#intervalMs = Math.min(HEARTBEAT_MS, this.#leaseMs / 6)
  }

  get id(): number {
    return this.#id
  }

  get isHeld(): boolean {
    return this.#isConfirmed && performance.now() - this.#renewedAt < this.#leaseMs * HELD_SHARE
  }

  start(): void {
    this.#timer = setInterval(() => void this.beat(), this.#intervalMs)
  }

  setListener(listener: () => Promise<void>): void {
    this.#onReplaced = listener
    if (this.#replacements.count === 0) return
    // the listener's data may be from before the replacement
    this.#replacements.reported = 0
    this.#isConfirmed = false
    void this.beat()
  }

  abandon(): void {
    clearInterval(this.#timer)
    this.#isEnded = true
  }

  async end(): Promise<void> {
    this.abandon()
    await this.#ctx.db.query('DELETE FROM leases WHERE id = $1', [this.#id])
  }

  /** Never rejects: what did not succeed is seen in `isHeld` and repeated. Joins a beat that is under way. */
  beat(): Promise<void> {
    const now = performance.now()
    if (this.#running !== null && now - this.#running.beganAt < SILENT_MS) return this.#running.done
    const running: RunningBeat = {
      beganAt: now,
      done: this.#renew().then(
        () => this.#finish(running, null),
        (error: unknown) => this.#finish(running, error),
      ),
    }
    this.#running = running
    return running.done
  }

  #finish(beat: RunningBeat, error: unknown): void {
    if (this.#running === beat) this.#running = null
    if (error !== null && !this.#isFailing)
      this.#ctx.log.warn(
        { err: error, lease: this.#id },
        'failed to renew the lease; starting no delivery until it is renewed',
      )
    this.#isFailing = error !== null
  }

  async #renew(isRetry = false): Promise<void> {
    const [lease, began, connections] = [this.#id, performance.now(), this.#ctx.db.connectionChanges()]
    const seconds = this.#ctx.config.leaseSeconds
    const { isRenewed, isCompared } = await this.#fence.beat({ id: lease, seconds })
    if (this.#id !== lease || this.#isEnded) return
    if (!isRenewed) {
      await this.#replace()
      return isRetry ? undefined : this.#renew(true)
    }
    this.#renewedAt = Math.max(this.#renewedAt, began)
    if (!isCompared) return
    await this.#reportReplacement()
    this.#isConfirmed = true
    this.#compared = { at: began, connections }
  }

  /** The row is gone: the lease expired, or the database was an older one. */
  async #replace(): Promise<void> {
    const lost = this.#id
    this.#isConfirmed = false
    this.#replacements.count++
    this.#id = await register(this.#ctx, this.#journal)
    this.#ctx.log.warn(
      { lost, lease: this.#id },
      'the lease was lost and its recipients are released; acquired a new lease',
    )
  }

  async #reportReplacement(): Promise<void> {
    const { count, reported } = this.#replacements
    if (reported === count) return
    await this.#onReplaced()
    this.#replacements.reported = count
  }

  async claim<T>(work: (proof: LeaseProof) => Promise<readonly T[]>): Promise<readonly T[]> {
    if (!this.#isCompared || this.#ctx.db.connectionChanges() !== this.#compared.connections) await this.beat()
    if (!this.#isCompared || !this.isHeld) throw new Error('the lease is not confirmed: a store is away')
    const lease = this.#id
    const claimed = await work({ lease, counter: this.#fence.counter })
    if (claimed.length > 0) return claimed
    // a refused claim finds nothing either
    await this.beat()
    if (this.#id !== lease || !this.isHeld) throw new Error('the lease was lost during the claim')
    return claimed
  }

  /** Not long ago. Before that, other processes may have sent what an older database would list as waiting. */
  get #isCompared(): boolean {
    return performance.now() - this.#compared.at < COMPARED_BEATS * this.#intervalMs
  }
}

async function register(ctx: Context, journal: string | null): Promise<number> {
  const { rows } = await ctx.db.query<{ id: number }>(
    sql`
      INSERT INTO leases (machine, pid, expires_at, journal, node, host, version)
      VALUES ($1, $2, now() + $3 * interval '1 second', $4, $5, $6, $7)
      RETURNING id
    `,
    [machineId(), process.pid, ctx.config.leaseSeconds, journal, ctx.config.nodeName, hostId(), softwareVersion()],
  )
  const id = rows[0]?.id
  if (id === undefined) throw new Error('PostgreSQL returned no lease')
  return id
}
