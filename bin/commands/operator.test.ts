/** The commands of an operator, run in the usual order on a real database. */
import { mkdtempSync, rmSync } from 'node:fs'
import { assert, expect } from 'chai'
import { Client } from 'pg'
import { APPLICATION_ROLE, superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { runCommand, type CommandResult, type CommandMain } from '#test/support/command.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { run as domain } from './domain.ts'
import { run as key } from './key.ts'
import { run as runMigrate } from './migrate.ts'
import { run as workspace } from './workspace.ts'

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : assert.fail(`not a text: ${JSON.stringify(value)}`)
}

interface Done extends CommandResult {
  readonly json: Json
}
/** Parsed output with any fields. */
interface Json {
  readonly [field: string]: Json
}

describe("the operator's commands", () => {
  let database: TestDatabase
  let dns: TestDns
  let dataDir: string
  let env: Record<string, string>

  before(async () => {
    database = await createDatabase()
    dns = await startDns({})
    dataDir = mkdtempSync('/tmp/mailstead-test-cli-')
    env = { DATABASE_URL: database.url, DATA_DIR: dataDir, DNS_SERVERS: dns.server, MAILSTEAD_HOSTNAME: 'mx.op.com' }
  })
  after(async () => {
    await dns.stop()
    await database.drop()
    rmSync(dataDir, { recursive: true })
  })

  async function call(run: CommandMain, ...args: string[]): Promise<Done> {
    const ended = await runCommand(run, args, env)
    return { ...ended, json: (args.includes('--json') && ended.out !== '' ? JSON.parse(ended.out) : {}) as Json }
  }

  async function newWorkspace(name = 'W'): Promise<string> {
    return textOf((await call(workspace, 'create', '--name', name, '--json')).json['id'])
  }

  it('create everything from a workspace to a sending key', async () => {
    const made = await call(workspace, 'create', '--name', 'Acme', '--plan', 'launch', '--json')
    assert.strictEqual(made.code, 0)
    const id = textOf(made.json['id'])
    assert.strictEqual(made.json['key_part'], id.replaceAll('-', ''))

    const admin = await call(key, 'create', '--workspace', id, '--type', 'admin', '--scopes', 'all', '--json')
    assert.match(
      textOf(admin.json['secret_key']),
      new RegExp(`^ms_${textOf(made.json['key_part'])}\\.adm_[a-f0-9]{64}$`),
    )

    const added = await call(domain, 'add', '--workspace', id, 'Shop.Example', '--json')
    assert.deepEqual(
      [added.code, added.json['domain'], added.json['verification_status']],
      [0, 'shop.example', 'pending'],
    )

    const early = await call(key, 'create', '--workspace', id, '--type', 'regular', '--domain', 'shop.example')
    assert.strictEqual(early.code, 1)
    assert.match(early.err, /shop\.example is pending.*mailstead domain verify shop\.example/)

    const missing = await call(domain, 'verify', 'shop.example', '--json')
    assert.deepEqual([missing.code, missing.json['verification_status']], [1, 'pending'])

    for (const record of added.json['dns_records'] as unknown as { type: string; name: string; value: string }[])
      if (record.type === 'TXT') dns.zone[record.name] = { TXT: [record.value] }
    const verified = await call(domain, 'verify', 'shop.example')
    assert.deepEqual([verified.code, verified.out.split('\n')[0]], [0, 'shop.example is verified and may send.'])

    const sending = await call(
      key,
      'create',
      '--workspace',
      id,
      '--type',
      'regular',
      '--domain',
      'shop.example',
      '--json',
    )
    assert.match(textOf(sending.json['secret_key']), /\.live_[a-f0-9]{64}$/)
    const listed = await call(key, 'list', '--workspace', 'Acme', '--json')
    assert.deepEqual(
      (listed.json as unknown as Json[]).map((row) => [row['id'], row['type']]),
      [
        [sending.json['id'], 'regular'],
        [admin.json['id'], 'admin'],
      ],
    )
    assert.strictEqual(listed.out.includes(textOf(sending.json['secret_key'])), false)

    const ended = await call(key, 'deactivate', textOf(sending.json['id']))
    assert.strictEqual(ended.code, 0)
    assert.match((await call(key, 'list', '--workspace', 'Acme')).out, /regular +deactivated/)
  })

  it('verify a domain without DNS with --trust', async () => {
    const id = await newWorkspace()
    await call(domain, 'add', '--workspace', id, 'trusted.example')
    const done = await call(domain, 'verify', 'trusted.example', '--trust', '--json')
    assert.deepEqual([done.code, done.json['verification_status']], [0, 'verified'])
    assert.strictEqual(
      (await call(key, 'create', '--workspace', id, '--type', 'regular', '--domain', 'trusted.example')).code,
      0,
    )
  })

  it('create new DKIM keys for a domain, one rotation at a time', async () => {
    const id = await newWorkspace()
    await call(domain, 'add', '--workspace', id, 'rotated.example')
    assert.strictEqual((await call(domain, 'rotate', 'rotated.example')).code, 1)
    await call(domain, 'verify', 'rotated.example', '--trust')
    const begun = await call(domain, 'rotate', 'rotated.example', '--json')
    const names = (begun.json['dns_records'] as unknown as { purpose: string; name: string }[]).filter(
      ({ purpose }) => purpose === 'dkim',
    )
    assert.deepEqual([begun.code, new Set(names.map(({ name }) => name)).size], [0, 4])
    const again = await call(domain, 'rotate', 'rotated.example')
    assert.match(again.out, /^A key rotation is in progress\. Publish the records of the next key/)
  })

  it('ask for the workspace when several have the domain, and name the one that has it verified', async () => {
    const [first, second] = [await newWorkspace('First'), await newWorkspace('Second')]
    for (const id of [first, second]) await call(domain, 'add', '--workspace', id, 'shared.example')
    await expect(call(domain, 'verify', 'shared.example', '--trust')).to.be.rejected.and.eventually.satisfy(
      (error: unknown) => error instanceof UserError && error.message.includes(first) && error.message.includes(second),
    )
    assert.strictEqual((await call(domain, 'verify', 'shared.example', '--trust', '--workspace', first)).code, 0)
    const conflicting = await call(domain, 'verify', 'shared.example', '--trust', '--workspace', second)
    assert.deepEqual(
      [conflicting.code, conflicting.out],
      [1, 'shared.example is verified for another workspace. See mailstead domain list.\n'],
    )
  })

  it('show a domain that already exists', async () => {
    const id = await newWorkspace()
    const [first, again] = [
      await call(domain, 'add', '--workspace', id, 'again.example', '--json'),
      await call(domain, 'add', '--workspace', id, 'again.example', '--json'),
    ]
    assert.deepEqual([again.code, again.json], [0, first.json])
    const listed = await call(domain, 'list', '--workspace', id, '--json')
    assert.deepEqual(listed.json, [first.json])
  })

  it('refuse a sixth admin key', async () => {
    const id = await newWorkspace()
    for (let i = 0; i < 5; i++)
      assert.strictEqual((await call(key, 'create', '--workspace', id, '--type', 'admin')).code, 0)
    const sixth = await call(key, 'create', '--workspace', id, '--type', 'admin')
    assert.strictEqual(sixth.code, 1)
    assert.match(sixth.err, /5 admin keys/)
  })

  const WRONG: readonly [run: CommandMain, args: readonly string[], message: RegExp][] = [
    [workspace, ['create'], /--name is missing/],
    [workspace, ['create', '--name', 'x', '--plan', 'gold'], /--plan must be one of free, /],
    [workspace, ['create', '--name', 'a\nb'], /control character/],
    [workspace, ['create', '--name', 'x'.repeat(256)], /255/],
    [key, ['create', '--type', 'admin'], /--workspace is missing/],
    [key, ['create', '--workspace', 'w', '--type', 'root'], /--type must be one of admin, regular/],
    [key, ['create', '--workspace', 'w', '--type', 'regular'], /--domain is missing/],
    [
      key,
      ['create', '--workspace', 'w', '--type', 'regular', '--domain', 'd.example', '--scopes', 'all'],
      /--scopes is for admin keys only/,
    ],
    [
      key,
      ['create', '--workspace', 'w', '--type', 'admin', '--domain', 'd.example'],
      /--domain is for regular keys only/,
    ],
    [
      key,
      ['create', '--workspace', 'w', '--type', 'admin', '--scopes', 'contacts:eat'],
      /--scopes must be all, or a list of contacts:read/,
    ],
    [key, ['create', '--workspace', 'w', '--type', 'admin', '--expires', 'tomorrow'], /--expires must be a time/],
    [
      key,
      ['create', '--workspace', 'w', '--type', 'admin', '--expires', '2031-02-31T99:00:00Z'],
      /--expires must be a time/,
    ],
    [
      key,
      ['create', '--workspace', 'w', '--type', 'admin', '--expires', '2020-01-01'],
      /--expires must be in the future/,
    ],
    [key, ['deactivate', 'x'], /is not a key id/],
    [domain, ['add', '--workspace', 'w', 'no domain'], /is not a valid domain/],
    [domain, ['add', '--workspace', 'w', 'a.example', '--region', 'moon'], /--region must be one of us-east-1/],
    [domain, ['verify'], /an argument is missing/],
    [runMigrate, ['now'], /"now" is one argument too many/],
  ]
  for (const [run, args, message] of WRONG) {
    it(`fail with exit code 1: ${args.join(' ').slice(0, 70).replace('\n', '\\n')}`, async () => {
      const { code, out, err } = await call(run, ...args)
      assert.deepEqual([code, out], [2, ''])
      assert.match(err, message)
    })
  }

  const MISSING: readonly [run: CommandMain, args: readonly string[], message: RegExp][] = [
    [key, ['create', '--workspace', 'nowhere', '--type', 'admin'], /No workspace "nowhere" exists/],
    [key, ['list', '--workspace', 'nowhere'], /No workspace "nowhere" exists/],
    [domain, ['add', '--workspace', 'nowhere', 'a.example'], /No workspace "nowhere" exists/],
    [domain, ['verify', 'nobody.example'], /No domain nobody\.example exists/],
  ]
  for (const [run, args, message] of MISSING) {
    it(`name the missing argument: ${args.join(' ')}`, () =>
      expect(call(run, ...args)).to.be.rejectedWith(UserError, message))
  }

  it('name the unknown key', async () => {
    const { code, err } = await call(key, 'deactivate', '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')
    assert.strictEqual(code, 1)
    assert.match(err, /No key 0190a1b2/)
  })

  it('accept an expiry in any common form', async () => {
    const id = await newWorkspace()
    const given: readonly [text: string, iso: string][] = [
      ['2031-05-04', '2031-05-04T00:00:00.000Z'],
      ['2031-05-04T10:00', '2031-05-04T10:00:00.000Z'],
      ['2031-05-04T10:00:00+02:00', '2031-05-04T08:00:00.000Z'],
      ['2031-05-04T10:00:00.5Z', '2031-05-04T10:00:00.500Z'],
    ]
    for (const [text, iso] of given)
      assert.strictEqual(
        (await call(key, 'create', '--workspace', id, '--type', 'admin', '--expires', text, '--json')).json[
          'expires_at'
        ],
        iso,
      )
  })

  it('are recorded in the audit log', async () => {
    const id = await newWorkspace('Audited')
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query('SELECT actor_kind, action, kind FROM audit_log WHERE object = $1', [id])
    await client.end()
    assert.deepEqual(rows, [{ actor_kind: 'cli', action: 'workspace create', kind: 'workspace' }])
  })

  it('migrate a database, and name the command when migrations are pending', async () => {
    const name = `empty_${process.pid}`
    const client = new Client({ connectionString: superuserUrl(database.url) })
    await client.connect()
    const url = new URL(database.url)
    url.pathname = `/${name}`
    const before = env
    try {
      await client.query(`CREATE DATABASE ${name} OWNER ${APPLICATION_ROLE} TEMPLATE template0`)
      env = { ...env, DATABASE_URL: url.href }
      await expect(call(workspace, 'list')).to.be.rejectedWith(UserError, /mailstead migrate/)
      assert.deepEqual((await call(runMigrate, '--json')).json['migrations'], listMigrations())
      assert.strictEqual((await call(runMigrate)).code, 0)
      assert.deepEqual((await call(workspace, 'list', '--json')).json, [])
    } finally {
      env = before
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await client.end()
    }
  })

  it('say that the database is away, without its password', async () => {
    const before = env
    try {
      env = { ...env, DATABASE_URL: 'postgres://user:hidden@127.0.0.1:1/db' }
      for (const run of [workspace, key, domain]) {
        await expect(call(run, 'list')).to.be.rejected.and.eventually.satisfy(
          (error: unknown) =>
            error instanceof UserError &&
            error.message.includes('127.0.0.1:1/db cannot be reached') &&
            !error.message.includes('hidden'),
        )
      }
      await expect(call(runMigrate)).to.be.rejectedWith(UserError)
    } finally {
      env = before
    }
  })
})
