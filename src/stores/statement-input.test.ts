import { assert } from 'chai'
import { binaryColumnsOf } from './binary-columns.ts'
import { defineInput } from './statement-input.ts'

interface Row {
  readonly id: string
  readonly size: number | null
}

const ROWS: readonly Row[] = [
  { id: '01980000-0000-7000-8000-000000000001', size: 1 },
  { id: '01980000-0000-7000-8000-000000000002', size: null },
]

describe('the input of a statement', () => {
  const input = defineInput<Row, 'id' | 'size'>(4, {
    id: ['uuid', (row) => row.id],
    size: ['integer', (row) => row.size],
  })

  it('counts the parameters from the first', () => {
    assert.strictEqual(input.from('i'), 'unnest($4::uuid[], $5::integer[]) AS i (id, size)')
    assert.strictEqual(input.nextParameter, 6)
  })
  it('selects a subset of the columns with their parameters', () => {
    assert.strictEqual(input.only('size').from('s'), 'unnest($5::integer[]) AS s (size)')
  })
  it('has one parameter for each column, whatever the number of rows', () => {
    assert.deepEqual(
      input.parametersOf(ROWS),
      binaryColumnsOf(ROWS, [
        ['uuid', (row) => row.id],
        ['integer', (row) => row.size],
      ]),
    )
    assert.strictEqual(input.parametersOf([]).length, 2)
  })
})
