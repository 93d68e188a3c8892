/**
 * Which pools only some of the running outbound processes can send for. Mail of such a pool is made ready in a set of
 * its own (`groupSite` in src/queue/keys.ts), and only processes with a source of the pool claim from it. Everywhere
 * else, which is the usual case, there are no groups and nothing is looked up.
 *
 * The sources of the other processes come with the report of this one, every 2 s. While they are unknown or out of
 * date, a process may claim mail that it cannot send, and releases it. A process that dies counts for 15 s; if no other
 * one has a source of the pool then, every process may claim its mail, and postpones it with that reason. So no mail
 * waits for a process that does not exist, and none is older than its time. Pure bookkeeping.
 */

export interface EgressGroups {
  /** False: every process can send all mail that any process can send. */
  readonly isSplit: boolean
  /** The group of a pool; null: mail of the pool may be claimed by every process. */
  groupOf(pool: string): string | null
  /** Whether this process may claim mail of a group. A group that does not exist any more is everyone's. */
  mayClaim(group: string): boolean
  /** Names of the sources of each other running outbound process. */
  setOthers(others: readonly (readonly string[])[]): void
}

export interface GroupedSources {
  /** The sources of each pool that has any. */
  readonly pools: ReadonlyMap<string, readonly { readonly source: string }[]>
  /** The pool whose sources a pool without sources uses. */
  readonly defaultPool: string
  /** Names of the sources of this process. */
  readonly usable: readonly string[]
}

export function createEgressGroups(read: () => GroupedSources): EgressGroups {
  let others: readonly ReadonlySet<string>[] = []
  /** By pool: whether this process has a source of it. */
  let groups: ReadonlyMap<string, boolean> = new Map()
  let [defaultPool, known] = ['', new Set<string>()]
  const update = (): void => {
    const { pools, usable, ...rest } = read()
    defaultPool = rest.defaultPool
    known = new Set(pools.keys())
    const own = new Set(usable)
    groups = new Map(
      [...pools].flatMap(([pool, members]) => {
        const having = [own, ...others].map((sources) => members.some(({ source }) => sources.has(source)))
        return having.includes(true) && having.includes(false) ? [[pool, having[0] === true] as const] : []
      }),
    )
  }
  return {
    get isSplit() {
      return groups.size > 0
    },
    groupOf: (pool) => {
      const from = known.has(pool) ? pool : defaultPool
      return groups.has(from) ? from : null
    },
    mayClaim: (group) => groups.get(group) ?? true,
    setOthers: (sources) => {
      others = sources.map((names) => new Set(names))
      update()
    },
  }
}
