/**
 * Rules of the dispatcher on a schedule in memory. The Redis scripts have their own tests (ready-queue.redis.test.ts).
 */
import { assert } from 'chai'
import type { Route } from '#mta/route/route.ts'
import { newId } from '#src/platform/id.ts'
import type { DueEntry } from '#src/queue/due-schedule.ts'
import { EPOCH_KEY, suspendedSite, memberOf } from '#src/queue/keys.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { flushEventLoop, silentContext } from '#test/support/delivery.ts'
import { until } from '#test/support/until.ts'
import { Dispatcher } from './dispatcher.ts'

interface AddOptions {
  readonly count?: number
  readonly dueInMs?: number
  /** Only some processes can send it. */
  readonly group?: string
}

interface Case {
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
const siteOf = (domain: string): Promise<string> => Promise.resolve(SITES[domain] ?? domain)
const UNRESOLVED = new Promise<string>(() => undefined)

function scheduleInMemory(): Case {
  const ctx = silentContext()
  const due = new Map<Tier, DueEntry[]>()
  const [ready, writes, commands, popped]: [string[], number[], string[], Tier[]] = [[], [], [], []]
  const suspended: string[] = []
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
          wake: (site, hasInstant) => void ready.push(`wake ${site}${hasInstant ? ' for instant mail' : ''}`),
        },
      }),
  }
}

describe('dispatcher', () => {
  let schedule: Case
  let dispatcher: Dispatcher
  beforeEach(() => {
    schedule = scheduleInMemory()
  })
  afterEach(() => dispatcher.stop())

  it('makes due recipients ready at the site of their domain, and wakes the site', async () => {
    schedule.add('normal', 'c.example')
    schedule.add('normal', 'c.example', { dueInMs: 60_000 })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['normal c.example at c.example', 'wake c.example'])
  })
  it('looks up no group where every process can send all mail', async () => {
    schedule.add('normal', 'c.example', { count: 3 })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.lookups, [])
  })
  it('keeps mail that only some processes can send in a set of its own, with one lookup for a batch', async () => {
    schedule.add('normal', 'c.example', { count: 2 })
    schedule.add('normal', 'c.example', { count: 2, group: 'second' })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length === 6)
    assert.deepEqual(schedule.lookups, [4])
    assert.deepEqual(schedule.ready.toSorted(), [
      'normal c.example at c.example',
      'normal c.example at c.example',
      'normal c.example at c.example|second',
      'normal c.example at c.example|second',
      'wake c.example',
      'wake c.example|second',
    ])
  })
  it('sets suspended mail aside, whatever its group', async () => {
    schedule.suspended.push('c.example')
    schedule.add('normal', 'c.example', { group: 'second' })
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.strictEqual(schedule.ready[0], `normal c.example at ${suspendedSite('c.example')}`)
  })
  it('dispatches the highest tier first, and instant mail before the next batch of bulk mail', async () => {
    schedule.add('bulk', 'c.example', { count: 1100 })
    dispatcher = schedule.start((domain) => {
      if (domain === 'c.example' && schedule.popped.length === 4) {
        schedule.add('instant', 'code.example')
        dispatcher.wakeTier('instant')
      }
      return siteOf(domain)
    })
    await until(() => schedule.ready.filter((text) => text.startsWith('bulk')).length === 1100)
    assert.deepEqual(schedule.popped.slice(0, 7), ['instant', 'high', 'normal', 'bulk', 'instant', 'bulk', 'bulk'])
  })
  it('makes the recipients of domains that share a site ready in one write', async () => {
    schedule.add('high', 'a.example')
    schedule.add('high', 'b.example')
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.writes, [1])
    assert.deepEqual(schedule.ready, ['high a.example at shared', 'high b.example at shared', 'wake shared'])
  })
  it('sets mail of a suspended domain aside without a look-up, and mail of a suspended site after it', async () => {
    schedule.suspended.push('c.example', 'shared')
    schedule.add('normal', 'c.example')
    schedule.add('normal', 'a.example')
    const routed: string[] = []
    dispatcher = schedule.start((domain) => {
      routed.push(domain)
      return siteOf(domain)
    })
    await until(() => schedule.ready.length === 4)
    assert.deepEqual(routed, ['a.example'])
    assert.sameMembers(
      schedule.ready.filter((text) => text.startsWith('normal')),
      [`normal c.example at ${suspendedSite('c.example')}`, `normal a.example at ${suspendedSite('a.example')}`],
    )
  })
  it('a slow DNS reply delays its own domain only', async () => {
    schedule.add('normal', 'slow.example')
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start((domain) => (domain === 'slow.example' ? UNRESOLVED : siteOf(domain)))
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['normal c.example at c.example', 'wake c.example'])
  })
  it('stops reading bulk mail when 20,000 recipients wait for DNS, and still reads instant mail', async () => {
    schedule.add('bulk', 'slow.example', { count: 21_000 })
    dispatcher = schedule.start((domain) => (domain === 'slow.example' ? UNRESOLVED : siteOf(domain)))
    await until(() => schedule.popped.filter((tier) => tier === 'bulk').length === 40)
    schedule.add('instant', 'c.example')
    dispatcher.wakeTier('instant')
    await until(() => schedule.ready.length > 0)
    assert.deepEqual(schedule.ready, ['instant c.example at c.example', 'wake c.example for instant mail'])
    assert.strictEqual(schedule.popped.filter((tier) => tier === 'bulk').length, 40)
  })
  it('wakes at the next due time', async () => {
    schedule.add('normal', 'c.example', { dueInMs: 30 })
    dispatcher = schedule.start()
    await flushEventLoop()
    assert.deepEqual(schedule.ready, [])
    schedule.nowMs(30)
    await until(() => schedule.ready.length > 0)
  })
  it('reads nothing while the process must not claim', async () => {
    schedule.mayClaim.current = false
    schedule.add('instant', 'c.example')
    dispatcher = schedule.start()
    await flushEventLoop()
    assert.deepEqual(schedule.popped, [])
    schedule.mayClaim.current = true
    await until(() => schedule.ready.length > 0)
  })
  it('does not spin when Redis accepts what is scheduled and refuses what is ready', async () => {
    schedule.failures.addReady = Infinity
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.commands.some((text) => text.startsWith('zadd')))
    const before = schedule.popped.length
    // what is scheduled again wakes the dispatcher, as its message does in Redis
    for (let i = 0; i < 100; i++) {
      dispatcher.wakeTier('normal')
      await flushEventLoop(1)
    }
    assert.isAtMost(schedule.popped.length - before, 1)
  })
  it('tries again when Redis is away', async () => {
    schedule.failures.popDue = 1
    schedule.add('instant', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.ready.length > 0)
  })
  it('schedules recipients again when Redis goes away before they are ready', async () => {
    schedule.failures.addReady = 1
    schedule.add('normal', 'c.example')
    dispatcher = schedule.start()
    await until(() => schedule.commands.some((text) => text.startsWith('zadd')))
    assert.deepEqual(schedule.ready, [])
  })
  it('has the schedule filled again when it stops while recipients wait for DNS', async () => {
    schedule.add('normal', 'slow.example')
    dispatcher = schedule.start(() => UNRESOLVED)
    await until(() => schedule.popped.includes('normal'))
    await dispatcher.stop()
    assert.ok(schedule.commands.includes(`del ${EPOCH_KEY}`))
  })
  it('leaves the schedule alone when it stops and nothing waits', async () => {
    dispatcher = schedule.start()
    await flushEventLoop()
    await dispatcher.stop()
    assert.deepEqual(schedule.commands, [])
  })
})
