import { assert } from 'chai'
import { textsOf } from './coded-text.ts'
import { createFinding, detailOf, joinSaid, sayAbout, todoOf } from './finding-text.ts'

const write = textsOf('area', {
  waits: '{count|report waits|reports wait} since {at|time}',
  of: 'of {count|report|reports} in {place}',
  plain: 'nothing is wrong',
})
const AT = '2026-11-27T07:00:00.000Z'

describe('texts of findings', () => {
  const counts: readonly [count: number, text: RegExp][] = [
    [1, /^1 report waits since 2026-11-27T07:00:00\.000Z/],
    [1234, /^1,234 reports wait since 2026/],
    [0, /^0 reports wait/],
  ]
  for (const [count, text] of counts)
    it(`a count of ${count} has its noun, and a time is one for people`, () => {
      const said = write('waits', { count, at: AT })
      assert.match(said.text, text)
      assert.deepEqual(said.params, { count: String(count), at: AT })
    })

  it('a placeholder in a value is not filled', () => {
    assert.strictEqual(write('of', { count: 2, place: '{count|a|b}' }).text, 'of 2 reports in {count|a|b}')
  })

  it('has the sentences of each part, and text without a code between them', () => {
    const joined = joinSaid([sayAbout('out1', write('plain')), 'Connection reset', write('plain'), '', write('plain')])
    assert.strictEqual(joined.text, 'out1: nothing is wrong; Connection reset; nothing is wrong')
    assert.deepEqual(
      joined.sentences.map(({ code }) => code),
      ['text.about', 'area.plain', 'text.verbatim', 'area.plain'],
    )
  })

  it('without any code has no sentences', () => {
    assert.deepEqual(joinSaid(['a', sayAbout('b', 'c')]), { text: 'a; b: c', sentences: [] })
    assert.deepEqual(createFinding('failed', 'a', 'b'), { status: 'failed', detail: 'a', todo: 'b' })
  })

  it('a finding returns what was said', () => {
    const finding = createFinding('failed', write('plain'), joinSaid([write('plain'), 'do it']))
    assert.deepEqual([finding.detail, finding.todo], ['nothing is wrong', 'nothing is wrong; do it'])
    assert.deepEqual(detailOf(finding), { text: 'nothing is wrong', sentences: [{ code: 'area.plain', params: {} }] })
    assert.strictEqual(todoOf(finding).sentences.length, 2)
  })
})
