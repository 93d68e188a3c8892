/** Imports on PostgreSQL: what becomes of each row, and what is counted and reported. */
import { assert } from 'chai'
import type { TestContext } from '#test/support/context.ts'
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

  it('imports every column into its field', async () => {
    const done = await bench.run(
      '\ufeffE-Mail;Name;Tags;attribute:plan;custom_attributes\r\n' +
        'Anna@Example.com;Anna B. Carl;a|b;pro;"{""age"": 42}"\r\n',
    )
    assert.strictEqual(done.state, 'done')
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 1, added: 1, joined: 1 })
    assert.deepEqual(await bench.contacts(), [
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
    await bench.run('email,first_name,last_name\na@x.example,Anna,Old\n')
    const done = await bench.run('email,first_name,last_name\nA@X.example,,New\nb@x.example,,\n')
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 2, added: 1, updated: 1, joined: 1 })
    assert.deepEqual(
      (await bench.contacts()).map(({ first_name, last_name }) => [first_name, last_name]),
      [
        ['Anna', 'New'],
        [null, null],
      ],
    )
  })

  it('the last row of an address wins, within a batch and across batches; the others are counted', async () => {
    const rows = Array.from({ length: 6000 }, (_, i) => `p${i % 3000}@x.example,${i}`)
    const done = await bench.run(`email,first_name\n${rows.join('\n')}\np1@x.example,again\np1@x.example,last`)
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 6002, added: 3000, joined: 3000, duplicates: 3002 })
    const stored = new Map((await bench.contacts()).map(({ email, first_name }) => [email, first_name]))
    assert.deepEqual([stored.get('p1@x.example'), stored.get('p2@x.example'), stored.size], ['last', '3002', 3000])
  })

  it('resubscribes nobody, unsubscribes rows marked so, and counts suppressed addresses', async () => {
    await bench.run('email\ngone@x.example\nhere@x.example\n')
    await ctx.db.query(
      `UPDATE memberships SET is_subscribed = false WHERE audience_id = $1 AND email = 'gone@x.example'`,
      [bench.audienceId],
    )
    await ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'blocked@x.example', 'test')`,
      [bench.workspaceId],
    )
    const done = await bench.run(
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
      (await bench.contacts()).map(({ email, is_subscribed }) => [email, is_subscribed]),
      [
        ['blocked@x.example', true],
        ['gone@x.example', false],
        ['here@x.example', false],
        ['new@x.example', false],
      ],
    )
  })

  it('reports each invalid row with line and column, and imports the others', async () => {
    const done = await bench.run(
      'email,first_name,timezone\r\n"a@x.example","two\r\nlines",UTC\r\n\r\nnobody,x,\r\n,,\r\n,Ben,Mars/Base\r\n' +
        'b@x.example,B,Europe/Berlin,more\r\nc@x.example\r\n',
    )
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 5, added: 2, joined: 2, failed: 3 })
    assert.deepEqual(await bench.errorsOf(done), [
      { line: 5, column: 'email', message: 'the address has no "@"', value: 'nobody' },
      { line: 7, column: 'timezone', message: 'must be an IANA time zone such as Europe/Berlin', value: 'Mars/Base' },
      { line: 7, column: 'email', message: 'the row has no email address', value: null },
      { line: 8, column: null, message: 'the row has 4 cells, the header 3', value: null },
    ])
    assert.deepEqual(await bench.emails(), ['a@x.example', 'c@x.example'])
  })

  it('stores the first 1000 errors and counts all', async () => {
    const done = await bench.run(`email\n${'nobody\n'.repeat(3000)}`)
    assert.strictEqual(done.failed, 3000)
    const errors = await bench.errorsOf(done)
    assert.deepEqual([errors.length, errors[0]?.line, errors.at(-1)?.line], [1000, 2, 1001])
  })

  it('a dry run counts the same and changes nothing', async () => {
    await bench.run('email\na@x.example\n')
    const before = await bench.contacts()
    const file = `email,first_name\na@x.example,New\nb@x.example,\nb@x.example,\nwrong,\n${'\n'.repeat(10)}c@x.example`
    const dry = await bench.run(file, { isDryRun: true })
    assert.deepEqual(await bench.contacts(), before)
    const wet = await bench.run(file)
    assert.deepEqual(countsOf(dry), { ...NONE, rowCount: 5, added: 2, updated: 1, joined: 2, duplicates: 1, failed: 1 })
    assert.deepEqual(countsOf(wet), countsOf(dry))
    assert.deepEqual(await bench.errorsOf(wet), await bench.errorsOf(dry))
  })

  it('a row that PostgreSQL cannot store is reported; all others of its batch are imported', async () => {
    const filler = (key: string): string => `"{""${key}"": ""${randomText(30_000)}""}"`
    await bench.run(`email,custom_attributes\nfull@x.example,${filler('a')}\nfull@x.example,${filler('b')}\n`)
    const rows = Array.from({ length: 20 }, (_, i) => `p${i}@x.example,`)
    const done = await bench.run(
      `email,custom_attributes\n${rows.join('\n')}\nfull@x.example,${filler('c')}\nlast@x.example,`,
    )
    assert.deepEqual(countsOf(done), { ...NONE, rowCount: 22, added: 21, joined: 21, failed: 1 })
    assert.deepEqual(
      (await bench.errorsOf(done)).map(({ line, message }) => [line, message]),
      [[22, 'the custom attributes of the contact would be larger than 64 KB']],
    )
  })
})

function randomText(length: number): string {
  return Array.from({ length }, () => String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 5000)))
    .join('')
    .slice(0, length / 3)
}
