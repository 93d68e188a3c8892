/**
 * Batches the items of many callers (group commit): items that are added while a batch runs share the next batch.
 * At most `concurrency` batches run at the same time, each of at most `max` items; `weightOf` counts a large item as
 * several. When no batch runs, an item starts immediately, so an idle system adds no delay. Under load, `lingerMs` is
 * the minimum time between two starts: batches become larger. `minBatch` defines load. Nothing lingers that has no
 * more to wait for: a full batch, one with an urgent item, and one that all who could add to it wait for. Items of a
 * batch keep their order of arrival. A batch that fails rejects all of its items; the caller decides whether to retry.
 */
export interface Batcher<I, O> {
  /** Resolves with this item's result. */
  add(item: I): Promise<O>
  readonly waiting: number
  /** Resolves when all items that were added so far are done. */
  drain(): Promise<void>
}

interface QueuedItem<I, O> {
  readonly item: I
  readonly resolve: (result: O) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<I> {
  readonly max: number
  readonly concurrency: number
  readonly lingerMs?: number
  /** Lingers only after a batch of at least this size, so that a single caller in a loop is not delayed. */
  readonly minBatch?: number
  /**
   * A batch that need not linger starts when the steps that are ready now have run (a microtask), instead of at the end
   * of the event loop's turn. A busy turn takes 10 ms; batches are smaller.
   */
  readonly startsBeforeTurnEnds?: boolean
  /** Whether the batch of this item must not linger. */
  readonly isUrgent?: (item: I) => boolean
  /** How many items all callers together have in progress at most, now: with so many, a batch does not linger. */
  readonly expected?: () => number
  /** How many items this one counts as, at least 1. A batch of one item is always allowed. */
  readonly weightOf?: (item: I) => number
}

/** `runItems` returns one result for each item, in the same order. */
export function createBatcher<I, O>(runItems: (items: I[]) => Promise<O[]>, options: BatcherOptions<I>): Batcher<I, O> {
  const lingerMs = options.lingerMs ?? 0
  const minBatch = options.minBatch ?? 1
  let startedAt = -Infinity
  let lastBatchSize = 0
  let queue: QueuedItem<I, O>[] = []
  let running = 0
  let itemsRunning = 0
  const trigger = createTrigger(start, options.startsBeforeTurnEnds === true ? queueMicrotask : setImmediate)
  let drained: (() => void)[] = []

  function schedule(): void {
    if (running >= options.concurrency || queue.length === 0) return
    const mayLinger = lastBatchSize >= minBatch && mayGrow(queue, itemsRunning, options)
    trigger(mayLinger ? startedAt + lingerMs - performance.now() : 0)
  }

  function start(): void {
    startedAt = performance.now()
    while (running < options.concurrency && queue.length > 0) void runBatch(takeBatch())
  }

  function takeBatch(): QueuedItem<I, O>[] {
    const count = countFitting(queue, options)
    const batch = queue.slice(0, count)
    queue = queue.slice(count)
    lastBatchSize = batch.length
    return batch
  }

  async function runBatch(batch: QueuedItem<I, O>[]): Promise<void> {
    running++
    itemsRunning += batch.length
    try {
      const results = await resultsOf(runItems, batch)
      for (const [i, entry] of batch.entries()) entry.resolve(results[i] as O)
    } catch (error) {
      for (const entry of batch) entry.reject(error)
    } finally {
      running--
      itemsRunning -= batch.length
      schedule()
      if (running === 0 && queue.length === 0) {
        for (const resolve of drained) resolve()
        drained = []
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
      running === 0 && queue.length === 0 ? Promise.resolve() : new Promise((resolve) => drained.push(resolve)),
  }
}

/** Calls `start` once: after a wait, or without one by `defer`, so that items that are added now share a batch. */
function createTrigger(start: () => void, defer: (run: () => void) => void): (waitMs: number) => void {
  let isDue = false
  let timer: NodeJS.Timeout | undefined
  const run = (): void => {
    clearTimeout(timer)
    timer = undefined
    isDue = false
    start()
  }
  return (waitMs) => {
    if (waitMs > 0) timer ??= setTimeout(run, waitMs)
    else if (!isDue) {
      isDue = true
      defer(run)
    }
  }
}

/** Whether more items may arrive for the next batch, and none of those that wait for it is urgent. */
function mayGrow<I>(
  queue: readonly { readonly item: I }[],
  itemsRunning: number,
  { max, isUrgent, expected }: BatcherOptions<I>,
): boolean {
  if (queue.length >= max) return false
  if (isUrgent !== undefined && queue.some(({ item }) => isUrgent(item))) return false
  return expected === undefined || queue.length + itemsRunning < expected()
}

/** @throws if there is not one result for each item. */
async function resultsOf<I, O>(
  runItems: (items: I[]) => Promise<O[]>,
  batch: readonly QueuedItem<I, O>[],
): Promise<O[]> {
  const results = await runItems(batch.map((entry) => entry.item))
  if (results.length === batch.length) return results
  throw new Error(`a batch of ${batch.length} items returned ${results.length} results`)
}

/** The number of items at the front of the queue that fit into one batch, at least one. */
function countFitting<I>(queue: readonly { readonly item: I }[], { max, weightOf }: BatcherOptions<I>): number {
  if (weightOf === undefined) return max
  let left = max
  const tooMany = queue.findIndex(({ item }, index) => (left -= weightOf(item)) < 0 && index > 0)
  return tooMany < 0 ? queue.length : tooMany
}
