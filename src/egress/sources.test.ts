/** Egress sources in PostgreSQL: which machine may report an address as gone, and which changes are announced. */
import { assert } from 'chai'
import { Client } from 'pg'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { addToPool, removeFromPool, removePool } from './pools.ts'
import {
  addSource,
  EGRESS_CHANNEL,
  findSource,
  recordAddressFound,
  recordAddressGone,
  pauseSource,
  removeSource,
  resumeSource,
  setWarmUp,
  type EgressSource,
} from './sources.ts'

const USUAL = { ehloName: 'out.example.net', region: 'us-east-1', pool: null, weight: 1, isWarmingUp: true } as const

describe('egress sources', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  async function add(name: string, address: string): Promise<EgressSource> {
    const added = await addSource(ctx, { name, address, ...USUAL })
    assert.ok(added.kind === 'added')
    return added.source
  }

  const state = async (name: string): Promise<string | undefined> => (await findSource(ctx.db, name))?.state

  it('are gone until a machine finds the address, and only that machine can report it gone', async () => {
    const { id } = await add('a', '192.0.2.1')
    assert.strictEqual(await state('a'), 'gone')
    await recordAddressFound(ctx.db, id, 'machine-1')
    assert.strictEqual(await state('a'), 'warming')
    await recordAddressGone(ctx, id, 'machine-2')
    assert.strictEqual(await state('a'), 'warming')
    await recordAddressGone(ctx, id, 'machine-1')
    assert.strictEqual(await state('a'), 'gone')
    await recordAddressFound(ctx.db, id, 'machine-2')
    assert.strictEqual((await findSource(ctx.db, 'a'))?.machine, 'machine-2')
    await pauseSource(ctx, 'a')
    assert.strictEqual(await state('a'), 'paused')
  })

  it('one address is one source, however it is spelt, even in concurrent requests', async () => {
    const spellings = ['2001:db8::5', '2001:DB8:0::5']
    const added = await Promise.all(
      spellings.map((address, i) => addSource(ctx, { ...USUAL, name: `six${i}`, address })),
    )
    assert.deepEqual(
      added.map(({ kind }) => kind).toSorted((one, other) => (one < other ? -1 : 1)),
      ['added', 'refused'],
    )
    assert.deepEqual(
      added.flatMap((one) => (one.kind === 'refused' ? [one.reason] : [])),
      ['a source with this address already exists'],
    )
  })

  it("every operator's change is announced; what outbound processes write is not", async () => {
    const listener = new Client({ connectionString: ctx.databaseUrl })
    let received = 0
    listener.on('notification', () => received++)
    await listener.connect()
    await listener.query(`LISTEN ${EGRESS_CHANNEL}`)
    const isAnnounced = async (what: string, act: () => Promise<unknown>): Promise<void> => {
      const before = received
      await act()
      await until(
        () => Promise.resolve(received > before),
        () => `${what} is not announced`,
      )
    }
    try {
      await isAnnounced('a new source', () => add('b', '192.0.2.2'))
      await isAnnounced('a pause', () => pauseSource(ctx, 'b'))
      await isAnnounced('a resumption', () => resumeSource(ctx.db, 'b'))
      await isAnnounced('the end of a warm-up', () => setWarmUp(ctx, 'b', false))
      await isAnnounced('a weight', () => addToPool(ctx.db, 'us-east', { source: 'b', weight: 5 }))
      await isAnnounced('leaving a pool', () => removeFromPool(ctx.db, 'us-east', 'b'))
      await isAnnounced('the end of a pool', () => removePool(ctx.db, 'us-east'))
      const { id } = (await findSource(ctx.db, 'b')) ?? assert.fail()
      const before = received
      await recordAddressFound(ctx.db, id, 'machine-1')
      await isAnnounced('a removal', () => removeSource(ctx.db, 'b'))
      assert.strictEqual(received, before + 2, 'the source and its (empty) memberships')
    } finally {
      await listener.end()
    }
  })
})
