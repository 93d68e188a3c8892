/**
 * Who may send now. Each endpoint has a lane: its deliveries start in the order they came, as many at once as its window says. The window
 * grows while answers are quick and good and is halved when they are not, so a dead endpoint soon holds one slot and a fast one many.
 *
 * A lane may never hold more slots than are still free for others: one hog gets at most half of all, two a third each, and a newcomer
 * always finds a place. Nothing here waits or fails; what a job does, and how long it may, is the caller's business.
 */

/** How a job went, for the window of its lane: `slow` leaves it as it is. */
export type Pace = 'quick' | 'slow' | 'bad'

export interface Bounds {
  readonly slots: number
  readonly firstWindow: number
  readonly maxWindow: number
}

interface Lane<J> {
  readonly waiting: J[]
  running: number
  window: number
  usedAt: number
}

export interface LaneWork<J> {
  /** Must not reject. */
  readonly run: (job: J) => Promise<Pace>
  /** A lane has little left to start. */
  readonly onHungry: (lane: string) => void
}

/** How much the caller can take. */
export interface Room {
  readonly total: number
  /** Of lanes not named below. */
  readonly each: number
  readonly lanes: ReadonlyMap<string, number>
}

// Lanes at rest are forgotten after this; what their window had learned is old by then.
const REST_MS = 600_000

export class Lanes<J> {
  readonly #bounds: Bounds
  readonly #work: LaneWork<J>
  readonly #lanes = new Map<string, Lane<J>>()
  /** Names of lanes with waiting jobs; who has started one goes to the end. */
  readonly #queue = new Set<string>()
  #running = 0
  #waiting = 0
  #idle: (() => void)[] = []

  constructor(bounds: Bounds, work: LaneWork<J>) {
    this.#bounds = bounds
    this.#work = work
  }

  /** Jobs that run or wait. */
  get held(): number {
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
  rooms(): Map<string, number> {
    const now = performance.now()
    for (const [name, lane] of this.#lanes)
      if (lane.running === 0 && lane.waiting.length === 0 && now - lane.usedAt > REST_MS) this.#lanes.delete(name)
    return new Map(
      [...this.#lanes].map(([name, lane]) => [name, Math.max(0, 2 * lane.window - lane.running - lane.waiting.length)]),
    )
  }

  /** Takes out all that wait; what runs goes on. */
  clear(): J[] {
    this.#queue.clear()
    this.#waiting = 0
    return [...this.#lanes.values()].flatMap((lane) => lane.waiting.splice(0))
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #laneOf(name: string): Lane<J> {
    const lane = this.#lanes.get(name) ?? { waiting: [], running: 0, window: this.#bounds.firstWindow, usedAt: 0 }
    lane.usedAt = performance.now()
    this.#lanes.set(name, lane)
    return lane
  }

  #startAll(): void {
    for (const name of this.#queue) {
      const lane = this.#laneOf(name)
      if (lane.running >= Math.min(lane.window, this.#bounds.slots - this.#running)) continue
      const job = lane.waiting.shift()
      this.#queue.delete(name)
      if (lane.waiting.length > 0) this.#queue.add(name) // this very loop comes to it again, after the others
      if (job !== undefined) void this.#start(name, lane, job)
    }
  }

  async #start(name: string, lane: Lane<J>, job: J): Promise<void> {
    this.#waiting--
    this.#running++
    lane.running++
    const pace = await this.#work.run(job)
    this.#running--
    lane.running--
    lane.window = adjusted(lane.window, pace, this.#bounds.maxWindow)
    this.#startAll()
    if (lane.waiting.length < lane.window / 2) this.#work.onHungry(name)
    if (this.#running > 0) return
    for (const resolve of this.#idle) resolve()
    this.#idle = []
  }
}

/** Lanes that got all they had room for, or had none: they may have more. */
export function fullLanes(room: Room, taken: readonly { readonly lane: string; readonly room: number }[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { lane } of taken) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  return new Set([
    ...[...room.lanes].filter(([, most]) => most === 0).map(([lane]) => lane),
    ...taken.filter((one) => counts.get(one.lane) === one.room).map(({ lane }) => lane),
  ])
}

function adjusted(window: number, pace: Pace, max: number): number {
  if (pace === 'quick') return Math.min(max, window + 1)
  return pace === 'bad' ? Math.max(1, Math.floor(window / 2)) : window
}
