/**
 * Each source has its own throttle for a receiver, which two outbound processes share: as a receiver sees it, by
 * address.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { rankSources } from '#mta/egress/source-ranking.ts'
import { systemClock } from '#src/platform/clock.ts'
import { addSource, findSource, listSources, pauseSource, resumeSource } from '#src/egress/sources.ts'
import { idOfHex } from '#src/platform/id.ts'
import { explainMessage } from '#src/messages/explain.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { ReceiverState } from '#test/support/receiver-script.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const FILE = `receivers:
  narrow: {domains: [narrow.example, slow.example, leaving.example], connections: 2, messages_per_connection: 50}
  together: {domains: [together.example], connections: 2, messages_per_connection: 50, all_sources: true}
  wide: {domains: [wide.example], connections: 8, messages_per_connection: 50}
  strict:
    domains: [strict.example, other.example, severe.example, further.example]
    connections: 4
    messages_per_connection: 50
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
rules:
  - {name: too-many, code: 421, text: too many, action: slow}
  - {name: not-there, code: 421, text: not from there, action: suspend, for: 2h}
  - {name: listed, code: 421, text: listed, action: suspend, for: 2h, of: source}
`
const [ONE, TWO] = ['127.0.0.2', '127.0.0.3']

describe('the throttle of a receiver, by source', () => {
  const dir = mkdtempSync('/tmp/mailstead-by-source-')
  let testbed: Testbed

  before(async () => {
    writeFileSync(join(dir, 'shaping.yaml'), FILE)
    testbed = await startTestbed({ SHAPING_FILE: join(dir, 'shaping.yaml') })
    const { db } = testbed.system
    for (const [name, address] of [
      ['one', ONE],
      ['two', TWO],
    ] as const) {
      const order = {
        name,
        address,
        ehloName: `${name}.out.example`,
        region: 'us-east-1',
        pool: null,
        weight: 1,
        isWarmingUp: false,
      } as const
      assert.strictEqual((await addSource({ db, clock: systemClock }, order)).kind, 'added')
      await until(
        async () => (await findSource(db, name))?.state === 'active',
        () => `${name} is not found`,
      )
    }
    await testbed.system.roles.mta2.start()
  })
  after(async () => {
    await testbed.stop()
    rmSync(dir, { recursive: true, force: true })
  })
  printLogsOnFailure(() => testbed.system)
  afterEach(async () => {
    await testbed.system.db.query('DELETE FROM receiver_suspensions')
    await testbed.system.redis.publish('mailstead:shaping', 'x')
  })

  const sendMany = async (domain: string, count: number, tier: Tier = 'instant'): Promise<string[]> => {
    const ids: string[] = []
    for (let from = 0; from < count; from += 20)
      ids.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(20, count - from) }, (_, i) =>
            testbed.send({ to: `m${from + i}@${domain}`, tier }),
          ),
        )),
      )
    return ids
  }
  const countFrom = ({ messages }: Receiver, address: string): number =>
    messages.filter(({ peer }) => peer === address).length
  /** Those whose own order begins with this source. */
  async function ownOf(ids: readonly string[], name: string): Promise<string[]> {
    const sources = (await listSources(testbed.system.db)).map((source) => ({ ...source, weight: 1 }))
    return ids.filter((id) => rankSources(idOfHex(id.replace('em_', '')) ?? '', sources)[0]?.name === name)
  }
  /** The most that were open at once, by address and in all. */
  function watchOpen(receiver: Receiver, delayMs: number): { one: number; two: number; all: number } {
    const most = { one: 0, two: 0, all: 0 }
    const look = (): { delayMs: number } => {
      most.one = Math.max(most.one, receiver.openFrom(ONE))
      most.two = Math.max(most.two, receiver.openFrom(TWO))
      most.all = Math.max(most.all, receiver.open)
      return { delayMs }
    }
    receiver.script = { on: { mail: look, dot: look } }
    return most
  }

  it('each source has its own limit, over all processes', async () => {
    const receiver = await testbed.addReceiver('narrow.example')
    const most = watchOpen(receiver, 60)
    await sendMany('narrow.example', 80)
    await receiver.until(80)
    assert.deepEqual(most, { one: 2, two: 2, all: 4 })
  })

  it('a receiver with one limit for all sources', async () => {
    const receiver = await testbed.addReceiver('together.example')
    const most = watchOpen(receiver, 20)
    await sendMany('together.example', 40)
    await receiver.until(40)
    assert.strictEqual(most.all, 2)
    assert.ok(most.one > 0 && most.two > 0, 'both send there')
  })

  it("a receiver that slows one source down halves its pace and not the other's", async () => {
    const receiver = await testbed.addReceiver('wide.example', {
      on: { mail: ({ peer }) => (peer === ONE ? '421 4.7.0 too many connections' : undefined) },
    })
    const ids = await sendMany('wide.example', 20, 'high')
    const learned = async (): Promise<Record<string, number>> => {
      const { rows } = await testbed.system.db.query<{ source: string; connections: number }>(
        `SELECT source, connections FROM learned_limits WHERE pace LIKE 'wide/%'`,
      )
      return Object.fromEntries(rows.map(({ source, connections }) => [source, connections]))
    }
    await until(
      async () => (await learned())['one'] !== undefined,
      () => 'nothing was learned',
      30_000,
    )
    assert.ok(((await learned())['one'] ?? 8) <= 4)
    assert.strictEqual((await learned())['two'], undefined)
    receiver.script = {}
    // the limit is stored seconds after the first refusal; by then the backoff of a message may be half a minute
    await until(
      () => receiver.messages.length >= ids.length,
      () => `${receiver.messages.length} arrived`,
    )
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const own = await ownOf(ids, 'one')
    assert.strictEqual(countFrom(receiver, ONE), own.length, 'what is only slowed down waits for its own source')
  })

  it('mail of a source that a receiver suspended uses the other source, only at that receiver', async () => {
    const refuses = ({ peer }: ReceiverState): string | undefined =>
      peer === ONE ? '421 4.7.1 mail not from there' : undefined
    const [strict, other] = [
      await testbed.addReceiver('strict.example', { on: { mail: refuses } }),
      await testbed.addReceiver('other.example'),
    ]
    const ids = await sendMany('strict.example', 20)
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(countFrom(strict, TWO), 20)
    const elsewhere = await sendMany('other.example', 20)
    for (const id of elsewhere) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.ok(countFrom(other, ONE) > 0)
  })

  it('of: source suspends it everywhere; when all are suspended, mail waits with the reason', async () => {
    const all = new Set([ONE])
    const refuses = ({ peer }: ReceiverState): string | undefined =>
      all.has(peer) ? '421 4.7.1 listed by somebody' : undefined
    const receiver = await testbed.addReceiver('severe.example', { on: { mail: refuses } })
    const ids = await sendMany('severe.example', 12)
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const other = await testbed.addReceiver('further.example')
    for (const id of await sendMany('further.example', 12))
      assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(countFrom(other, ONE), 0)
    all.add(TWO)
    const [last = ''] = await sendMany('severe.example', 1)
    const { db, redis } = testbed.system
    const explained = async (): Promise<string> => {
      const details = await explainMessage(
        { db, redis, plans: {}, retryScale: 1, reconcileSeconds: 1 },
        null,
        idOfHex(last.replace('em_', '')) ?? '',
        new Date(),
      )
      const recipient = details?.recipients[0]
      return `${recipient?.heldBy ?? ''} ${recipient?.gates.find(({ gate }) => gate === 'suspension')?.rule ?? ''}`
    }
    let says = ''
    const isExplained = async (): Promise<boolean> => {
      says = await explained()
      return says === 'suspension rule listed of the shaping file'
    }
    await until(isExplained, () => `it is explained by ${says}`)
    all.clear()
    await db.query('DELETE FROM receiver_suspensions')
    await redis.publish('mailstead:shaping', 'x')
    assert.strictEqual((await testbed.settle(last)).status, 'delivered')
    assert.strictEqual(receiver.messages.length, 13)
  })

  it('a receiver that refuses connections of one source gets no more of them; the other source continues', async () => {
    const receiver = await testbed.addReceiver('refusing.example', {
      on: { greeting: ({ peer }) => (peer === ONE ? { end: 'reset' } : undefined) },
    })
    const ids = await sendMany('refusing.example', 60, 'high')
    const [own, others] = [await ownOf(ids, 'one'), await ownOf(ids, 'two')]
    for (const id of others) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.deepEqual([countFrom(receiver, ONE), countFrom(receiver, TWO)], [0, others.length])
    receiver.script = {}
    for (const id of own) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(countFrom(receiver, ONE), own.length)
  })

  it("much mail of a source that a receiver throttles does not block the other source's mail", async () => {
    const receiver = await testbed.addReceiver('slow.example', {
      on: { dot: ({ peer }) => (peer === ONE ? { delayMs: 2000 } : undefined) },
    })
    const ids = await sendMany('slow.example', 300, 'normal')
    const [own, others] = [await ownOf(ids, 'one'), await ownOf(ids, 'two')]
    await until(
      () => countFrom(receiver, TWO) === others.length,
      () => `${countFrom(receiver, TWO)} of ${others.length}`,
    )
    assert.ok(countFrom(receiver, ONE) < own.length / 2, `${countFrom(receiver, ONE)} of ${own.length}`)
    receiver.script = {}
    await receiver.until(300)
    assert.strictEqual(countFrom(receiver, ONE), own.length)
  })

  it('a source is removed while much of its mail waits: the other source sends it', async () => {
    const receiver = await testbed.addReceiver('leaving.example', {
      on: { dot: ({ peer }) => (peer === ONE ? { delayMs: 1000 } : undefined) },
    })
    const ids = await sendMany('leaving.example', 60, 'normal')
    await until(() => countFrom(receiver, ONE) > 0)
    const stores = { db: testbed.system.db, clock: systemClock }
    await pauseSource(stores, 'one')
    await receiver.until(60)
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const own = await ownOf(ids, 'one')
    assert.ok(countFrom(receiver, ONE) < own.length, `${countFrom(receiver, ONE)} of ${own.length}`)
    await resumeSource(stores.db, 'one')
  })

  it('a receiver that ends connections after a few messages defers no mail', async () => {
    const receiver = await testbed.addReceiver('few.example', {
      on: {
        mail: ({ acceptedCount }) =>
          acceptedCount >= 3 ? { reply: '421 4.7.0 enough for one connection', end: 'close' } : undefined,
      },
    })
    const ids = await sendMany('few.example', 60, 'high')
    for (const id of ids) {
      const {
        recipients: [recipient],
      } = await testbed.settle(id)
      assert.deepEqual([recipient?.state, recipient?.attempts.length], ['delivered', 1], JSON.stringify(recipient))
    }
    assert.strictEqual(receiver.messages.length, 60)
  })
})
