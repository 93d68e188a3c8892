/**
 * What the ready queue sends to Redis. The scripts themselves are tested on a real Redis (ready-queue.redis.test.ts).
 */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { READY_CHANNEL, READY_OTHERS_CHANNEL, SITES_KEY, memberOf } from '#src/queue/keys.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { Redis } from '#src/stores/redis.ts'
import { createReadyQueue, type ReadyEntry } from './ready-queue.ts'

type Command = readonly (string | number)[]

/** A Redis that records commands. `counts`: the sizes of ready sets; `failure`: the error of a pipelined command. */
function recordingRedis({ counts = 0, failure = null as Error | null } = {}): { redis: Redis; sent: Command[] } {
  const sent: Command[] = []
  const record =
    <T>(name: string, reply: T) =>
    (...args: (string | number)[]): T => {
      sent.push([name, ...args])
      return reply
    }
  const pipelined = {
    zadd: (...args: (string | number)[]) => record('zadd', pipelined)(...args),
    publish: (...args: (string | number)[]) => record('publish', pipelined)(...args),
    exec: () => Promise.resolve([[failure, null]]),
  }
  const redis = {
    pipeline: () => pipelined,
    zadd: record('zadd', Promise.resolve(1)),
    zrem: record('zrem', Promise.resolve(1)),
    zcard: record('zcard', Promise.resolve(counts)),
    addReady: record('addReady', Promise.resolve(null)),
    requeueReady: record('requeueReady', Promise.resolve(null)),
    claimReady: record('claimReady', Promise.resolve([['i'], [], ['n1', 'n2'], []])),
  }
  return { redis: redis as unknown as Redis, sent }
}

const entry = (tier: Tier = 'bulk', workspaceId = newId()): ReadyEntry => ({
  member: memberOf({ messageId: newId(), n: 0, workspaceId, domain: 'a.example' }),
  tier,
})
const named = (sent: readonly Command[], name: string): Command[] => sent.filter(([first]) => first === name)

describe('ready queue', () => {
  it('returns claimed recipients with their tier', async () => {
    const { redis } = recordingRedis()
    const claimed = await createReadyQueue(redis).claim('site', { instant: 1, others: 2 })
    assert.deepEqual(
      claimed.map(({ member, tier }) => `${tier} ${member}`),
      ['instant i', 'normal n1', 'normal n2'],
    )
  })
  it('groups the recipients of a site by tier and workspace', async () => {
    const { redis, sent } = recordingRedis()
    const [one, other] = ['1'.repeat(12), '2'.repeat(12)]
    const entries = [entry('bulk', one), entry('bulk', other), entry('instant', one), entry('bulk', one)]
    await createReadyQueue(redis).addReady(new Map([['site', entries]]))
    const members = entries.map(({ member }) => member)
    assert.deepEqual(
      named(sent, 'addReady').map((command) => command.slice(3)),
      [
        [one, 1, members[2]],
        [one, 2, members[0], members[3], other, 1, members[1]],
      ],
    )
  })
  it('adds at most 1,000 recipients in one call, because a Lua script has a small stack', async () => {
    const { redis, sent } = recordingRedis()
    const workspaceId = '1'.repeat(12)
    const entries = Array.from({ length: 2500 }, () => entry('bulk', workspaceId))
    await createReadyQueue(redis).addReady(new Map([['site', entries]]))
    assert.deepEqual(
      named(sent, 'addReady').map(([, , , , count]) => count),
      [1000, 1000, 500],
    )
  })
  it('lists each site and notifies the other processes once, by whether instant mail is ready', async () => {
    const { redis, sent } = recordingRedis()
    await createReadyQueue(redis).addReady(
      new Map([
        ['one', [entry(), entry('high')]],
        ['two', [entry(), entry('instant')]],
      ]),
    )
    assert.deepEqual(
      named(sent, 'zadd').map(([, key, , site]) => [key, site]),
      [
        [SITES_KEY, 'one'],
        [SITES_KEY, 'two'],
      ],
    )
    assert.deepEqual(named(sent, 'publish'), [
      ['publish', READY_OTHERS_CHANNEL, 'one'],
      ['publish', READY_CHANNEL, 'two'],
    ])
  })
  it('rejects when Redis could not list the site', async () => {
    const { redis } = recordingRedis({ failure: new Error('READONLY') })
    const adding = createReadyQueue(redis).addReady(new Map([['site', [entry()]]]))
    assert.strictEqual(await adding.catch((error: Error) => error.message), 'READONLY')
  })
  it('requeues recipients without a notification', async () => {
    const { redis, sent } = recordingRedis()
    await createReadyQueue(redis).requeue('site', [entry('high'), entry('high'), entry('bulk')])
    assert.deepEqual(
      named(sent, 'requeueReady').map((command) => command.length - 3),
      [2, 1],
    )
    assert.strictEqual(named(sent, 'publish').length, 0)
  })
  for (const [what, counts, isListed] of [
    ['drops an empty site', 0, false],
    ['keeps a site in the list that filled while it was dropped', 1, true],
  ] as const)
    it(what, async () => {
      const { redis, sent } = recordingRedis({ counts })
      await createReadyQueue(redis).dropSite('site')
      assert.deepEqual([named(sent, 'zrem').length, named(sent, 'zadd').length > 0], [1, isListed])
    })
})
