/**
 * Many callers, one statement: items that come while a batch is under way go together in the next one (group commit).
 * At most `lanes` batches run at once, each of at most `max` items; an item that is as much work as several says so by `weigh`. With nothing under way an item leaves at once, so an idle system has no delay;
 * under load `gatherMs` is the least time between two starts, where larger batches are worth more than the time; `crowd` says what load is.
 * A batch that fails rejects each of its items; what to do then is the caller's business. Order of arrival is kept within a batch.
 */
export interface Batcher<I, O> {
  /** Resolves with this item's result. */
  add(item: I): Promise<O>
  readonly waiting: number
  /** Resolves when everything added so far has been carried out. */
  drain(): Promise<void>
}

interface Entry<I, O> {
  readonly item: I
  readonly resolve: (result: O) => void
  readonly reject: (error: unknown) => void
}

export interface Bounds<I> {
  readonly max: number
  readonly lanes: number
  readonly gatherMs?: number
  /** Waits to gather only after a batch of so many: a caller that comes alone, again and again, is not held up. */
  readonly crowd?: number
  /** How many ordinary items this one counts for, at least 1; a single one always fits. */
  readonly weigh?: (item: I) => number
}

/** `work` answers one result for each item, in the same order. */
export function createBatcher<I, O>(work: (items: I[]) => Promise<O[]>, bounds: Bounds<I>): Batcher<I, O> {
  const gatherMs = bounds.gatherMs ?? 0
  const crowd = bounds.crowd ?? 1
  let startedAt = -Infinity
  let latest = 0
  let queue: Entry<I, O>[] = []
  let running = 0
  let isScheduled = false
  let idle: (() => void)[] = []

  function schedule(): void {
    if (isScheduled || running >= bounds.lanes || queue.length === 0) return
    isScheduled = true
    const isCrowded = latest >= crowd && queue.length < bounds.max
    const waitMs = isCrowded ? startedAt + gatherMs - performance.now() : 0
    if (waitMs > 0) setTimeout(start, waitMs)
    else setImmediate(start) // all that arrives in this turn of the event loop goes together
  }

  function start(): void {
    isScheduled = false
    startedAt = performance.now()
    while (running < bounds.lanes && queue.length > 0) void carryOut(take())
  }

  function take(): Entry<I, O>[] {
    const count = countFitting(queue, bounds)
    const batch = queue.slice(0, count)
    queue = queue.slice(count)
    latest = batch.length
    return batch
  }

  async function carryOut(batch: Entry<I, O>[]): Promise<void> {
    running++
    try {
      const results = await work(batch.map((entry) => entry.item))
      if (results.length !== batch.length)
        throw new Error(`a batch of ${batch.length} answered ${results.length} results`)
      for (const [i, entry] of batch.entries()) entry.resolve(results[i] as O)
    } catch (error) {
      for (const entry of batch) entry.reject(error)
    } finally {
      running--
      schedule()
      if (running === 0 && queue.length === 0) {
        for (const resolve of idle) resolve()
        idle = []
      }
    }
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject })
        schedule()
      }),
    get waiting() {
      return queue.length
    },
    drain: () =>
      running === 0 && queue.length === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve)),
  }
}

/** How many from the front make one batch; at least one. */
function countFitting<I>(queue: readonly { readonly item: I }[], { max, weigh }: Bounds<I>): number {
  if (weigh === undefined) return max
  let left = max
  const tooMany = queue.findIndex(({ item }, index) => (left -= weigh(item)) < 0 && index > 0)
  return tooMany < 0 ? queue.length : tooMany
}
