import { Readable } from 'node:stream'
import { assert } from 'chai'
import { createAudience } from '#src/contacts/audiences.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { purgeImports } from './purge-imports.ts'
import { cancelImport, findImport, listErrors, type Import, type RowError } from './imports.ts'
import type { LayoutOptions } from './column-layout.ts'
import { runImports } from './import-runner.ts'
import { CHUNK_BYTES, storeUpload } from './upload.ts'

type UploadOptions = Partial<LayoutOptions> & { readonly isDryRun?: boolean }

describe('imports', () => {
  let ctx: TestContext
  let workspaceId: string
  let audienceId: string
  before(async () => {
    ctx = await createContext({ MAX_IMPORT_BYTES: String(20 * 1024 * 1024) })
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
    audienceId = (
      await createAudience(ctx.db, workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, new Date())
    ).id
  })
  after(() => ctx.close())

  async function upload(file: string | Buffer | Iterable<Buffer>, options: UploadOptions = {}): Promise<string> {
    const source = Readable.from(
      typeof file === 'string' ? [Buffer.from(file)] : file instanceof Buffer ? [file] : file,
    )
    const stored = await storeUpload(
      ctx,
      { workspaceId, audienceId, isDryRun: false, mapping: {}, unknownColumns: 'ignore', ...options },
      source,
    )
    return stored.kind === 'stored' ? stored.importId : assert.fail(JSON.stringify(stored.refusal))
  }

  async function finish(importId: string, sliceMs = 0): Promise<Import> {
    while (await runImports(ctx, sliceMs)) {
      /* until none waits */
    }
    return (await findImport(ctx.db, workspaceId, importId)) ?? assert.fail('the import is missing')
  }

  const run = async (file: string | Buffer | Iterable<Buffer>, options: UploadOptions = {}): Promise<Import> =>
    finish(await upload(file, options))
  const errorsOf = (done: Import): Promise<RowError[]> => listErrors(ctx.db, done.id)

  async function contacts(): Promise<Record<string, unknown>[]> {
    const { rows } = await ctx.db.query(
      sql`
        SELECT c.email, c.first_name, c.last_name, c.tags, c.custom_attributes, m.is_subscribed
        FROM contacts c
        LEFT JOIN memberships m ON m.contact_id = c.id AND m.audience_id = $2
        WHERE c.workspace_id = $1
        ORDER BY c.email
      `,
      [workspaceId, audienceId],
    )
    return rows
  }
  const emails = async (): Promise<unknown[]> => (await contacts()).map(({ email }) => email)
  const countsOf = ({
    rowCount,
    added,
    updated,
    joined,
    duplicates,
    failed,
    blocked,
    unsubscribed,
  }: Import): object => ({ rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed })
  const NONE = { rowCount: 0, added: 0, updated: 0, joined: 0, duplicates: 0, failed: 0, blocked: 0, unsubscribed: 0 }

  it('imports every column into its field', async () => {
    const done = await run(
      '\ufeffE-Mail;Name;Tags;attribute:plan;custom_attributes\r\n' +
        'Anna@Example.com;Anna B. Carl;a|b;pro;"{""age"": 42}"\r\n',
    )
    assert.strictEqual(done.state, 'done')
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 1, added: 1, joined: 1 })
    assert.deepEqual(await contacts(), [
      {
        email: 'anna@example.com',
        first_name: 'Anna',
        last_name: 'B. Carl',
        tags: ['a', 'b'],
        custom_attributes: { age: 42, plan: 'pro' },
        is_subscribed: true,
      },
    ])
  })

  it('updates existing contacts, leaves fields with empty cells unchanged, and adds to the audience', async () => {
    await run('email,first_name,last_name\na@x.example,Anna,Old\n')
    const done = await run('email,first_name,last_name\nA@X.example,,New\nb@x.example,,\n')
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 2, added: 1, updated: 1, joined: 1 })
    assert.deepEqual(
      (await contacts()).map(({ first_name, last_name }) => [first_name, last_name]),
      [
        ['Anna', 'New'],
        [null, null],
      ],
    )
  })

  it('the last row of an address wins, within a batch and across batches; the others are counted', async () => {
    const rows = Array.from({ length: 6000 }, (_, i) => `p${i % 3000}@x.example,${i}`)
    const done = await run(`email,first_name\n${rows.join('\n')}\np1@x.example,again\np1@x.example,last`)
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 6002, added: 3000, joined: 3000, duplicates: 3002 })
    const stored = new Map((await contacts()).map(({ email, first_name }) => [email, first_name]))
    assert.deepEqual([stored.get('p1@x.example'), stored.get('p2@x.example'), stored.size], ['last', '3002', 3000])
  })

  it('resubscribes nobody, unsubscribes rows marked so, and counts suppressed addresses', async () => {
    await run('email\ngone@x.example\nhere@x.example\n')
    await ctx.db.query(
      `UPDATE memberships SET is_subscribed = false WHERE audience_id = $1 AND email = 'gone@x.example'`,
      [audienceId],
    )
    await ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'blocked@x.example', 'test')`,
      [workspaceId],
    )
    const done = await run(
      'email,status\ngone@x.example,subscribed\nhere@x.example,Unsubscribed\n' +
        'blocked@x.example,\nnew@x.example,unsubscribed\n',
    )
    assert.deepEqual(countsOf(done), {
      ...NONE,
      rowCount: 4,
      added: 2,
      updated: 2,
      joined: 2,
      blocked: 1,
      unsubscribed: 3,
    })
    assert.deepEqual(
      (await contacts()).map(({ email, is_subscribed }) => [email, is_subscribed]),
      [
        ['blocked@x.example', true],
        ['gone@x.example', false],
        ['here@x.example', false],
        ['new@x.example', false],
      ],
    )
  })

  it('reports each invalid row with line and column, and imports the others', async () => {
    const done = await run(
      'email,first_name,timezone\r\n"a@x.example","two\r\nlines",UTC\r\n\r\nnobody,x,\r\n,,\r\n,Ben,Mars/Base\r\n' +
        'b@x.example,B,Europe/Berlin,more\r\nc@x.example\r\n',
    )
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 5, added: 2, joined: 2, failed: 3 })
    assert.deepEqual(await errorsOf(done), [
      { line: 5, column: 'email', message: 'the address has no "@"', value: 'nobody' },
      { line: 7, column: 'timezone', message: 'must be an IANA time zone such as Europe/Berlin', value: 'Mars/Base' },
      { line: 7, column: 'email', message: 'the row has no email address', value: null },
      { line: 8, column: null, message: 'the row has 4 cells, the header 3', value: null },
    ])
    assert.deepEqual(await emails(), ['a@x.example', 'c@x.example'])
  })

  it('stores the first 1000 errors and counts all', async () => {
    const done = await run(`email\n${'nobody\n'.repeat(3000)}`)
    assert.strictEqual(done.failed, 3000)
    const errors = await errorsOf(done)
    assert.deepEqual([errors.length, errors[0]?.line, errors.at(-1)?.line], [1000, 2, 1001])
  })

  it('a dry run counts the same and changes nothing', async () => {
    await run('email\na@x.example\n')
    const before = await contacts()
    const file = `email,first_name\na@x.example,New\nb@x.example,\nb@x.example,\nwrong,\n${'\n'.repeat(10)}c@x.example`
    const dry = await run(file, { isDryRun: true })
    assert.deepEqual(await contacts(), before)
    const wet = await run(file)
    assert.deepEqual(countsOf(dry), { ...NONE, rowCount: 5, added: 2, updated: 1, joined: 2, duplicates: 1, failed: 1 })
    assert.deepEqual(countsOf(wet), countsOf(dry))
    assert.deepEqual(await errorsOf(wet), await errorsOf(dry))
  })

  it('a row that PostgreSQL cannot store is reported; all others of its batch are imported', async () => {
    const filler = (key: string): string => `"{""${key}"": ""${randomText(30_000)}""}"`
    await run(`email,custom_attributes\nfull@x.example,${filler('a')}\nfull@x.example,${filler('b')}\n`)
    const rows = Array.from({ length: 20 }, (_, i) => `p${i}@x.example,`)
    const done = await run(
      `email,custom_attributes\n${rows.join('\n')}\nfull@x.example,${filler('c')}\nlast@x.example,`,
    )
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 22, added: 21, joined: 21, failed: 1 })
    assert.deepEqual(
      (await errorsOf(done)).map(({ line, message }) => [line, message]),
      [[22, 'the custom attributes of the contact would be larger than 64 KB']],
    )
  })

  describe('resumes where it stopped', () => {
    const rows = Array.from(
      { length: 12_000 },
      (_, i) => `person-${i % 10_000}@x.example,Näme ${i},"multi\r\nline ""${i}"""`,
    )
    const file = `email,first_name,company\r\n${rows.join('\r\n')}\r\n`
    const COUNTS = { ...NONE, rowCount: 12_000, added: 10_000, joined: 10_000, duplicates: 2000 }

    it('after a worker was killed at any step', async () => {
      const importId = await upload(file)
      for (let step = 0; step < 4; step++) {
        // its lease stays, as after kill -9
        await runImports(failingAfter(ctx, 4 + 5 * step)).catch(() => undefined)
        await ctx.db.query(
          `UPDATE imports SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL`,
        )
      }
      const half = await findImport(ctx.db, workspaceId, importId)
      assert.ok(
        half !== null && half.state === 'running' && half.rowCount > 0 && half.rowCount < 12_000,
        JSON.stringify(half?.rowCount),
      )
      assert.deepEqual(countsOf(await finish(importId)), COUNTS)
      const {
        rows: [counted],
      } = await ctx.db.query<{ n: number; names: number }>(
        sql`
          SELECT count(*) AS n,
            count(*) FILTER (WHERE company_name = E'multi\\r\\nline "' || substr(first_name, 6) || '"') AS names
          FROM contacts
          WHERE workspace_id = $1
        `,
        [workspaceId],
      )
      assert.deepEqual(counted, { n: 10_000, names: 10_000 })
    })

    it('a worker that lost its lease writes nothing more', async () => {
      const importId = await upload(file)
      const slow = runImports({
        ...ctx,
        db: {
          ...ctx.db,
          transaction: async (work) => {
            await ctx.db.query('UPDATE imports SET lease = $2 WHERE id = $1', [importId, newId()])
            return ctx.db.transaction(work)
          },
        },
      })
      await slow
      assert.deepEqual(await emails(), [])
      assert.strictEqual((await findImport(ctx.db, workspaceId, importId))?.rowCount, 0)
    })

    it('two workers process two imports without interfering', async () => {
      const ids = [await upload(file), await upload(file)]
      const work = async (): Promise<void> => {
        while (await runImports(ctx, 0)) {
          /* until none waits */
        }
      }
      await Promise.all([work(), work()])
      const done = await Promise.all(ids.map((id) => finish(id)))
      assert.deepEqual(
        done.map(({ state, rowCount, duplicates }) => [state, rowCount, duplicates]),
        [
          ['done', 12_000, 2000],
          ['done', 12_000, 2000],
        ],
      )
      assert.strictEqual(
        done.reduce((sum, { added }) => sum + added, 0),
        10_000,
      )
    })

    it('a cancelled import stops, and its data is deleted', async () => {
      const importId = await upload(file)
      await runImports(ctx, 0)
      assert.strictEqual(await cancelImport(ctx.db, workspaceId, importId), 'cancelled')
      assert.strictEqual(await cancelImport(ctx.db, workspaceId, importId), 'ended before')
      assert.strictEqual(await cancelImport(ctx.db, newId(), importId), 'none')
      const { rowCount, state } = await finish(importId)
      assert.ok(state === 'cancelled' && rowCount > 0 && rowCount < 12_000)
      while (await purgeImports(ctx.db)) {
        /* all of it */
      }
      const {
        rows: [left],
      } = await ctx.db.query(
        sql`
          SELECT (SELECT count(*) FROM import_chunks WHERE import_id = $1) AS chunks,
            (SELECT count(*) FROM import_seen WHERE import_id = $1) AS seen
        `,
        [importId],
      )
      assert.deepEqual(left, { chunks: 0, seen: 0 })
    })

    it('deleting the audience fails the import', async () => {
      const importId = await upload(file)
      await runImports(ctx, 0)
      await ctx.db.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [audienceId])
      const { state, reason } = await finish(importId)
      assert.deepEqual([state, reason], ['failed', 'the audience was deleted'])
    })

    it('an internal error fails the import after five times', async () => {
      const importId = await upload(file)
      const broken = { ...ctx, db: { ...ctx.db, transaction: () => Promise.reject(new Error('a bug')) } }
      for (let i = 0; i < 5; i++) assert.strictEqual(await runImports(broken), true)
      assert.strictEqual(await runImports(broken), false)
      const { state, reason } = await finish(importId)
      assert.deepEqual([state, reason], ['failed', 'internal error; see the log of the worker'])
    })
  })

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
        const done = await finish(await upload(file()), 3000)
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
      const done = await run(pieces)
      assert.deepEqual(countsOf(done), { ...NONE, rowCount: 10_000, added: 10_000, joined: 10_000 })
      assert.strictEqual(done.bytes, file.length - 3)
      assert.strictEqual(done.position, done.bytes)
    })
  })
})

/** A context whose database fails at the nth statement. */
function failingAfter(ctx: TestContext, steps: number): TestContext {
  let left = steps
  const die = (): void => {
    if (left-- <= 0) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  }
  return {
    ...ctx,
    db: {
      ...ctx.db,
      query: (statement, values) => {
        die()
        return ctx.db.query(statement, values)
      },
      transaction: (work) =>
        ctx.db.transaction((tx) =>
          work({
            query: (statement, values) => {
              die()
              return tx.query(statement, values)
            },
          }),
        ),
    },
  }
}

function* repeat(head: string, part: string, megabytes: number): Generator<Buffer> {
  yield Buffer.from(head)
  const block = Buffer.from(part.repeat(Math.ceil(65_536 / part.length)))
  for (let sent = 0; sent < megabytes * 1024 * 1024; sent += block.length) yield block
}

function randomText(length: number): string {
  return Array.from({ length }, () => String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 5000)))
    .join('')
    .slice(0, length / 3)
}
