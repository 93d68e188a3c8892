/** The objects that the first start creates and later starts find again, on a real database. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { hashKey } from '#src/auth/key-format.ts'
import { findKeys, type StoredKey } from '#src/auth/key-lookup.ts'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import type { Db } from '#src/stores/db.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { createDatabase } from '#test/support/stores.ts'
import { bannerText } from './banner.ts'
import { type FirstRun, provision } from './first-run.ts'

describe('the first run', () => {
  let database: OpenDatabase
  let db: Db
  let dataDir: string

  before(async () => {})
  beforeEach(async () => {
    database = await openDatabase()
    db = database.db
    dataDir = mkdtempSync('/tmp/mailstead-test-run-')
  })
  afterEach(async () => {
    await database.close()
    rmSync(dataDir, { recursive: true })
  })

  function configOf(env: Record<string, string> = {}, databaseUrl = database.url): Config & StoreUrls {
    return { ...loadConfig({ DATA_DIR: dataDir, ...env }), databaseUrl, redisUrl: 'unix:///unused' }
  }

  async function keyOf(key: string | null | undefined): Promise<StoredKey | null> {
    return (await findKeys(db, [hashKey(key ?? '')]))[0] ?? null
  }

  async function count(table: 'workspaces' | 'api_keys' | 'domains'): Promise<number> {
    return (await db.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n ?? 0
  }

  it('creates a workspace on plan launch, an admin key, and in the sandbox a domain that may send', async () => {
    const made = await provision(configOf())
    const [admin, sending] = [await keyOf(made.adminKey), await keyOf(made.sending?.key)]
    assert.deepEqual(
      [admin?.kind, admin?.plan, admin?.scopes, admin?.workspaceId],
      ['admin', 'launch', [...ALL_SCOPES], made.workspaceId],
    )
    assert.deepEqual(
      [sending?.kind, sending?.domain, sending?.domainStatus, sending?.workspaceId],
      ['regular', 'hello.mailstead.test', 'verified', made.workspaceId],
    )
  })

  it('finds the same objects again', async () => {
    const first = await provision(configOf())
    assert.deepEqual(await provision(configOf()), { ...first, showsKeys: false })
    assert.strictEqual(first.showsKeys, true)
    assert.deepEqual([await count('workspaces'), await count('api_keys'), await count('domains')], [1, 2, 1])
  })

  it('stores the keys encrypted, and readable by the owner only', async () => {
    const { adminKey, sending } = await provision(configOf())
    const file = join(dataDir, 'operator.json')
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const text = readFileSync(file, 'utf8')
    assert.strictEqual(text.includes(adminKey ?? '') || text.includes(sending?.key ?? ''), false)
  })

  it('provisions a database once when two machines start together', async () => {
    const other = mkdtempSync('/tmp/mailstead-test-run-')
    try {
      const env = { MASTER_KEY: '5a'.repeat(32) }
      const [one, two] = await Promise.all([provision(configOf(env)), provision(configOf({ ...env, DATA_DIR: other }))])
      assert.strictEqual(one.workspaceId, two.workspaceId)
      assert.deepEqual([await count('workspaces'), await count('domains')], [1, 1])
      for (const made of [one, two]) assert.notStrictEqual(await keyOf(made.adminKey), null)
    } finally {
      rmSync(other, { recursive: true })
    }
  })

  it('provisions another database again', async () => {
    const first = await provision(configOf())
    const other = await createDatabase()
    try {
      const second = await provision(configOf({}, other.url))
      assert.notStrictEqual(second.workspaceId, first.workspaceId)
      assert.notStrictEqual(second.adminKey, first.adminKey)
      assert.notStrictEqual(second.sending?.key, first.sending?.key)
    } finally {
      await other.drop()
    }
  })

  it('creates no new key when one was deactivated', async () => {
    const { adminKey, sending } = await provision(configOf())
    await db.query('UPDATE api_keys SET is_active = false')
    const again = await provision(configOf())
    assert.deepEqual([again.adminKey, again.sending], [null, null])
    assert.strictEqual(await count('api_keys'), 2)
    await db.query('UPDATE api_keys SET is_active = true')
    const back = await provision(configOf())
    assert.deepEqual([back.adminKey, back.sending?.key], [adminKey, sending?.key])
  })

  it('uses another domain when the DKIM keys of the first were encrypted with a lost master key', async () => {
    await provision(configOf({ MASTER_KEY: '5a'.repeat(32) }))
    const again = await provision(configOf({ MASTER_KEY: 'a5'.repeat(32) }))
    assert.match(again.sending?.domain ?? '', /^hello-[0-9a-f]{8}\.mailstead\.test$/)
    assert.strictEqual((await keyOf(again.sending?.key))?.domainStatus, 'verified')
    assert.strictEqual(await count('workspaces'), 1)
  })

  it('creates only an admin key when mail goes to the internet, and the rest for a later sandbox', async () => {
    const real = await provision(configOf({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.example.net' }))
    assert.deepEqual([real.isSandbox, real.sending, await count('domains')], [false, null, 0])
    assert.strictEqual(real.showsKeys, false)
    const sandbox = await provision(configOf())
    assert.strictEqual(sandbox.adminKey, real.adminKey)
    assert.strictEqual(sandbox.sending?.domain, 'hello.mailstead.test')
    assert.deepEqual(await provision(configOf({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.example.net' })), real)
  })
})

describe('the banner', () => {
  const READY: FirstRun = {
    address: 'http://localhost:3000',
    isSandbox: true,
    showsKeys: true,
    workspaceId: 'W',
    adminKey: 'ms_ab.adm_cd',
    sending: { key: 'ms_ab.live_ef', domain: 'hello.mailstead.test' },
    submission: { host: '127.0.0.1', ports: { plain: 2587, tls: 2465, alt: 2525 } },
  }
  const plain = (text: string): string => text

  it('has one command that a shell runs unchanged', () => {
    const lines = bannerText({ ...READY, address: `http://localhost:3000/it's` }, plain)
      .split('\n')
      .filter((line) => line.startsWith('curl '))
    assert.strictEqual(lines.length, 1)
    const { stdout } = spawnSync(
      '/bin/sh',
      ['-c', `curl() { for word; do printf '%s\\n' "$word"; done; }\n${lines[0]}`],
      { encoding: 'utf8' },
    )
    const words = stdout.trimEnd().split('\n')
    const body = JSON.parse(words.pop() ?? '') as { from: string; to: string }
    assert.deepEqual(words, [
      '-sS',
      `http://localhost:3000/it's/api/v1/send-email/instant`,
      '-H',
      'Authorization: Bearer ms_ab.live_ef',
      '-H',
      'Content-Type: application/json',
      '-d',
    ])
    assert.deepEqual([body.from, body.to], ['Mailstead <hello@hello.mailstead.test>', 'you@example.com'])
  })

  it('has one command that submits a message by SMTP', () => {
    const [line = ''] = bannerText(READY, plain)
      .split('\n')
      .filter((one) => one.startsWith('python3 '))
    const checked = spawnSync('/bin/sh', ['-c', `python3() { printf '%s' "$2"; }\n${line}`], { encoding: 'utf8' })
    assert.include(checked.stdout, 'SMTP("127.0.0.1", 2587); s.login("anything", "ms_ab.live_ef"); ')
    assert.match(checked.stdout, /"ms_ab\.live_ef"\); .*\["you@example\.com"\], "From: .*\\n\\nThis mail/)
  })

  const CASES: readonly [what: string, change: Partial<FirstRun>, has: readonly string[], hasNot: readonly string[]][] =
    [
      [
        'in the sandbox',
        {},
        [
          'http://localhost:3000',
          'ms_ab.adm_cd',
          'ms_ab.live_ef',
          'bin/mailstead inbox',
          '127.0.0.1, port 2587 or 2525 (STARTTLS), 2465 (TLS)',
          'python3 -c ',
        ],
        ['domain add'],
      ],
      ['without the submission role', { submission: null }, ['curl'], ['SMTP', 'python3']],
      [
        'at a later start',
        { showsKeys: false },
        ['bin/mailstead env prints them', 'eval "$(bin/mailstead env)"', '"Authorization: Bearer $MAILSTEAD_KEY"'],
        ['ms_ab.adm_cd', 'ms_ab.live_ef'],
      ],
      [
        'live',
        { isSandbox: false, sending: null, showsKeys: false },
        ['bin/mailstead env prints them', 'bin/mailstead domain add --workspace W example.com'],
        ['ms_ab.adm_cd', 'inbox', 'curl'],
      ],
      [
        'on the internet',
        { isSandbox: false, sending: null },
        ['ms_ab.adm_cd', 'bin/mailstead domain add --workspace W example.com'],
        ['inbox', 'curl'],
      ],
      [
        'without an admin key',
        { adminKey: null },
        ['bin/mailstead key create --type admin --workspace W', 'ms_ab.live_ef'],
        ['null'],
      ],
      [
        'without a sending key',
        { sending: null },
        ['bin/mailstead key create --workspace W --type regular', 'inbox'],
        ['null', 'curl'],
      ],
    ]
  for (const [what, change, has, hasNot] of CASES) {
    it(what, () => {
      const text = bannerText({ ...READY, ...change }, plain)
      for (const part of has) assert.strictEqual(text.includes(part), true, part)
      for (const part of hasNot) assert.strictEqual(text.includes(part), false, part)
    })
  }

  it('has no colours by default', () => {
    assert.strictEqual(bannerText(READY, plain).includes('\u001b'), false)
    assert.strictEqual(bannerText(READY, (text) => `\u001b[1m${text}`).includes('\u001b[1mMailstead is ready'), true)
  })
})
