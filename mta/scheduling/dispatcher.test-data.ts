/** A dispatcher on a schedule in memory, which records what it makes ready, wakes and has claimed. */
import type { Route } from '#mta/route/route.ts'
import { newId } from '#src/platform/id.ts'
import type { DueEntry } from '#src/queue/due-schedule.ts'
import { memberOf } from '#src/queue/keys.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { silentContext } from '#test/support/delivery.ts'
import { Dispatcher } from './dispatcher.ts'

interface AddOptions {
  readonly count?: number
  readonly dueInMs?: number
  /** Only some processes can send it. */
  readonly group?: string
}

export interface ScheduleInMemory {
  /** Puts recipients of a domain on the schedule. */
  add(tier: Tier, domain: string, options?: AddOptions): void
  /** What was made ready, in order: tier, domain and site. */
  readonly ready: string[]
  /** How many sites each write to the ready queue had. */
  readonly writes: number[]
  /** Commands sent to Redis other than those of the ready queue. */
  readonly commands: string[]
  readonly popped: Tier[]
  /** Suspended domains and sites. */
  readonly suspended: string[]
  /** Sites that claim instant mail when it is due. */
  readonly claiming: string[]
  /** The sites that were remembered, by domain. */
  readonly sites: ReadonlyMap<string, string>
  /** Errors that the next reads of the schedule and writes to the ready queue fail with. */
  readonly failures: { popDue: number; addReady: number }
  /** Whether the process may claim. */
  readonly mayClaim: { current: boolean }
  /** The sizes of the batches whose groups were looked up. */
  readonly lookups: readonly number[]
  nowMs(ms: number): void
  start(siteOf?: (domain: string) => Promise<string>): Dispatcher
}

/** Sites of domains that share hosts; every other domain is its own site. */
const SITES: Readonly<Record<string, string>> = { 'a.example': 'shared', 'b.example': 'shared' }
export const siteOf = (domain: string): Promise<string> => Promise.resolve(SITES[domain] ?? domain)
export const UNRESOLVED = new Promise<string>(() => undefined)

export function scheduleInMemory(): ScheduleInMemory {
  const ctx = silentContext()
  const due = new Map<Tier, DueEntry[]>()
  const [ready, writes, commands, popped]: [string[], number[], string[], Tier[]] = [[], [], [], []]
  const [suspended, claiming]: [string[], string[]] = [[], []]
  const sites = new Map<string, string>()
  const failures = { popDue: 0, addReady: 0 }
  const mayClaim = { current: true }
  const command =
    (name: string) =>
    (...args: unknown[]): unknown => {
      commands.push([name, ...args].join(' '))
      return redis.pipelined
    }
  const groups = new Map<string, string>()
  const lookups: number[] = []
  const redis = {
    status: 'ready',
    del: (key: string) => Promise.resolve(commands.push(`del ${key}`)),
    pipeline: () => redis.pipelined,
    pipelined: { zadd: command('zadd'), publish: command('publish'), exec: () => Promise.resolve([]) },
  }
  const dueSchedule = {
    popDue: (tier: Tier, nowMs: number, limit: number) => {
      popped.push(tier)
      if (failures.popDue-- > 0) return Promise.reject(new Error('Redis is away'))
      const entries = (due.get(tier) ?? []).toSorted((one, other) => one.dueMs - other.dueMs)
      const end = Math.min(limit, entries.filter(({ dueMs }) => dueMs <= nowMs).length)
      due.set(tier, entries.slice(end))
      return Promise.resolve({ due: entries.slice(0, end), nextMs: entries[end]?.dueMs ?? null })
    },
  }
  const readyQueue = {
    addReady: (bySite: ReadonlyMap<string, readonly { readonly member: string; readonly tier: Tier }[]>) => {
      if (failures.addReady-- > 0) return Promise.reject(new Error('Redis is away'))
      writes.push(bySite.size)
      for (const [site, entries] of bySite)
        for (const { member, tier } of entries) ready.push(`${tier} ${member.split(':')[3]} at ${site}`)
      return Promise.resolve()
    },
  }
  return {
    add: (tier, domain, { count = 1, dueInMs = 0, group } = {}) => {
      const added = Array.from({ length: count }, () => ({
        member: memberOf({ messageId: newId(), n: 0, workspaceId: newId(), domain }),
        dueMs: ctx.nowMs + dueInMs,
      }))
      if (group !== undefined) for (const { member } of added) groups.set(member, group)
      due.set(tier, [...(due.get(tier) ?? []), ...added])
    },
    ready,
    writes,
    commands,
    popped,
    suspended,
    claiming,
    sites,
    failures,
    mayClaim,
    lookups,
    nowMs: (ms) => {
      ctx.nowMs += ms
    },
    start: (find = siteOf) =>
      new Dispatcher({ ...ctx, redis } as unknown as ConstructorParameters<typeof Dispatcher>[0], {
        dueSchedule,
        readyQueue,
        mayClaim: () => mayClaim.current,
        groups: {
          get isNeeded() {
            return groups.size > 0
          },
          find: (members) => {
            lookups.push(members.length)
            return Promise.resolve(groups)
          },
        },
        sites: { record: (domain, site) => void sites.set(domain, site) },
        router: { route: async (domain) => ({ site: await find(domain) }) as Route },
        suspensions: {
          settled: () => Promise.resolve(),
          find: (domain, site) => (suspended.includes(site ?? domain) ? 'maintenance' : undefined),
        },
        queues: {
          claimDue: (site, entries) => {
            if (!claiming.includes(site)) return false
            ready.push(...entries.map(({ tier }) => `claim ${tier} at ${site}`))
            return true
          },
          wake: (site, hasInstant) => void ready.push(`wake ${site}${hasInstant ? ' for instant mail' : ''}`),
        },
      }),
  }
}
