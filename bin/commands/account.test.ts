/** `mailstead account`, as an operator uses it, on a real database; nothing that it prints has a password. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { storeTestResult, type TestResult } from '#src/providers/connection-tests.ts'
import { acquireLease, type Lease } from '#src/queue/lease.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { runCommand, type CommandResult, type CommandMain } from '#test/support/command.ts'
import { createDatabase, startRedis, type TestDatabase, type TestServer } from '#test/support/stores.ts'
import { run as account } from './account.ts'
import { run as key } from './key.ts'
import { run as workspace } from './workspace.ts'

const PASSWORD = 'correct horse battery'

interface Done extends CommandResult {
  readonly json: Readonly<Record<string, unknown>>
}

describe('mailstead account', () => {
  let database: TestDatabase
  let redis: TestServer
  let dir: string
  let workspaceId: string
  before(async () => {
    ;[database, redis] = await Promise.all([createDatabase(), startRedis()])
    dir = mkdtempSync('/tmp/mailstead-test-cli-')
    writeFileSync(join(dir, 'password'), `${PASSWORD}\n`)
    workspaceId = String((await call(workspace, 'create', '--name', 'W', '--json')).json['id'])
  })
  after(async () => {
    await Promise.all([database.drop(), redis.stop()])
    rmSync(dir, { recursive: true })
  })

  async function call(run: CommandMain, ...args: string[]): Promise<Done> {
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      DATA_DIR: dir,
      MASTER_KEY: '5a'.repeat(32),
      OAUTH_PROVIDERS_FILE: 'test/support/oauth-providers.json',
      PUBLIC_URL: 'https://mail.example',
    }
    const ended = await runCommand(run, args, env)
    return {
      ...ended,
      json: (args.includes('--json') && ended.out !== '' ? JSON.parse(ended.out) : {}) as Done['json'],
    }
  }
  const create = (...more: string[]): Promise<Done> =>
    call(
      account,
      'create',
      '--workspace',
      workspaceId,
      '--host',
      'smtp.example.com',
      '--username',
      'Office@example.com',
      '--password-file',
      join(dir, 'password'),
      ...more,
    )

  it('connects, makes a key, lists, resumes and removes', async () => {
    const made = await create('--from', 'office@example.com, sales@example.com', '--security', 'tls', '--json')
    assert.deepEqual(
      [made.code, made.json['port'], made.json['addresses'], made.json['status']],
      [0, 465, ['office@example.com', 'sales@example.com'], 'untested'],
      made.err,
    )
    const id = String(made.json['id'])
    const minted = await call(key, 'create', '--workspace', workspaceId, '--type', 'regular', '--account', id, '--json')
    assert.deepEqual([minted.code, minted.json['account_id']], [0, id], minted.err)
    const keys = await call(key, 'list', '--workspace', workspaceId)
    assert.match(keys.out, /send as Office@example\.com/)
    const listed = await call(account, 'list', '--workspace', workspaceId)
    assert.match(listed.out, /untested +smtp\.example\.com:465 tls +Office@example\.com/)
    assert.strictEqual((await call(account, 'resume', id)).code, 0)
    const removed = await call(account, 'remove', id, '--json')
    assert.deepEqual(removed.json, { id, removed: true })
    assert.notMatch((await call(key, 'list', '--workspace', workspaceId)).out, /send as/)
    assert.ok(![made, minted, keys, listed, removed].some(({ out, err }) => (out + err).includes(PASSWORD)))
  })
  describe('while an outbound process runs', () => {
    let ctx: TestContext
    let lease: Lease
    before(async () => {
      ctx = await createContext({}, database.url)
      lease = await acquireLease(ctx)
    })
    after(async () => {
      await lease.end()
      await ctx.close()
    })

    /** Creates an account, whose test has this result. */
    async function createWith(result: Pick<TestResult, 'ok' | 'steps'>, ...more: string[]): Promise<CommandResult> {
      await ctx.db.query('DELETE FROM connected_accounts')
      const creating = create(...more)
      const waiting = 'SELECT id, test_id FROM connected_accounts WHERE test_id IS NOT NULL AND test_result IS NULL'
      await until(async () => {
        const [row] = (await ctx.db.query<{ id: string; test_id: string }>(waiting)).rows
        if (row === undefined) return false
        const done = { ...result, conversation: 'C: QUIT', durationMs: 5, at: new Date().toISOString() }
        await storeTestResult(ctx, { accountId: row.id, testId: row.test_id }, done)
        return true
      })
      return creating
    }

    const connected = { step: 'connect', ok: true, detail: 'connected' } as const
    it('tests a new account and reports that it works', async () => {
      const made = await createWith({ ok: true, steps: [connected] }, '--json')
      const { status, test } = JSON.parse(made.out) as Record<string, unknown>
      assert.deepEqual([made.code, status, (test as TestResult).ok], [0, 'active', true])
      const { out } = await createWith({ ok: true, steps: [connected] })
      assert.match(out, /is stored\. The account works\.\n {2}ok +connect[^]*Next: mailstead key create/)
    })
    it('reports the step that failed, and what to do next; the account is stored', async () => {
      const refused = { step: 'auth', ok: false, detail: '535 5.7.8 no such user' } as const
      const { code, out } = await createWith({ ok: false, steps: [connected, refused] })
      assert.strictEqual(code, 0)
      assert.match(out, /does not work\.[^]*FAILED auth +535 5\.7\.8[^]*Next: correct .* mailstead account test/)
      assert.match((await call(account, 'list')).out, /untested/)
    })
  })
  it('without an outbound process, says that nothing tested it', async () => {
    const { json } = await create('--json')
    assert.deepEqual([json['status'], json['test']], ['untested', null])
  })
  it('prints the address where the owner of a mailbox signs in', async () => {
    const { code, json } = await call(
      account,
      'connect',
      '--workspace',
      workspaceId,
      '--provider',
      'corp',
      '--email',
      'me@corp.example',
      '--json',
    )
    assert.strictEqual(code, 0)
    const url = new URL(String(json['authorize_url']))
    assert.deepEqual(
      [url.origin, /^\/oauth\/connect\/[0-9a-f]{64}$/.test(url.pathname)],
      ['https://mail.example', true],
    )
  })

  it('refuses the servers that the API refuses', async () => {
    const { code, err } = await create('--host', '10.0.0.25')
    assert.deepEqual([code, err.split('\n')[0]], [2, 'mailstead account: --host is a private or reserved address'])
    const plain = await create('--security', 'none')
    assert.match(plain.err, /--security none is possible only in networks that the operator allows/)
  })

  const WRONG: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [['create', '--host', 'h', '--username', 'a@b.example'], 2, /--password-file is missing/],
    [
      ['create', '--workspace', 'w', '--host', 'h', '--username', 'u', '--password-file', 'PASSWORD'],
      2,
      /--from is required/,
    ],
    [
      ['create', '--workspace', 'w', '--host', 'h', '--username', 'a@b.example', '--password-file', '/nowhere'],
      1,
      /cannot be read/,
    ],
    [
      [
        'create',
        '--workspace',
        'w',
        '--host',
        'h',
        '--username',
        'a@b.example',
        '--password-file',
        'PASSWORD',
        '--security',
        'ssl',
      ],
      2,
      /--security .*tls/,
    ],
    [
      [
        'create',
        '--workspace',
        'w',
        '--host',
        'h',
        '--username',
        'a@b.example',
        '--password-file',
        'PASSWORD',
        '--port',
        '99999',
      ],
      2,
      /--port at most 65535/,
    ],
    [
      ['create', '--workspace', 'w', '--host', 'a b', '--username', 'a@b.example', '--password-file', 'PASSWORD'],
      2,
      /--host must be a host name/,
    ],
    [['connect', '--account', 'x'], 1, /No account x/],
    [['remove', '019a9a00-0000-7000-8000-000000000000'], 1, /No account/],
  ]
  for (const [args, code, said] of WRONG)
    it(`${args.join(' ')}: exit ${code}`, async () => {
      const written = args.map((arg) => (arg === 'PASSWORD' ? join(dir, 'password') : arg))
      const done = await call(account, ...written).catch((error: unknown): Done => ({
        code: 1,
        out: '',
        err: String(error),
        json: {},
      }))
      assert.strictEqual(done.code, code, done.err)
      assert.match(done.err, said)
    })
})
