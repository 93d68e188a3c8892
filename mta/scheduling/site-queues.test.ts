import { assert } from 'chai'
import { pino } from 'pino'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Tier } from '#src/queue/tiers.ts'
import {
  attemptOf,
  claimedOf,
  entryOf,
  LEASE,
  selectedSource,
  flushEventLoop,
  silentContext,
} from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { until } from '#test/support/until.ts'
import type { ReadyEntry } from './ready-queue.ts'
import { enterSession } from './runner.test-data.ts'
import { SiteQueues, type SchedulerDeps } from './site-queues.ts'
import type { SiteDestination } from './source-selection.ts'

interface World {
  readonly queues: SiteQueues
  /** Messages whose delivery began, in order. */
  readonly begun: ClaimedRecipient[]
  readonly written: string[]
  readonly released: string[]
  ready(...claimed: readonly ClaimedRecipient[]): void
  /** Recipients are due at the site; whether it claims them itself. */
  due(...claimed: readonly ClaimedRecipient[]): boolean
  /** Ends the delivery of a message. */
  readonly end: (claimed: ClaimedRecipient) => void
}

/** One process, one site; deliveries hang until the test ends them. */
function processWith(
  share = { instant: 2, others: 8 },
  deps: Partial<SchedulerDeps> = {},
  fields: Partial<Context> = {},
): World {
  const ctx = { ...silentContext(), db: {}, ...fields } as unknown as Context
  const throttle = throttleWith({ share })
  let entries: ReadyEntry[] = []
  const known = new Map<string, ClaimedRecipient>()
  const ends = new Map<string, () => void>()
  const world: Omit<World, 'queues'> = {
    begun: [],
    written: [],
    released: [],
    ready: (...claimed) => {
      for (const one of claimed) known.set(one.messageId, one)
      entries.push(...claimed.map(entryOf))
      queues.wake(
        'site',
        claimed.some(({ tier }) => tier === 'instant'),
      )
    },
    due: (...claimed) => {
      for (const one of claimed) known.set(one.messageId, one)
      return queues.claimDue('site', claimed.map(entryOf))
    },
    end: ({ messageId }) => ends.get(messageId)?.(),
  }
  const queues: SiteQueues = new SiteQueues(ctx, {
    lease: { id: LEASE, isHeld: () => true },
    mayClaim: () => true,
    mayClaimGroup: (group) => group !== 'elsewhere',
    readyQueue: {
      claim: () => {
        const claimed = entries
        entries = []
        return Promise.resolve(claimed)
      },
      requeue: (_, back) => Promise.resolve(void entries.push(...back)),
      listSites: () => Promise.resolve([]),
      dropSite: () => Promise.resolve(),
    },
    claimRecipients: (members) => Promise.resolve(members.flatMap(({ messageId }) => known.get(messageId) ?? [])),
    sources: {
      destinationOf: () =>
        Promise.resolve({
          site: 'site',
          hosts: [],
          system: selectedSource({ throttle }),
        } as unknown as SiteDestination),
      choose: () => Promise.resolve({ selected: selectedSource({ throttle }), attempt: null }),
      throttleOf: () => throttle,
      allSuspended: () => null,
      count: () => 1,
    },
    awaitShare: () => Promise.resolve(),
    isSuspended: () => false,
    receiverSuspensions: { findForWorkspace: () => null },
    deliver: async (delivery) => {
      const { claimed } = delivery
      if (!(await enterSession(delivery))) return null
      world.begun.push(claimed)
      await new Promise<void>((resolve) => ends.set(claimed.messageId, resolve))
      return attemptOf()
    },
    handleResult: ({ claimed }) => Promise.resolve(void world.written.push(claimed.messageId)),
    isBehind: () => false,
    release: (recipients) => Promise.resolve(void world.released.push(...recipients.map(({ messageId }) => messageId))),
    ...deps,
  })
  return { ...world, queues }
}

const mails = (count: number, tier: Tier = 'bulk'): ClaimedRecipient[] =>
  Array.from({ length: count }, () => claimedOf({ tier }))

describe('scheduler', () => {
  const worlds: World[] = []
  const start = (...args: Parameters<typeof processWith>): World => {
    const world = processWith(...args)
    worlds.push(world)
    return world
  }
  afterEach(async () => {
    for (const { queues, begun, end } of worlds.splice(0)) {
      begun.forEach(end)
      await queues.stop(0)
    }
  })

  it('delivers ready recipients and writes their results', async () => {
    const world = start()
    const [mail] = mails(1) as [ClaimedRecipient]
    world.ready(mail)
    await flushEventLoop()
    world.end(mail)
    await flushEventLoop()
    assert.deepEqual(world.written, [mail.messageId])
    assert.strictEqual(world.queues.active, 0)
  })
  it('starts no more deliveries than the throttle has sessions, and the rest as sessions become free', async () => {
    const world = start({ instant: 0, others: 3 })
    world.ready(...mails(5))
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 3)
    world.begun.slice(0, 2).forEach(world.end)
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 5)
  })
  it('starts a one-time code at a site that is full of bulk mail', async () => {
    const world = start({ instant: 1, others: 2 })
    world.ready(...mails(10))
    await flushEventLoop()
    world.ready(...mails(1, 'instant'))
    await flushEventLoop()
    assert.strictEqual(world.begun.at(-1)?.tier, 'instant')
  })
  it('claims a one-time code as soon as it is due, while a claim of bulk mail of its site is under way', async () => {
    const bulk = Promise.withResolvers<void>()
    const world = start(undefined, {
      claimRecipients: async (members) => {
        const found = [...mail, code].filter(({ messageId }) => members.some((one) => one.messageId === messageId))
        if (found.includes(second)) await bulk.promise
        return found
      },
    })
    const mail = mails(2)
    const [first, second] = mail as [ClaimedRecipient, ClaimedRecipient]
    const [code] = mails(1, 'instant') as [ClaimedRecipient]
    assert.isFalse(world.due(code), 'nothing is known of the site')
    world.ready(first)
    await flushEventLoop()
    world.ready(second)
    await flushEventLoop()
    assert.isTrue(world.due(code))
    await flushEventLoop()
    assert.deepEqual(world.begun, [first, code])
    bulk.resolve()
    await flushEventLoop()
    assert.deepEqual(world.begun, [first, code, second])
  })
  it('makes a one-time code ready at its site when PostgreSQL does not claim it, and claims it later', async () => {
    const failing = { current: false }
    const [first, code] = [...mails(1), ...mails(1, 'instant')] as [ClaimedRecipient, ClaimedRecipient]
    const world = start(undefined, {
      claimRecipients: (members) =>
        failing.current
          ? Promise.reject(new Error('PostgreSQL is away'))
          : Promise.resolve([first, code].filter(({ messageId }) => members[0]?.messageId === messageId)),
    })
    world.ready(first)
    await flushEventLoop()
    failing.current = true
    assert.isTrue(world.due(code))
    await flushEventLoop()
    failing.current = false
    await until(() => world.begun.includes(code))
    assert.deepEqual(world.begun, [first, code])
  })
  it('claims nothing that is due after its stop, or without a held lease', async () => {
    const held = { current: true }
    const world = start(undefined, { lease: { id: LEASE, isHeld: () => held.current } })
    world.ready(...mails(1))
    await flushEventLoop()
    held.current = false
    assert.isFalse(world.due(...mails(1, 'instant')))
    held.current = true
    assert.isTrue(world.due(...mails(1, 'instant')))
    void world.queues.stop(0)
    assert.isFalse(world.due(...mails(1, 'instant')))
  })
  it('starts and claims nothing without a held lease', async () => {
    const world = start(undefined, { lease: { id: LEASE, isHeld: () => false } })
    world.ready(...mails(1))
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 0)
  })
  it('drops recipients claimed under a lost lease: another process may have them', async () => {
    const world = start()
    world.ready(claimedOf({ lease: LEASE - 1 }))
    await flushEventLoop()
    assert.deepEqual([world.begun.length, world.released.length], [0, 0])
  })
  it('starts nothing while too many results wait to be written', async () => {
    const world = start(undefined, { isBehind: () => true })
    world.ready(...mails(1))
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 0)
  })
  it('stop releases deliveries that have not begun, and waits for those under way', async () => {
    const world = start({ instant: 0, others: 2 })
    world.ready(...mails(30))
    await flushEventLoop()
    const stopped = world.queues.stop(5000)
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 2)
    assert.strictEqual(world.released.length, 28)
    world.begun.forEach(world.end)
    await stopped
    assert.strictEqual(world.written.length, 2)
  })
  it('a delivery that fails by an internal error writes nothing and frees its session', async () => {
    const world = start(undefined, { deliver: () => Promise.reject(new Error('bug')) })
    world.ready(...mails(3))
    await flushEventLoop()
    assert.deepEqual([world.queues.active, world.written.length, world.released.length], [0, 0, 0])
  })
  it('a result that cannot be written ends neither the process nor other deliveries', async () => {
    const world = start(undefined, { handleResult: () => Promise.reject(new Error('PostgreSQL refused it')) })
    const [first, second] = mails(2) as [ClaimedRecipient, ClaimedRecipient]
    world.ready(first)
    await flushEventLoop()
    world.end(first)
    await flushEventLoop()
    world.ready(second)
    await flushEventLoop()
    assert.strictEqual(world.begun.length, 2)
  })
  it('logs for each site when its claims fail and when they work again', async () => {
    const lines: { level: number; site: string; msg: string }[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const claim = (site: string): Promise<ReadyEntry[]> =>
      site === 'broken' ? Promise.reject(new Error('READONLY')) : Promise.resolve([])
    const readyQueue = {
      claim,
      requeue: () => Promise.resolve(),
      listSites: () => Promise.resolve([]),
      dropSite: () => Promise.resolve(),
    }
    const { queues } = start(undefined, { readyQueue }, { log })
    for (const site of ['broken', 'fine']) queues.wake(site, true)
    await flushEventLoop()
    assert.deepEqual(
      lines.map(({ level, site }) => [level, site]),
      [[40, 'broken']],
    )
  })
  it('reports the status of busy sites: sessions, waiting recipients, and full tiers', async () => {
    const world = start({ instant: 0, others: 2 })
    world.ready(...mails(4))
    await flushEventLoop()
    const [view] = world.queues.status()
    assert.deepEqual([view?.site, view?.state.sessions, view?.state.waiting], ['site', 2, 2])
    assert.deepEqual(view?.state.isFull, { instant: true, others: true })
  })
})
