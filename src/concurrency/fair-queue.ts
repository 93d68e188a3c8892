/**
 * Work that is done one piece at a time, owners in turn: whoever brings a hundred pieces at once waits for his own, and another owner's one
 * piece is the next but one. A piece that fails rejects alone.
 */
export interface FairQueue<Item, Result> {
  add(owner: string, item: Item): Promise<Result>
}

interface Turn<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function createFairQueue<Item, Result>(work: (item: Item) => Promise<Result>): FairQueue<Item, Result> {
  // the owner whose turn is next stands first
  const owners = new Map<string, Turn<Item, Result>[]>()
  let isWorking = false

  function takeNext(): Turn<Item, Result> | undefined {
    for (const [owner, [turn, ...rest]] of owners) {
      owners.delete(owner)
      if (rest.length > 0) owners.set(owner, rest)
      if (turn !== undefined) return turn
    }
    return undefined
  }

  async function run(): Promise<void> {
    if (isWorking) return
    isWorking = true
    for (let turn = takeNext(); turn !== undefined; turn = takeNext())
      await work(turn.item).then(turn.resolve, turn.reject)
    isWorking = false
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const turns = owners.get(owner)
        if (turns === undefined) owners.set(owner, [{ item, resolve, reject }])
        else turns.push({ item, resolve, reject })
        void run()
      }),
  }
}
