import { assert } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { escapeFormula, unescapeFormula, writeRows } from './csv.ts'

const CELLS: readonly (readonly [string, string])[] = [
  ['Anna', 'Anna'],
  ['=1+1', "'=1+1"],
  ['+49 30 1', "'+49 30 1"],
  ['-', "'-"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\rx', "'\rx"],
  ['＝1', "'＝1"],
  ["'=1", "''=1"],
  ["'Anna'", "'Anna'"],
  ['a=b', 'a=b'],
  ['', ''],
]
const nasty = fc.string({
  unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ';', ' ', 'a', '＝', 'ß', '\u{1f600}'),
})

describe('CSV cells', () => {
  for (const [value, cell] of CELLS) {
    it(`${JSON.stringify(value)} is written as ${JSON.stringify(cell)} and read back`, () => {
      assert.strictEqual(escapeFormula(value), cell)
      assert.strictEqual(unescapeFormula(cell), value)
    })
  }

  it('no cell starts like a formula, and every value survives export and import', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(nasty, nasty, fc.string()), { minLength: 1 }), (rows) => {
        const read = parse(writeRows(rows), { record_delimiter: '\r\n', relax_column_count: true })
        assert.ok(read.flat().every((cell) => !/^[=+\-@\t\r]/.test(cell)))
        assert.deepEqual(
          read.map((row) => row.map(unescapeFormula)),
          rows,
        )
      }),
    )
  })
})
