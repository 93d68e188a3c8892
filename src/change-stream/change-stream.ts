/**
 * The stream of changes of one process: one loop reads the changes for all clients, woken by PostgreSQL (changes of
 * objects) and Redis (events), which the process hears on one connection each, however many clients it has. Without
 * clients it reads nothing.
 *
 * A notification only says when to read. What is read are stored changes after a position, so a lost notification, a
 * silent Redis or a writer that dies after its commit delay changes by FALLBACK_MS at most. PostgreSQL away: clients
 * stay connected and get what happened meanwhile when it is back; after a failover, or too long, they get `reset` and
 * read everything again. The process dies: its clients connect to another one and continue from their last event.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { listenForNotifications, type NotificationListener } from '#src/auth/notification-listener.ts'
import { createWakeSignal } from '#src/concurrency/wake-signal.ts'
import type { Context } from '#src/context.ts'
import type { EventWatch } from '#src/events/feed-watch.ts'
import { createAccessChecks, type StreamAccess } from './access-checks.ts'
import { readChanges, SERVICE, type ChangeRead, type TopicChanges } from './change-reader.ts'
import { ClientRegistry, HEARTBEAT_TICK_MS } from './client-registry.ts'
import { readPosition, writePosition, type ChangePosition } from './position.ts'
import { SAMPLED_TOPICS, selectChanged } from './samples.ts'
import { StreamClient } from './stream-client.ts'
import { createStreamSlots, type StreamLimits } from './stream-limits.ts'
import { changeFrames, frameOf, retryFrame } from './stream-frames.ts'
import type { ChangeTopic } from './topics.ts'

const CHANNEL = 'mailstead_changes'
/** Two reads are at least this far apart: what changes meanwhile is one event of each topic. */
const SPACING_MS = 100
/** A read that no notification asked for. */
const FALLBACK_MS = 5000
const FALLBACK_WITHOUT_REDIS_MS = 1000
const RETRY_MS = 500
/** A client may continue from a position of this age. `changes` are stored for longer (worker/housekeeping.ts). */
const RESUME_WINDOW_MS = 10 * 60_000
const SAMPLE_MS = 1000
/** Between two samples of a topic, whatever they cost. */
const MAX_REST_MS = 30_000
const ACCESS_CHECK_MS = 1000
/** A client connects again after this time, so that clients spread over the processes. */
const MIN_LIFE_MS = 30 * 60_000
const LIFE_SPREAD_MS = 30 * 60_000
const MIN_RETRY_MS = 1000
const RETRY_SPREAD_MS = 2000

export interface StreamRequest {
  readonly workspaceId: string
  readonly topics: ReadonlySet<ChangeTopic>
  /** Last-Event-ID; null for a client that has read everything just now, or is about to. */
  readonly lastId: string | null
  /** The client's IP address. */
  readonly address: string
  readonly access: StreamAccess
}

export interface ChangeStream {
  /**
   * A client, which its connection is attached to or which is destroyed; or the limit that is reached.
   * @throws while PostgreSQL is unavailable.
   */
  open(request: StreamRequest): Promise<StreamClient | keyof StreamLimits>
  /** Ends all streams, now and in the future. */
  stop(): Promise<void>
}

type StreamContext = Pick<Context, 'config' | 'db' | 'redis' | 'log'>

export function createChangeStream(ctx: StreamContext, watch: EventWatch, slots = createStreamSlots()): ChangeStream {
  const hub = new StreamHub(ctx, watch)
  return {
    open: async (request) => {
      const { workspaceId, address, access } = request
      const release = slots.acquire({ workspaceId, address, holder: access.holder })
      if (typeof release === 'string') return release
      try {
        return await hub.open(request, release)
      } catch (error) {
        release()
        throw error
      }
    },
    stop: () => hub.stop(),
  }
}

class StreamHub {
  readonly #ctx: StreamContext
  readonly #watch: EventWatch
  readonly #registry = new ClientRegistry()
  readonly #signal = createWakeSignal(SPACING_MS)
  readonly #checks = createAccessChecks(this.#registry)
  readonly #samples = new Map<ChangeTopic, Map<string, string>>()
  /** By topic, when its next sample may be read. */
  readonly #sampleAt = new Map<string, number>()
  /** Workspaces with new events; null: all may have some. */
  #dirty: Set<string> | null = new Set()
  /** Up to where changes of objects are read. Null while nobody reads. */
  #position: Promise<ChangePosition> | null = null
  #listener: NotificationListener | null = null
  #timers: NodeJS.Timeout[] = []
  #isReading = false
  #isStopped = false

  constructor(ctx: StreamContext, watch: EventWatch) {
    this.#ctx = ctx
    this.#watch = watch
    watch.follow((ids) => this.#onEvents(ids))
  }

  async open({ workspaceId, topics, lastId, access }: StreamRequest, release: () => void): Promise<StreamClient> {
    const now = await this.#begin()
    const endsAt = performance.now() + MIN_LIFE_MS + Math.random() * LIFE_SPREAD_MS
    const onClose = (): void => {
      this.#remove(client)
      release()
    }
    const client = new StreamClient({ workspaceId, topics, credential: access.credential, endsAt, onClose })
    const workspace = this.#registry.add(client, now)
    this.#checks.add(access)
    if (!this.#isReading) void this.#run(now)
    if (this.#isStopped) client.end(retryFrame(MIN_RETRY_MS))
    else await this.#greet(client, lastId, workspace.since)
    return client
  }

  /** What a client missed, or that it must read everything; then what happened since it joined. */
  async #greet(client: StreamClient, lastId: string | null, now: ChangePosition): Promise<void> {
    const retry = retryFrame(MIN_RETRY_MS + Math.round(Math.random() * RETRY_SPREAD_MS))
    const id = writePosition(now)
    const topics = [...client.topics]
    const missed = lastId === null ? null : await this.#readMissed(client, lastId, now)
    const isReset = typeof missed === 'string'
    const ready = frameOf('ready', { topics, resumed: Array.isArray(missed) }, isReset ? null : id)
    const rest = isReset ? frameOf('reset', { reason: missed }, id) : changeFrames(missed ?? [], id)
    client.begin(retry + ready + rest)
  }

  /** The changes since an event, or why they are unknown. A store that is away must not end the stream. */
  async #readMissed(client: StreamClient, lastId: string, now: ChangePosition): Promise<TopicChanges[] | string> {
    const since = readPosition(lastId)
    if (since === null || since.history !== now.history) return 'unknown position'
    if (now.atMs - since.atMs > RESUME_WINDOW_MS) return 'too old'
    const { workspaceId: id, topics } = client
    const query = { since, only: id, workspaces: id === SERVICE ? [] : [{ id, since }] }
    const read = await readChanges(this.#ctx.db, query).catch(() => null)
    return read?.changes.filter(({ topic }) => topics.has(topic)) ?? 'unavailable'
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { clients } of this.#registry.workspaces.values())
      for (const client of clients) client.end(retryFrame(MIN_RETRY_MS + Math.round(Math.random() * RETRY_SPREAD_MS)))
    this.#signal.wake(true)
    for (const timer of this.#timers) clearInterval(timer)
    await this.#listener?.stop()
  }

  /** Starts to read with the first client. Later ones join at the position of the last read. */
  #begin(): Promise<ChangePosition> {
    if (this.#position !== null) return this.#position
    this.#startTimers()
    const first = readChanges(this.#ctx.db, { since: null, only: null, workspaces: [] })
    this.#position = first.then(({ position }) => position)
    this.#position.catch(() => (this.#position = null))
    return this.#position
  }

  #startTimers(): void {
    if (this.#timers.length > 0 || this.#isStopped) return
    const { databaseUrl } = this.#ctx.config
    if (databaseUrl !== null)
      this.#listener = listenForNotifications({
        url: databaseUrl,
        channel: CHANNEL,
        log: this.#ctx.log,
        onChange: () => this.#signal.wake(),
      })
    this.#timers = [
      setInterval(() => this.#registry.beat(), HEARTBEAT_TICK_MS).unref(),
      setInterval(() => this.#checks.run(), ACCESS_CHECK_MS).unref(),
      setInterval(() => void this.#sample(), SAMPLE_MS).unref(),
    ]
  }

  #remove(client: StreamClient): void {
    this.#registry.remove(client)
    if (this.#registry.isEmpty) this.#signal.wake(true)
  }

  #onEvents(ids: readonly string[] | null): void {
    if (ids === null) this.#dirty = null
    else for (const id of ids) if (this.#registry.workspaces.has(id)) this.#dirty?.add(id)
    if (this.#dirty === null || this.#dirty.size > 0) this.#signal.wake()
  }

  /** Reads until the last client has left. */
  async #run(first: ChangePosition): Promise<void> {
    this.#isReading = true
    let position = first
    let fullAt = performance.now()
    while (!this.#isStopped && !this.#registry.isEmpty) {
      const everyMs = this.#watch.isDisconnected ? FALLBACK_WITHOUT_REDIS_MS : FALLBACK_MS
      await this.#signal.wait(Math.max(0, fullAt + everyMs - performance.now()))
      if (performance.now() >= fullAt + everyMs) this.#dirty = null
      if (this.#dirty === null) fullAt = performance.now()
      const next = await this.#readNew(position).catch((error: unknown) => {
        this.#ctx.log.debug({ err: error }, 'failed to read changes for open streams; they are read again')
        return null
      })
      if (next === null) await sleep(RETRY_MS, undefined, { ref: false })
      else this.#position = Promise.resolve((position = next))
    }
    this.#position = null
    this.#isReading = false
  }

  /** @throws while PostgreSQL is unavailable; then the same changes are read again. */
  async #readNew(position: ChangePosition): Promise<ChangePosition> {
    const dirty = this.#dirty
    this.#dirty = new Set()
    const { workspaces } = this.#registry
    const ids = dirty === null ? [...workspaces.keys()] : [...dirty]
    const read = ids.flatMap((id) => {
      const since = workspaces.get(id)?.since
      return since === undefined || id === SERVICE ? [] : [{ id, since }]
    })
    let found: ChangeRead
    try {
      found = await readChanges(this.#ctx.db, { since: position, only: null, workspaces: read })
    } catch (error) {
      this.#dirty = null
      throw error
    }
    this.#deliver(found, position, dirty === null ? [...ids, SERVICE] : ids)
    return found.position
  }

  /** `readIds`: the workspaces that know everything up to the new position. */
  #deliver({ position, changes }: ChangeRead, before: ChangePosition, readIds: readonly string[]): void {
    if (position.history !== before.history) return this.#registry.reset('the database changed', position)
    if (position.atMs - before.atMs > RESUME_WINDOW_MS) return this.#registry.reset('too old', position)
    for (const id of readIds) {
      const workspace = this.#registry.workspaces.get(id)
      if (workspace !== undefined) workspace.since = position
    }
    this.#registry.publish(changes)
  }

  async #sample(): Promise<void> {
    for (const [name, topic] of Object.entries(SAMPLED_TOPICS)) {
      const ids = this.#registry.withTopic(name as ChangeTopic)
      const known = this.#samples.get(name as ChangeTopic) ?? new Map<string, string>()
      this.#samples.set(name as ChangeTopic, known)
      if (ids.length === 0) known.clear()
      else if (performance.now() >= (this.#sampleAt.get(name) ?? 0)) {
        const startedAt = performance.now()
        // so that no second one begins meanwhile
        this.#sampleAt.set(name, Infinity)
        await topic.read(this.#ctx, ids).then((read) => this.#registry.publish(selectChanged(read, known)), ignore)
        const restMs = Math.min(MAX_REST_MS, (performance.now() - startedAt) * (topic.rest ?? 0))
        this.#sampleAt.set(name, performance.now() + restMs)
      }
    }
  }
}

/** A store that is away is read again a second later. */
function ignore(): void {
  // nothing to do
}
