import { assert } from 'chai'
import fc from 'fast-check'
import { createContext, type TestContext } from '#test/support/context.ts'
import { binaryColumnsOf, defineInput, type BinaryColumn, type ColumnType } from './binary-columns.ts'
import type { SplitParameter } from './split-parameter.ts'

interface Row {
  readonly text: string | null
  readonly jsonb: unknown
  readonly uuid: string | null
  readonly boolean: boolean | null
  readonly smallint: number | null
  readonly integer: number | null
  readonly bigint: number | null
  readonly timestamptz: Date | null
  readonly bytea: Buffer | null
}

const COLUMNS: readonly BinaryColumn<Row>[] = [
  ['text', (row) => row.text],
  ['jsonb', (row) => (row.jsonb === null ? null : JSON.stringify(row.jsonb))],
  ['uuid', (row) => row.uuid],
  ['boolean', (row) => row.boolean],
  ['smallint', (row) => row.smallint],
  ['integer', (row) => row.integer],
  ['bigint', (row) => row.bigint],
  ['timestamptz', (row) => row.timestamptz],
  ['bytea', (row) => row.bytea],
]
const TYPES = COLUMNS.map(([type]) => type)

const word = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '').toWellFormed())
/** Around the length from which a value is not copied. */
const largeOctets = fc
  .record({ length: fc.integer({ min: 32_766, max: 32_770 }), octet: fc.nat(255) })
  .map(({ length, octet }) => Buffer.alloc(length, octet))
const VALUES: Readonly<Record<ColumnType, fc.Arbitrary<unknown>>> = {
  text: fc.option(word),
  jsonb: fc.option(
    fc.dictionary(
      word.filter((key) => key !== '__proto__'),
      fc.oneof(word, fc.boolean(), fc.integer()),
      { noNullPrototype: true },
    ),
  ),
  uuid: fc.option(fc.uuid()),
  boolean: fc.option(fc.boolean()),
  smallint: fc.option(fc.integer({ min: -32_768, max: 32_767 })),
  integer: fc.option(fc.maxSafeInteger().map((number) => number | 0)),
  bigint: fc.option(fc.maxSafeInteger()),
  timestamptz: fc.option(fc.date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })),
  bytea: fc.option(
    fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      largeOctets,
    ),
  ),
}
const NOTHING = Buffer.alloc(0)
const rows = fc.array(fc.record(VALUES) as fc.Arbitrary<Row>, { maxLength: 20 })

describe('binary columns', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('PostgreSQL returns every value unchanged', async () => {
    const parameters = TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const read = await ctx.db.query<Row>(
          `SELECT * FROM unnest(${parameters}) AS i (${TYPES.join(', ')})`,
          binaryColumnsOf(given, COLUMNS),
        )
        assert.deepEqual(
          read.rows.map((row) => ({ ...row })),
          given.map((row) => ({ ...row, uuid: row.uuid?.toLowerCase() ?? null })),
        )
      }),
      { numRuns: 200 },
    )
  })

  it('large values are not copied, however they are mixed with others', async () => {
    const [one, two, text] = [Buffer.alloc(32_768, 1), Buffer.alloc(100_000, 2), Buffer.from('żó'.repeat(20_000))]
    const [octets, texts] = [
      [one, two, null, Buffer.from('small'), one],
      ['short', text, null, text, null],
    ]
    const parameters = binaryColumnsOf(
      octets.map((value, i) => ({ octets: value, text: texts[i] ?? null })),
      [
        ['bytea', (row) => row.octets],
        ['text', (row) => row.text],
      ],
    )
    const partsOf = (i: number): readonly Buffer[] => (parameters[i] as SplitParameter).parts
    assert.deepEqual(
      [one, two, one, text, text].map((value, i) => partsOf(i < 3 ? 0 : 1).includes(value)),
      [true, true, true, true, true],
    )
    const { rows: stored } = await ctx.db.query<{ octets: Buffer | null; text: string | null }>(
      'SELECT * FROM unnest($1::bytea[], $2::text[]) AS i (octets, text)',
      parameters,
    )
    assert.isTrue(
      stored.every((row, i) => {
        const [given, expected = null] = [octets[i] ?? null, texts[i]]
        return (
          (given?.equals(row.octets ?? NOTHING) ?? row.octets === null) && row.text === (expected?.toString() ?? null)
        )
      }),
    )
    assert.lengthOf(stored, octets.length)
  })
  it('a text given as bytes is stored as the same text', async () => {
    const {
      rows: [row],
    } = await ctx.db.query(
      'SELECT array_agg(t) AS texts FROM unnest($1::text[]) AS t',
      binaryColumnsOf(['żółw 🎉', Buffer.from('żółw 🎉')], [['text', (text) => text]]),
    )
    assert.deepEqual(row?.['texts'], ['żółw 🎉', 'żółw 🎉'])
  })

  it('a parameter of another type is rejected', () =>
    assert.isRejected(
      ctx.db.query('SELECT * FROM unnest($1::smallint[])', binaryColumnsOf([1], [['integer', (n) => n]])),
      /binary|element type/,
    ))
})

interface SizedRow {
  readonly id: string
  readonly size: number | null
}

const SIZED_ROWS: readonly SizedRow[] = [
  { id: '01980000-0000-7000-8000-000000000001', size: 1 },
  { id: '01980000-0000-7000-8000-000000000002', size: null },
]

describe('the input of a statement', () => {
  const input = defineInput<SizedRow, 'id' | 'size'>(4, {
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
      input.parametersOf(SIZED_ROWS),
      binaryColumnsOf(SIZED_ROWS, [
        ['uuid', (row) => row.id],
        ['integer', (row) => row.size],
      ]),
    )
    assert.strictEqual(input.parametersOf([]).length, 2)
  })
})
