/**
 * A queue that processes one item at a time and serves its owners in turn (round robin). An owner that adds a hundred
 * items does not delay the single item of another owner. An item that fails rejects only its own caller.
 */
export interface FairQueue<Item, Result> {
  add(owner: string, item: Item): Promise<Result>
}

interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function createFairQueue<Item, Result>(work: (item: Item) => Promise<Result>): FairQueue<Item, Result> {
  // the next owner is the first entry
  const owners = new Map<string, QueuedItem<Item, Result>[]>()
  let isWorking = false

  function shiftNext(): QueuedItem<Item, Result> | undefined {
    for (const [owner, [item, ...rest]] of owners) {
      owners.delete(owner)
      if (rest.length > 0) owners.set(owner, rest)
      if (item !== undefined) return item
    }
    return undefined
  }

  async function drain(): Promise<void> {
    if (isWorking) return
    isWorking = true
    for (let item = shiftNext(); item !== undefined; item = shiftNext())
      await work(item.item).then(item.resolve, item.reject)
    isWorking = false
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const items = owners.get(owner)
        if (items === undefined) owners.set(owner, [{ item, resolve, reject }])
        else items.push({ item, resolve, reject })
        void drain()
      }),
  }
}
