import { assert } from 'chai'
import { createRecentReportCache } from './recent-report-cache.ts'

describe('raws at hand', () => {
  const raw = (octets: number): Buffer => Buffer.alloc(octets, 'x')

  it('are given once', () => {
    const recent = createRecentReportCache()
    recent.put('a', raw(1))
    assert.deepEqual([recent.take('a')?.length, recent.take('a'), recent.take('b')], [1, undefined, undefined])
  })
  it('are few: what nobody reads makes room for what comes', () => {
    const recent = createRecentReportCache(10)
    for (const id of ['a', 'b', 'c']) recent.put(id, raw(4))
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => recent.take(id)?.length),
      [undefined, undefined, 4],
    )
    for (const id of ['d', 'e']) recent.put(id, raw(5))
    assert.deepEqual(
      ['d', 'e'].map((id) => recent.take(id)?.length),
      [5, 5],
    )
  })
})
