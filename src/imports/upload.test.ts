/** Uploads of hostile files, on PostgreSQL: which are rejected, and what an import makes of the others. */
import { Readable } from 'node:stream'
import { assert } from 'chai'
import type { TestContext } from '#test/support/context.ts'
import type { Import } from './imports.ts'
import { CHUNK_BYTES, storeUpload } from './upload.ts'
import { countsOf, createImportBench, createImportContext, NONE, type ImportBench } from './imports.test-data.ts'

describe('imports', () => {
  let ctx: TestContext
  let bench: ImportBench
  before(async () => {
    ctx = await createImportContext()
  })
  beforeEach(async () => {
    bench = await createImportBench(ctx)
  })
  after(() => ctx.close())

  describe('hostile files', () => {
    const cases: readonly (readonly [string, () => Iterable<Buffer>, Partial<Import>, RegExp | null])[] = [
      [
        'a cell of 10 MB',
        () => repeat('email\na@x.example\n', 'x', 10),
        { state: 'failed', added: 1 },
        /^line 3: the row is longer than/,
      ],
      [
        'a quote that is never closed',
        () => repeat('email,x\na@x.example,1\n"b@x.example,1\n', 'c@x.example,1\n', 1),
        { state: 'failed', added: 1 },
        /^line 3: .*never closed/,
      ],
      [
        'a quote that is not closed at the end',
        () => [Buffer.from('email\na@x.example\n"b@x.example')],
        { state: 'failed', added: 1 },
        /^line 3: the file ends inside/,
      ],
      [
        'quotes in the middle of cells',
        () => [Buffer.from('email,first_name\na@x.example,A "B" C\nb@x.example,"x"y"\n')],
        { state: 'done', added: 2 },
        null,
      ],
      [
        'NUL',
        () => [Buffer.from('email,first_name\na@x.example,A\0B\nb@x.example,B\n')],
        { state: 'done', added: 1, failed: 1 },
        null,
      ],
      ['a header alone', () => [Buffer.from('email')], { state: 'done', rowCount: 0 }, null],
      ['lines of commas', () => repeat('email,a\n', ',\n', 1), { state: 'done', rowCount: 0 }, null],
      [
        'all line ends mixed',
        () => [Buffer.from('email\r\na@x.example\rb@x.example\nc@x.example\r\n\r\rd@x.example')],
        { state: 'done', added: 4 },
        null,
      ],
      [
        'JSON that jsonb cannot store',
        () => [
          Buffer.from(
            `email,attributes\na@x.example,"{""a"":""\\u0000""}"\n` +
              `b@x.example,"${'['.repeat(9000)}"\nc@x.example,"{""a"":""\\ud800""}"`,
          ),
        ],
        { state: 'done', rowCount: 3, failed: 3 },
        null,
      ],
    ]
    for (const [name, file, expected, reason] of cases) {
      it(`${name}: ${expected.state}`, async () => {
        const done = await bench.finish(await bench.upload(file()), 3000)
        for (const [field, value] of Object.entries(expected))
          assert.strictEqual(done[field as keyof Import], value, field)
        assert.match(done.reason ?? '', reason ?? /^$/)
      })
    }

    const refused: readonly (readonly [string, Iterable<Buffer>, string, RegExp])[] = [
      ['nothing', [], 'VALIDATION_ERROR', /empty/],
      ['no email column', [Buffer.from('a,b\n1,2')], 'VALIDATION_ERROR', /no column is the email address/],
      ['10,000 columns', [Buffer.from(`email,${'x,'.repeat(10_000)}\n`)], 'VALIDATION_ERROR', /at most 200/],
      ['Latin-1', [Buffer.from('email,first_name\na@x.example,Andr\xe9\n', 'latin1')], 'VALIDATION_ERROR', /not UTF-8/],
      ['UTF-16', [Buffer.from('\ufeffemail\na@x.example\n', 'utf16le')], 'VALIDATION_ERROR', /not UTF-8/],
      [
        'a character cut off at the end',
        [Buffer.from('email\na@x.example,\xc3', 'latin1')],
        'VALIDATION_ERROR',
        /not UTF-8/,
      ],
      ['too large', repeat('email\n', 'a@x.example\n', 21), 'PAYLOAD_TOO_LARGE', /larger than 20971520/],
    ]
    for (const [name, file, code, message] of refused) {
      it(`${name}: rejected, and nothing is stored`, async () => {
        const { workspaceId, audienceId } = bench
        const request = { workspaceId, audienceId, isDryRun: false, mapping: {}, unknownColumns: 'ignore' } as const
        const result = await storeUpload(ctx, request, Readable.from(file))
        assert.ok(result.kind === 'refused')
        assert.strictEqual(result.refusal.error, code)
        assert.match(result.refusal.message, message)
        assert.deepEqual((await ctx.db.query('SELECT 1 FROM imports WHERE workspace_id = $1', [workspaceId])).rows, [])
      })
    }

    it('the size of the received pieces does not matter', async () => {
      const rows = Array.from({ length: 10_000 }, (_, i) => `p${i}@x.example,Ä${'x'.repeat(20)}${i}\n`)
      const file = Buffer.from(`\ufeffemail,first_name\n${rows.join('')}`)
      assert.ok(file.length > CHUNK_BYTES)
      const pieces = [
        file.subarray(0, 1),
        file.subarray(1, 2),
        file.subarray(2, 5000),
        file.subarray(5000, 300_001),
        file.subarray(300_001),
      ]
      const done = await bench.run(pieces)
      assert.deepEqual(countsOf(done), { ...NONE, rowCount: 10_000, added: 10_000, joined: 10_000 })
      assert.strictEqual(done.bytes, file.length - 3)
      assert.strictEqual(done.position, done.bytes)
    })
  })
})

function* repeat(head: string, part: string, megabytes: number): Generator<Buffer> {
  yield Buffer.from(head)
  const block = Buffer.from(part.repeat(Math.ceil(65_536 / part.length)))
  for (let sent = 0; sent < megabytes * 1024 * 1024; sent += block.length) yield block
}
