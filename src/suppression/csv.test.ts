import { Readable } from 'node:stream'
import { assert } from 'chai'
import fc from 'fast-check'
import { CSV_HEADER, readListCsv, writeListCsv, type ListRow } from './csv.ts'
import type { Suppression } from './list.ts'
import { collect } from '#test/support/collect.ts'

const read = (text: string): Promise<ListRow[]> => collect(readListCsv(Readable.from([Buffer.from(text)])))
const brief = (row: ListRow): string =>
  row.kind === 'broken' ? 'broken' : `${row.line} ${row.entry.address} ${row.entry.kind} ${row.entry.reason ?? '-'}`

type File = readonly [name: string, text: string, rows: readonly string[]]

const LONG_WHITE_SPACE: File = [
  'white space that is longer than a row',
  `email\na@b.example\n${' '.repeat(20_000)}\nc@d.example\n`,
  ['2 a@b.example import -', 'broken'],
]

const FILES: readonly File[] = [
  ['addresses alone', 'a@b.example\nc@d.example\n', ['1 a@b.example import -', '2 c@d.example import -']],
  ['a header', 'email,reason\r\na@b.example,asked us\r\n', ['2 a@b.example import asked us']],
  [
    'columns in another order, other names',
    'created;Type;Email Address\n2020;Hard Bounce;a@b.example\n',
    ['2 a@b.example hard_bounce -'],
  ],
  ['a kind that nobody knows', 'address,kind\na@b.example,spamtrap\n', ['2 a@b.example import -']],
  ['a byte order mark and blank lines', '\ufeffemail\n\n a@b.example \n', ['3 a@b.example import -']],
  ['quotes', 'email,reason\n"a@b.example","x, ""y"""\n', ['2 a@b.example import x, "y"']],
  ['nothing', '', []],
  ['a header alone', 'email\n', []],
  ['a row that is too long', `email\n${'x'.repeat(20_000)}\na@b.example\n`, ['broken']],
  LONG_WHITE_SPACE,
  ['a quote that is never closed', 'email\na@b.example\n"c@d.example\n', ['2 a@b.example import -', 'broken']],
]

describe('CSV files of suppressions', () => {
  for (const [name, text, rows] of FILES) it(name, async () => assert.deepEqual((await read(text)).map(brief), rows))

  it('the pieces in which a file arrives change nothing', async () => {
    const cuts = fc.array(fc.oneof(fc.nat(60), fc.nat(20_100)), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...FILES), cuts, async ([, text, rows], at) => {
        const bytes = Buffer.from(text)
        const edges = [0, ...at.toSorted((a, b) => a - b), bytes.length]
        const pieces = edges.slice(1).map((end, i) => bytes.subarray(edges[i], end))
        const found = await collect(readListCsv(Readable.from(pieces.filter(({ length }) => length > 0))))
        assert.deepEqual(found.map(brief), rows)
      }),
      { numRuns: 300, examples: [[LONG_WHITE_SPACE, [LONG_WHITE_SPACE[1].indexOf('  ')]]] },
    )
  })

  it('a written file is read back unchanged, for any address and cause', async () => {
    const texts = fc.string({ unit: fc.constantFrom('=', '+', '@', "'", '"', ',', 'a', 'ß', '-'), minLength: 1 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(texts, texts), { minLength: 1, maxLength: 5 }), async (pairs) => {
        const at = new Date(0)
        const list = pairs.map(([address, cause]): Suppression => ({
          address,
          kind: 'complaint',
          cause,
          reply: null,
          rule: null,
          eventId: null,
          messageId: null,
          apiKeyId: null,
          createdAt: at,
          updatedAt: at,
        }))
        const rows = await read(`${CSV_HEADER.join(',')}\r\n${writeListCsv(list)}`)
        assert.deepEqual(
          rows.map((row) => row.kind === 'entry' && [row.entry.address, row.entry.reason, row.entry.kind]),
          pairs.map(([address, cause]) => [address, cause, 'complaint']),
        )
      }),
    )
  })

  it('no content of a file throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        await collect(readListCsv(Readable.from([Buffer.from(bytes)])))
      }),
    )
  })
})
