import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert } from 'chai'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'

const FILE = `receivers:
  yahoo: {mx: ['*.yahoodns.net'], connections: 10, messages_per_connection: 20}
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
rules:
  - {name: ts04, receiver: yahoo, text: TS04, action: suspend, for: 2h}
`
const CHANGED =
  FILE.replace(
    '  transport-map',
    '  slow: {domains: [slow.example], connections: 1, messages_per_connection: 1}\n  transport-map',
  ) + '  - {name: too-many, text: too many, action: slow}\n'

/** Stored replies: how many, for which domain and host, and when. */
const REPLIES: readonly [count: number, domain: string, host: string | null, reply: string, daysAgo: number][] = [
  [3, 'y.example', 'mta5.am0.yahoodns.net', '421 [TS04] deferred', 1],
  [2, 'slow.example', 'mx.slow.example', '450 too many', 2],
  [1, 'other.example', null, '550 no such user', 0],
  [5, 'other.example', 'mx.other.example', '421 too many', 20],
  [5, 'mapped.example', 'relay.sender.example', '450 too many', 1],
  [4, 'account:0190a2b4-0000-7000-8000-000000000001', 'smtp.provider.example', '450 too many', 1],
]

describe('mailstead shaping', () => {
  const dir = mkdtempSync('/tmp/mailstead-shaping-')
  const [file, changed, wrong] = ['shaping.yaml', 'changed.yaml', 'wrong.yaml'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ]
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
    writeFileSync(file, FILE)
    writeFileSync(changed, CHANGED)
    writeFileSync(wrong, FILE.replace('connections: 10', 'connections: 0'))
    const rows = REPLIES.flatMap(([count, domain, host, reply, daysAgo]) =>
      Array.from({ length: count }, () => ({
        id: newId(),
        domain,
        host,
        reply,
        at: new Date(Date.now() - daysAgo * 86_400_000 - 1000),
      })),
    )
    const [ids, domains, hosts, codes, texts, times] = columnsOf(rows, [
      (one) => one.id,
      (one) => one.domain,
      (one) => one.host,
      (one) => Number(one.reply.slice(0, 3)),
      (one) => one.reply.slice(4),
      (one) => one.at,
    ])
    const workspaceId = await ctx.newWorkspace()
    await ctx.db.query(
      sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        SELECT id, 0, $3, 'high', 'to', 'a@' || domain, domain, 'failed', false, now(), true, now()
        FROM unnest($1::uuid[], $2::text[]) AS i (id, domain)
      `,
      [ids, domains, workspaceId],
    )
    await ctx.db.query(
      sql`
        INSERT INTO attempts (
          message_id, n, attempt, at, outcome, reply_code, reply_text, host, duration_ms, conversation
        )
        SELECT id, 0, 1, at, 'deferred', code, text, host, 1, ''
        FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::timestamptz[]) AS i (
          id, code, text, host, at
        )
      `,
      [ids, codes, texts, hosts, times],
    )
  })
  after(async () => {
    await ctx.close()
    rmSync(dir, { recursive: true, force: true })
  })

  async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const env = {
      PATH: process.env['PATH'],
      DATABASE_URL: ctx.databaseUrl,
      REDIS_URL: ctx.redisUrl,
      SHAPING_FILE: file,
      DATA_DIR: dir,
      ROUTES: 'mapped.example=smtp://relay.sender.example',
    }
    const failed = (error: { code: number; stdout: string; stderr: string }) => error
    return promisify(execFile)('bin/mailstead', ['shaping', ...args], { env }).then(
      (done) => ({ code: 0, ...done }),
      failed,
    )
  }

  it('replay: runs stored replies through a changed file, and shows the differences', async () => {
    const { stdout, code } = await run('replay', changed, '--json')
    assert.strictEqual(code, 0)
    const nothing = { suspend: 0, slow: 0, tell: 0, nothing: 0 }
    assert.deepEqual(JSON.parse(stdout), {
      days: 7,
      replies: 15,
      receivers: [
        { receiver: 'transport-map', replies: 5, before: { ...nothing, nothing: 5 }, after: { ...nothing, slow: 5 } },
        {
          receiver: 'connected-account',
          replies: 4,
          before: { ...nothing, nothing: 4 },
          after: { ...nothing, slow: 4 },
        },
        { receiver: 'yahoo', replies: 3, before: { ...nothing, suspend: 3 }, after: { ...nothing, suspend: 3 } },
        { receiver: 'slow', replies: 2, before: { ...nothing, nothing: 2 }, after: { ...nothing, slow: 2 } },
        { receiver: 'default', replies: 1, before: { ...nothing, nothing: 1 }, after: { ...nothing, nothing: 1 } },
      ],
      changes: [
        ['transport-map', 5],
        ['connected-account', 4],
        ['slow', 2],
      ].map(([receiver, count]) => ({ receiver, reply: '450 too many', count, before: null, after: 'too-many' })),
    })
  })
  it('replay: --days includes older replies', async () => {
    assert.strictEqual(
      (JSON.parse((await run('replay', changed, '--days', '30', '--json')).stdout) as { replies: number }).replies,
      20,
    )
    assert.match((await run('replay', file)).stdout, /The new file changes nothing/)
  })
  it('resume: one site of a receiver, or the receiver with all its sites', async () => {
    const stop = (...paces: string[]): Promise<unknown> =>
      ctx.db.query(
        sql`
          INSERT INTO receiver_suspensions (id, pace, source, rule, reply, until)
          SELECT gen_random_uuid(), pace, 'default', 'busy', '451 busy', now() + interval '1 hour'
          FROM unnest($1::text[]) AS pace
        `,
        [paces],
      )
    const left = async (): Promise<string[]> =>
      (await ctx.db.query<{ pace: string }>('SELECT pace FROM receiver_suspensions ORDER BY pace')).rows.map(
        ({ pace }) => pace,
      )
    await stop('outlook/a.mx', 'outlook/b.mx', 'outlook/c.mx', 'outlook2', 'outlook2/d.mx', '*')
    assert.strictEqual((await run('resume', 'outlook/a.mx')).code, 0)
    assert.deepEqual(await left(), ['*', 'outlook/b.mx', 'outlook/c.mx', 'outlook2', 'outlook2/d.mx'])
    assert.strictEqual((await run('resume', 'outlook')).code, 0)
    assert.deepEqual(await left(), ['*', 'outlook2', 'outlook2/d.mx'])
    assert.strictEqual((await run('resume', 'outlook')).code, 1)
    assert.strictEqual((await run('resume', '*')).code, 0)
    assert.deepEqual(await left(), ['outlook2', 'outlook2/d.mx'])
  })
  it('check: reports each error with its line, and exits with 1', async () => {
    const { code, stdout } = await run('check', wrong)
    assert.strictEqual(code, 1)
    assert.match(stdout, /wrong\.yaml:2: .*at least 1/)
    assert.strictEqual((await run('check')).code, 0)
    assert.strictEqual((await run('replay', wrong)).code, 1)
    assert.strictEqual((await run('check', join(dir, 'none.yaml'))).code, 2)
    assert.strictEqual((await run('resume', 'nobody')).code, 1)
  })
})
