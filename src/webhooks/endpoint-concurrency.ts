/**
 * Limits the concurrent requests to each endpoint. Each endpoint has a queue: its deliveries start in order, up to a
 * window of concurrent requests. The window grows by one with each quick success and halves with each failure, so a
 * dead endpoint soon uses one slot and a fast one many. A queue never uses more slots than remain free: one busy
 * endpoint gets at most half of all, two a third each, and a new one always finds a free slot. Nothing here waits or
 * fails; the caller limits how long a request may take.
 */

/** Result of a request, for the window of its queue: `slow` leaves the window unchanged. */
export type ResponseSpeed = 'quick' | 'slow' | 'bad'

export interface ConcurrencyLimits {
  readonly slots: number
  readonly firstWindow: number
  readonly maxWindow: number
}

interface EndpointQueue<J> {
  readonly waiting: J[]
  running: number
  window: number
  usedAt: number
}

export interface EndpointWork<J> {
  /** Must not reject. */
  readonly run: (job: J) => Promise<ResponseSpeed>
  /** Called when a queue has few waiting jobs left. */
  readonly onLow: (endpoint: string) => void
}

/** How many jobs the caller can accept. */
export interface QueueCapacity {
  readonly total: number
  /** For endpoints not in `byEndpoint`. */
  readonly defaultPerEndpoint: number
  readonly byEndpoint: ReadonlyMap<string, number>
}

// idle queues and their windows are dropped after this time
const FORGET_AFTER_MS = 600_000

export class EndpointQueues<J> {
  readonly #bounds: ConcurrencyLimits
  readonly #work: EndpointWork<J>
  readonly #queues = new Map<string, EndpointQueue<J>>()
  /** Endpoints with waiting jobs; one that has started a job moves to the end. */
  readonly #ready = new Set<string>()
  #running = 0
  #waiting = 0
  #idle: (() => void)[] = []

  constructor(bounds: ConcurrencyLimits, work: EndpointWork<J>) {
    this.#bounds = bounds
    this.#work = work
  }

  /** Running and waiting jobs. */
  get size(): number {
    return this.#running + this.#waiting
  }

  /** Starts a job now, or later in its order. */
  add(name: string, job: J): void {
    this.#queueOf(name).waiting.push(job)
    this.#waiting++
    this.#ready.add(name)
    this.#startAll()
  }

  /** How many more jobs each known queue accepts: up to twice its window in all, so that it does not run empty. */
  capacities(): Map<string, number> {
    const now = performance.now()
    for (const [name, queue] of this.#queues)
      if (queue.running === 0 && queue.waiting.length === 0 && now - queue.usedAt > FORGET_AFTER_MS)
        this.#queues.delete(name)
    return new Map(
      [...this.#queues].map(([name, queue]) => [
        name,
        Math.max(0, 2 * queue.window - queue.running - queue.waiting.length),
      ]),
    )
  }

  /** Removes and returns all waiting jobs; running ones continue. */
  clear(): J[] {
    this.#ready.clear()
    this.#waiting = 0
    return [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0))
  }

  /** Resolves when no job is running. */
  idle(): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #queueOf(name: string): EndpointQueue<J> {
    const queue = this.#queues.get(name) ?? { waiting: [], running: 0, window: this.#bounds.firstWindow, usedAt: 0 }
    queue.usedAt = performance.now()
    this.#queues.set(name, queue)
    return queue
  }

  #startAll(): void {
    for (const name of this.#ready) {
      const queue = this.#queueOf(name)
      if (queue.running >= Math.min(queue.window, this.#bounds.slots - this.#running)) continue
      const job = queue.waiting.shift()
      this.#ready.delete(name)
      if (queue.waiting.length > 0) this.#ready.add(name) // this loop reaches it again, after the others
      if (job !== undefined) void this.#start(name, queue, job)
    }
  }

  async #start(name: string, queue: EndpointQueue<J>, job: J): Promise<void> {
    this.#waiting--
    this.#running++
    queue.running++
    const speed = await this.#work.run(job)
    this.#running--
    queue.running--
    queue.window = adjustedWindow(queue.window, speed, this.#bounds.maxWindow)
    this.#startAll()
    if (queue.waiting.length < queue.window / 2) this.#work.onLow(name)
    if (this.#running > 0) return
    for (const resolve of this.#idle) resolve()
    this.#idle = []
  }
}

/** Endpoints that filled their capacity, or had none: they may have more due rows. */
export function saturatedEndpoints(
  capacity: QueueCapacity,
  claimed: readonly { readonly endpoint: string; readonly capacity: number }[],
): Set<string> {
  const counts = new Map<string, number>()
  for (const { endpoint } of claimed) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
  return new Set([
    ...[...capacity.byEndpoint].filter(([, most]) => most === 0).map(([endpoint]) => endpoint),
    ...claimed.filter((one) => counts.get(one.endpoint) === one.capacity).map(({ endpoint }) => endpoint),
  ])
}

function adjustedWindow(window: number, speed: ResponseSpeed, max: number): number {
  if (speed === 'quick') return Math.min(max, window + 1)
  return speed === 'bad' ? Math.max(1, Math.floor(window / 2)) : window
}
