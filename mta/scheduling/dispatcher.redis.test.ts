import { assert } from 'chai'
import type { Route, Router } from '#mta/route/route.ts'
import { newId } from '#src/platform/id.ts'
import { dueKey, EPOCH_KEY, readyKey, memberOf } from '#src/queue/keys.ts'
import { addToSchedule, createDueSchedule } from '#src/queue/due-schedule.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { Dispatcher, type DispatcherDeps } from './dispatcher.ts'
import { createReadyQueue } from './ready-queue.ts'

const one = () => ({
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  domain: 'a.example',
  tier: 'high' as const,
  dueMs: Date.now() - 1000,
})

const routerWith = (siteOf: (domain: string) => Promise<string>): Pick<Router, 'route'> => ({
  route: async (domain) => ({ site: await siteOf(domain) }) as Route,
})
const queuesOf = ({ redis }: TestContext): Pick<DispatcherDeps, 'dueSchedule' | 'readyQueue' | 'sites' | 'groups'> => ({
  dueSchedule: createDueSchedule(redis),
  readyQueue: createReadyQueue(redis),
  sites: { record: () => undefined },
  groups: { isNeeded: false, find: () => Promise.resolve(new Map<string, string>()) },
})
const NO_SUSPENSIONS = { settled: () => Promise.resolve(), find: () => undefined }

describe('dispatcher (Redis)', () => {
  let ctx: TestContext
  let dispatcher: Dispatcher
  beforeEach(async () => {
    ctx = await createContext()
    await ctx.redis.set(EPOCH_KEY, 'filled')
  })
  afterEach(async () => {
    await dispatcher.stop()
    await ctx.close()
  })

  it('makes due recipients ready at their site, and leaves the others on the schedule', async () => {
    const [now, later] = [one(), { ...one(), dueMs: Date.now() + 60_000 }]
    await addToSchedule(ctx, [now, later])
    const ready = Promise.withResolvers<string>()
    dispatcher = new Dispatcher(ctx, {
      mayClaim: () => true,
      ...queuesOf(ctx),
      router: routerWith((domain) => Promise.resolve(`site of ${domain}`)),
      suspensions: NO_SUSPENSIONS,
      queues: { wake: ready.resolve, claimDue: () => false },
    })
    assert.strictEqual(await ready.promise, 'site of a.example')
    assert.deepEqual(await ctx.redis.zrange(readyKey('site of a.example', 'high'), '0', '-1'), [memberOf(now)])
    assert.deepEqual(await ctx.redis.zrange(dueKey('high'), '0', '-1'), [memberOf(later)])
  })

  it('a slow DNS reply delays its own domain only', async () => {
    await addToSchedule(ctx, [{ ...one(), domain: 'slow.example' }, one()])
    const ready = Promise.withResolvers<string>()
    const siteOf = (domain: string): Promise<string> =>
      domain === 'slow.example' ? new Promise(() => undefined) : Promise.resolve(domain)
    dispatcher = new Dispatcher(ctx, {
      mayClaim: () => true,
      ...queuesOf(ctx),
      router: routerWith(siteOf),
      suspensions: NO_SUSPENSIONS,
      queues: { wake: ready.resolve, claimDue: () => false },
    })
    assert.strictEqual(await ready.promise, 'a.example')
  })

  it('stop during a DNS lookup has the schedule filled again', async () => {
    await addToSchedule(ctx, [one()])
    const asked = Promise.withResolvers<undefined>()
    const siteOf = (): Promise<string> => {
      asked.resolve(undefined)
      return new Promise(() => undefined)
    }
    dispatcher = new Dispatcher(ctx, {
      mayClaim: () => true,
      ...queuesOf(ctx),
      router: routerWith(siteOf),
      suspensions: NO_SUSPENSIONS,
      queues: { wake: () => undefined, claimDue: () => false },
    })
    await asked.promise
    await dispatcher.stop()
    assert.strictEqual(await ctx.redis.get(EPOCH_KEY), null)
  })

  it('has the schedule filled again when Redis goes away before recipients are ready', async () => {
    await addToSchedule(ctx, [one()])
    const siteOf = (domain: string): Promise<string> => {
      ctx.redis.disconnect(true)
      return Promise.resolve(domain)
    }
    dispatcher = new Dispatcher(ctx, {
      mayClaim: () => true,
      ...queuesOf(ctx),
      router: routerWith(siteOf),
      suspensions: NO_SUSPENSIONS,
      queues: { wake: () => undefined, claimDue: () => false },
    })
    await until(
      async () => ctx.redis.status === 'ready' && (await ctx.redis.get(EPOCH_KEY).catch(() => 'away')) === null,
    )
  })
})
