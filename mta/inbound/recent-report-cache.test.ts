import { assert } from 'chai'
import { createRecentReportCache } from './recent-report-cache.ts'

describe('cache of recent reports', () => {
  const raw = (octets: number): Buffer => Buffer.alloc(octets, 'x')

  it('returns an entry once', () => {
    const recent = createRecentReportCache()
    recent.put('a', raw(1))
    assert.deepEqual([recent.consume('a')?.length, recent.consume('a'), recent.consume('b')], [1, undefined, undefined])
  })
  it('is bounded: new entries replace unused ones', () => {
    const recent = createRecentReportCache(10)
    for (const id of ['a', 'b', 'c']) recent.put(id, raw(4))
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => recent.consume(id)?.length),
      [undefined, undefined, 4],
    )
    for (const id of ['d', 'e']) recent.put(id, raw(5))
    assert.deepEqual(
      ['d', 'e'].map((id) => recent.consume(id)?.length),
      [5, 5],
    )
  })
})
