/**
 * A queue that processes a few items at a time and serves its owners in turn (round robin). An owner has at most one
 * item in process, so an owner that adds a hundred slow items neither delays the single item of another owner nor
 * occupies all places. An item that fails rejects only its own caller.
 */
export interface FairQueue<Item, Result> {
  add(owner: string, item: Item): Promise<Result>
  /** Items of the owner that wait. */
  waitingOf(owner: string): number
}

interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function createFairQueue<Item, Result>(
  work: (item: Item, owner: string) => Promise<Result>,
  concurrency = 1,
): FairQueue<Item, Result> {
  // the next owner is the first entry that is not in process
  const owners = new Map<string, QueuedItem<Item, Result>[]>()
  const inProcess = new Set<string>()

  function startNext(): boolean {
    for (const [owner, [item, ...rest]] of owners) {
      if (inProcess.has(owner)) continue
      owners.delete(owner)
      if (rest.length > 0) owners.set(owner, rest)
      if (item === undefined) continue
      inProcess.add(owner)
      void work(item.item, owner)
        .then(item.resolve, item.reject)
        .finally(() => {
          inProcess.delete(owner)
          drain()
        })
      return true
    }
    return false
  }

  function drain(): void {
    while (inProcess.size < concurrency && startNext());
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const items = owners.get(owner)
        if (items === undefined) owners.set(owner, [{ item, resolve, reject }])
        else items.push({ item, resolve, reject })
        drain()
      }),
    waitingOf: (owner) => owners.get(owner)?.length ?? 0,
  }
}
