/**
 * Who may send now. Each endpoint has a lane: its deliveries start in the order they came, as many at once as its window says. The window
 * grows while answers are quick and good and is halved when they are not, so a dead endpoint soon holds one slot and a fast one many.
 *
 * A lane may never hold more slots than are still free for others: one hog gets at most half of all, two a third each, and a newcomer
 * always finds a place. Nothing here waits or fails; what a job does, and how long it may, is the caller's business.
 */

/** How a job went, for the window of its lane: `slow` leaves it as it is. */
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
  /** A lane has little left to start. */
  readonly onLow: (lane: string) => void
}

/** How much the caller can take. */
export interface QueueCapacity {
  readonly total: number
  /** Of lanes not named below. */
  readonly defaultPerEndpoint: number
  readonly byEndpoint: ReadonlyMap<string, number>
}

// Lanes at rest are forgotten after this; what their window had learned is old by then.
const FORGET_AFTER_MS = 600_000

export class EndpointQueues<J> {
  readonly #bounds: ConcurrencyLimits
  readonly #work: EndpointWork<J>
  readonly #lanes = new Map<string, EndpointQueue<J>>()
  /** Names of lanes with waiting jobs; who has started one goes to the end. */
  readonly #queue = new Set<string>()
  #running = 0
  #waiting = 0
  #idle: (() => void)[] = []

  constructor(bounds: ConcurrencyLimits, work: EndpointWork<J>) {
    this.#bounds = bounds
    this.#work = work
  }

  /** Jobs that run or wait. */
  get size(): number {
    return this.#running + this.#waiting
  }

  /** Starts it now or when its turn comes. */
  add(name: string, job: J): void {
    this.#laneOf(name).waiting.push(job)
    this.#waiting++
    this.#queue.add(name)
    this.#startAll()
  }

  /** How many more each known lane should hold, so that it does not run dry before the next claim: twice its window in all. */
  capacities(): Map<string, number> {
    const now = performance.now()
    for (const [name, queue] of this.#lanes)
      if (queue.running === 0 && queue.waiting.length === 0 && now - queue.usedAt > FORGET_AFTER_MS) this.#lanes.delete(name)
    return new Map(
      [...this.#lanes].map(([name, queue]) => [name, Math.max(0, 2 * queue.window - queue.running - queue.waiting.length)]),
    )
  }

  /** Takes out all that wait; what runs goes on. */
  clear(): J[] {
    this.#queue.clear()
    this.#waiting = 0
    return [...this.#lanes.values()].flatMap((queue) => queue.waiting.splice(0))
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #laneOf(name: string): EndpointQueue<J> {
    const queue = this.#lanes.get(name) ?? { waiting: [], running: 0, window: this.#bounds.firstWindow, usedAt: 0 }
    queue.usedAt = performance.now()
    this.#lanes.set(name, queue)
    return queue
  }

  #startAll(): void {
    for (const name of this.#queue) {
      const queue = this.#laneOf(name)
      if (queue.running >= Math.min(queue.window, this.#bounds.slots - this.#running)) continue
      const job = queue.waiting.shift()
      this.#queue.delete(name)
      if (queue.waiting.length > 0) this.#queue.add(name) // this very loop comes to it again, after the others
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

/** Lanes that got all they had room for, or had none: they may have more. */
export function saturatedEndpoints(capacity: QueueCapacity, claimed: readonly { readonly lane: string; readonly room: number }[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { lane } of claimed) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  return new Set([
    ...[...capacity.byEndpoint].filter(([, most]) => most === 0).map(([lane]) => lane),
    ...claimed.filter((one) => counts.get(one.lane) === one.room).map(({ lane }) => lane),
  ])
}

function adjustedWindow(window: number, speed: ResponseSpeed, max: number): number {
  if (speed === 'quick') return Math.min(max, window + 1)
  return speed === 'bad' ? Math.max(1, Math.floor(window / 2)) : window
}
