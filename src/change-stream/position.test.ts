import { assert } from 'chai'
import fc from 'fast-check'
import { readPosition, writePosition, type ChangePosition } from './position.ts'

const AT = 1_700_000_000_000

describe('positions of the stream of changes', () => {
  const SNAPSHOTS = ['10:10:', '10:20:10', '10:20:10,12,19', '1:9223372036854775807:1']
  for (const snapshot of SNAPSHOTS)
    it(`${snapshot} is written and read`, () => {
      const position: ChangePosition = { history: 'aB-_cd12', atMs: AT, snapshot }
      assert.deepEqual(readPosition(writePosition(position)), position)
      assert.notMatch(writePosition(position), /[\r\n\0]/)
    })

  it('is earlier, never later, when many transactions are open', () => {
    const open = Array.from({ length: 30 }, (_, i) => 10 + i)
    const text = writePosition({ history: 'aB-_cd12', atMs: AT, snapshot: `10:90:${open.join()}` })
    assert.strictEqual(readPosition(text)?.snapshot, '10:10:')
  })

  const INVALID: readonly [text: string, why: string][] = [
    ['', 'empty'],
    ['10:10:', 'a snapshot'],
    [`aB-_cd12.${AT}.20.10.`, 'xmax before xmin'],
    [`aB-_cd12.${AT}.0.10.`, 'no transaction 0'],
    [`aB-_cd12.${AT}.10.20.9`, 'open before xmin'],
    [`aB-_cd12.${AT}.10.20.20`, 'open after xmax'],
    [`aB-_cd12.${AT}.10.20.12,11`, 'out of order'],
    [`aB-_cd12.${AT}.10.20.11,11`, 'twice'],
    [`aB-_cd12.${AT}.10.9999999999999999999.`, 'beyond xid8'],
    [`aB-_cd12.${AT}.10.20.\n`, 'a line end'],
    [`aB-_cd12.${AT}.10.20.${'1,'.repeat(500)}1`, 'too long'],
  ]
  for (const [text, why] of INVALID) it(`refuses ${why}`, () => assert.isNull(readPosition(text)))

  it('survives any text', () => {
    fc.assert(fc.property(fc.string(), (text) => readPosition(text) === null || text.length > 0))
  })
})
