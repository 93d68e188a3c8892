import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { until } from '#test/support/until.ts'
import { createHitSpool, type HitSpool } from './hit-spool.ts'

const BOUNDS = { answerAfterMs: 50, retryMs: 10, maxHeld: 5 }
const AWAY = Object.assign(new Error('no server'), { code: 'ECONNREFUSED' })

describe('the spool of opens and clicks', () => {
  let stored: number[]
  let store: (hits: readonly number[]) => Promise<void>
  let spool: HitSpool<number>
  const works = (hits: readonly number[]): Promise<void> => Promise.resolve(void stored.push(...hits))
  const isAway = (): Promise<void> => Promise.reject(AWAY)
  beforeEach(() => {
    stored = []
    store = works
    spool = createHitSpool<number>((hits) => store(hits), openLog({ logLevel: 'silent' }, 'test'), BOUNDS)
  })
  afterEach(() => spool.drain())
  const addAll = (...hits: number[]): Promise<unknown> => Promise.all(hits.map((hit) => spool.add(hit)))

  it('stores a hit before its request is answered', async () => {
    await spool.add(1)
    assert.deepEqual([stored, spool.counts], [[1], { stored: 1, held: 0, lost: 0 }])
  })
  it('without PostgreSQL, buffers hits and stores them in order when it is back', async () => {
    store = isAway
    await addAll(1, 2)
    await addAll(3)
    assert.deepEqual(spool.counts, { stored: 0, held: 3, lost: 0 })
    store = works
    await until(() => stored.length > 0)
    assert.deepEqual([stored, spool.counts.stored], [[1, 2, 3], 3])
    await spool.add(4)
    assert.deepEqual([stored, spool.counts], [[1, 2, 3, 4], { stored: 4, held: 3, lost: 0 }])
  })
  it('counts the hits beyond the size of the buffer as lost', async () => {
    store = isAway
    await addAll(1, 2, 3, 4, 5, 6, 7)
    assert.deepEqual(spool.counts, { stored: 0, held: 5, lost: 2 })
    store = works
    await until(() => stored.length > 0)
    assert.deepEqual(stored, [1, 2, 3, 4, 5])
  })
  it('does not wait for a silent PostgreSQL, and buffers the hits that it did not store', async () => {
    const silent = Promise.withResolvers<undefined>()
    store = () => silent.promise
    await addAll(1, 2)
    await addAll(3) // without waiting
    assert.deepEqual(spool.counts, { stored: 0, held: 3, lost: 0 })
    store = works
    silent.reject(AWAY)
    await until(() => stored.length === 3)
    assert.deepEqual(
      [stored.toSorted((one, other) => one - other), spool.counts],
      [[1, 2, 3], { stored: 3, held: 3, lost: 0 }],
    )
  })
  it('drops hits that cannot be stored because of a bug, and stores the next ones', async () => {
    store = () => Promise.reject(new Error('a bug'))
    await spool.add(1)
    store = works
    await spool.add(2)
    assert.deepEqual([stored, spool.counts], [[2], { stored: 1, held: 0, lost: 1 }])
  })
  it('when stopped, stores the buffered hits or counts them as lost', async () => {
    store = isAway
    await addAll(1, 2)
    store = works
    await spool.drain()
    assert.deepEqual([stored, spool.counts], [[1, 2], { stored: 2, held: 2, lost: 0 }])
    const other = createHitSpool<number>(isAway, openLog({ logLevel: 'silent' }, 'test'), BOUNDS)
    await other.add(1)
    await other.drain()
    assert.deepEqual(other.counts, { stored: 0, held: 1, lost: 1 })
  })
})
