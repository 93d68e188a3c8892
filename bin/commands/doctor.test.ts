/** `mailstead doctor` with real stores and servers, healthy and broken. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { assert } from 'chai'
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import { sql } from '#src/stores/sql.ts'
import { systemClock } from '#src/platform/clock.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { addDomain } from '#src/domains/domains.ts'
import { openRedis } from '#src/stores/redis.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { runCommand } from '#test/support/command.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { createDatabase, startRedis, type TestDatabase, type TestServer } from '#test/support/stores.ts'
import { run } from './doctor.ts'

const MASTER_KEY = '5a'.repeat(32)

describe('mailstead doctor', () => {
  let database: TestDatabase
  let db: Db
  let redis: TestServer
  let dns: TestDns
  let dataDir: string
  let env: Record<string, string>

  before(async () => {
    database = await createDatabase()
    db = openDb(database.url, pino({ level: 'silent' }), 2)
    redis = await startRedis()
    dns = await startDns({ 'gmail.com': { MX: [[5, 'mx.example']] }, 'mx.example': { A: ['127.0.0.1'] } })
    dataDir = mkdtempSync('/tmp/mailstead-test-doctor-')
    const workspace = await createWorkspace(db, { name: 'W', plan: 'free' })
    await addDomain(
      { db, encryption: createEncryption(Buffer.from(MASTER_KEY, 'hex')), config: loadConfig({}), clock: systemClock },
      { workspaceId: workspace.id, name: 'sealed.example' },
    )
    env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      DATA_DIR: dataDir,
      MASTER_KEY,
      MAILSTEAD_HOSTNAME: 'mail.example.net',
      DNS_SERVERS: dns.server,
    }
  })
  after(async () => {
    await db.close()
    await dns.stop()
    await redis.stop()
    await database.drop()
    rmSync(dataDir, { recursive: true })
  })

  /** Status and detail of each check by name. */
  async function examine(
    change: Record<string, string> = {},
  ): Promise<{ code: number; of: (name: string) => string; todo: (name: string) => string }> {
    const { code, out } = await runCommand(run, ['--json'], { ...env, ...change })
    const { ok, checks } = JSON.parse(out) as {
      ok: boolean
      checks: { name: string; status: string; detail: string; todo: string }[]
    }
    assert.strictEqual(ok, code === 0)
    const find = (name: string): (typeof checks)[number] =>
      checks.find((check) => check.name === name) ?? assert.fail(name)
    return { code, of: (name) => `${find(name).status}: ${find(name).detail}`, todo: (name) => find(name).todo }
  }

  it('reports a healthy installation', async () => {
    const server = createServer((socket) => socket.end())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    try {
      const { code, of } = await examine({ SMTP_OUT_PORT: String(port) })
      assert.match(of('PostgreSQL'), /^(?:ok|warning): version \d+/) // the cluster of a test run has no fsync
      assert.match(of('migrations'), /^ok: (\d+) of \1$/)
      assert.match(of('clock'), /^ok/)
      assert.strictEqual(of('master key'), 'ok: MASTER_KEY decrypts the stored keys')
      assert.match(of('Redis'), /^ok: version/)
      assert.strictEqual(of('Redis eviction'), 'ok: noeviction')
      assert.strictEqual(of('Redis persistence'), 'ok: append-only file')
      assert.strictEqual(of('DNS'), `ok: ${dns.server}`)
      assert.strictEqual(of('port 25 out'), `ok: port ${port} of gmail.com (127.0.0.1) can be reached`)
      assert.strictEqual(of('suspensions'), 'ok: no mail is suspended')
      assert.match(of('mode'), /^warning: MODE is not set: mail goes where DNS_SERVERS or ROUTES say/)
      assert.match(of('public URLs'), /^warning: PUBLIC_URL is http:\/\/localhost/)
      assert.strictEqual(of('queue age'), 'ok: no mail is late')
      assert.match(of('retention'), /^ok: the oldest partition/)
      assert.strictEqual(code, 0)
    } finally {
      server.close()
    }
  })
  it('recommends an own return-path to domains without one', async () => {
    const setTo = (changes: string): Promise<unknown> => db.query(`UPDATE domains SET ${changes}`)
    assert.match((await examine()).of('return-path'), /^skipped/)
    await setTo(`verification_status = 'verified'`)
    const { of, todo } = await examine()
    assert.strictEqual(
      of('return-path'),
      'ok: of 1 verified domain, 1 without a return-path of its own (MAIL FROM): sealed.example',
    )
    assert.match(todo('return-path'), /publish the MX and TXT records of bounce\.sealed\.example/)
    await setTo(`mail_from_status = 'verified'`)
    assert.strictEqual(
      (await examine()).of('return-path'),
      'ok: every verified domain has its own return-path (MAIL FROM)',
    )
    await setTo(`verification_status = 'pending', mail_from_status = 'pending'`)
  })
  it('warns of sending domains without a valid DMARC record, and of a zone that is not published', async () => {
    const found = (status: string): Promise<unknown> =>
      db.query(
        sql`
          UPDATE domains
          SET verification_status = 'verified',
            checks = jsonb_build_array(
              jsonb_build_object(
                'purpose', 'dmarc', 'status', $1::text, 'message', '_dmarc.sealed.example: there is no DMARC record'
              )
            )
        `,
        [status],
      )
    assert.match((await examine()).of('sender DMARC'), /^skipped/)
    await found('missing')
    await db.query(`INSERT INTO dkim_zone_records (name, changed_at) VALUES ('a.1.keys', now() - interval '1 hour')`)
    const { of, todo } = await examine()
    assert.strictEqual(
      of('sender DMARC'),
      'warning: 1 of 1 sending domain without a valid DMARC record: ' +
        '_dmarc.sealed.example: there is no DMARC record',
    )
    assert.match(todo('sender DMARC'), /publish _dmarc\.DOMAIN TXT "v=DMARC1; p=none; rua=mailto:dmarc-reports@/)
    assert.match(of('DKIM keys'), /^warning: 1 change of the zone with DKIM keys/)
    await found('ok')
    assert.match((await examine()).of('sender DMARC'), /^ok: 1 sending domain with a valid DMARC record/)
    await db.query(`UPDATE domains SET verification_status = 'pending', checks = NULL`)
    await db.query('DELETE FROM dkim_zone_records')
  })
  it('warns of suspensions, and fails when all mail is suspended', async () => {
    const stop = (subject: string, reason: string): Promise<unknown> =>
      db.query(`INSERT INTO suspensions (kind, subject, reason) VALUES ('domain', $1, $2)`, [subject, reason])
    await stop('slow.example', 'they asked')
    assert.strictEqual((await examine()).of('suspensions'), 'warning: suspended: domain slow.example (they asked)')
    await stop('*', 'a backup was restored')
    const { code, of, todo } = await examine()
    assert.strictEqual(of('suspensions'), 'failed: all mail is suspended: a backup was restored')
    assert.match(todo('suspensions'), /queue resume '\*'/)
    assert.strictEqual(code, 1)
    await db.query('DELETE FROM suspensions')
  })

  it('prints a table for people', async () => {
    const { out } = await runCommand(run, [], { ...env, SMTP_OUT_PORT: '1' })
    assert.match(out, /^ok +migrations +\d+ of \d+$/m)
    assert.match(out, /^warning +port 25 out .*\n +→ many hosting providers block outgoing port 25/m)
    assert.match(out, /\n\nThere (?:is one warning|are \d+ warnings): do what follows →\.\n$/)
  })

  it('reports a wrong and a missing master key', async () => {
    const other = await examine({ MASTER_KEY: 'a5'.repeat(32), SMTP_OUT_PORT: '1' })
    assert.deepEqual(
      [other.code, other.of('master key')],
      [1, 'failed: an encrypted dkim cannot be decrypted: MASTER_KEY is not the key it was encrypted with'],
    )
    const gone = await examine({ MASTER_KEY: '', SMTP_OUT_PORT: '1' })
    assert.strictEqual(
      gone.of('master key'),
      `failed: ${dataDir}/master.key is missing, but stored keys are encrypted with it`,
    )
    const broken = await examine({ MASTER_KEY: 'short', SMTP_OUT_PORT: '1' })
    assert.match(broken.of('master key'), /^failed: MASTER_KEY must be 32 bytes/)
  })

  it('reports pending migrations and a database of a newer version', async () => {
    const {
      rows: [last],
    } = await db.query<{ name: string }>('SELECT name FROM migrations ORDER BY id DESC LIMIT 1')
    const add = (name = ''): Promise<unknown> =>
      db.query('INSERT INTO migrations (name, batch, migration_time) VALUES ($1, 1, now())', [name])
    try {
      await add('999-future.ts')
      assert.match(
        (await examine({ SMTP_OUT_PORT: '1' })).of('migrations'),
        /^warning: the database is newer.*999-future/,
      )
      await add('999-contract-future.ts')
      assert.match((await examine({ SMTP_OUT_PORT: '1' })).of('migrations'), /^failed: a later version has removed/)
      await db.query(`DELETE FROM migrations WHERE name LIKE '999%' OR name = $1`, [last?.name])
      const { code, of, todo } = await examine({ SMTP_OUT_PORT: '1' })
      assert.deepEqual(
        [code, of('migrations'), todo('migrations')],
        [1, `failed: pending: ${last?.name}`, 'run mailstead upgrade'],
      )
    } finally {
      await add(last?.name)
    }
  })

  it('reports a Redis that may evict keys', async () => {
    const client = openRedis(redis.url, pino({ level: 'silent' }))
    await once(client, 'ready')
    try {
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
      await client.config('SET', 'appendonly', 'no')
      const { code, of } = await examine({ SMTP_OUT_PORT: '1' })
      assert.strictEqual(code, 1)
      assert.match(of('Redis eviction'), /^failed: maxmemory-policy is allkeys-lru/)
      assert.match(of('Redis persistence'), /^warning/)
    } finally {
      await client.config('SET', 'maxmemory-policy', 'noeviction')
      await client.config('SET', 'appendonly', 'yes')
      client.disconnect()
    }
  })

  it('reports stores that accept a connection and do not answer, and ends', async () => {
    const [postgres, silentRedis] = [await startSilentProxy(database.url), await startSilentProxy(redis.url)]
    postgres.silence('new')
    silentRedis.silence('new')
    try {
      const { code, of } = await examine({ DATABASE_URL: postgres.url, REDIS_URL: silentRedis.url, SMTP_OUT_PORT: '1' })
      assert.strictEqual(code, 1)
      assert.match(of('PostgreSQL'), /^failed: .* cannot be reached \(.*timeout/)
      assert.match(of('Redis'), /^failed: cannot be reached \(Redis sent nothing/)
      assert.match(of('migrations'), /^skipped/)
    } finally {
      await Promise.all([postgres.stop(), silentRedis.stop()])
    }
  })

  it('ends when a statement of a check hangs', async () => {
    const checked = Promise.withResolvers<void>()
    const holding = db.transaction(async (tx) => {
      await tx.query('LOCK TABLE migrations')
      await checked.promise
    })
    try {
      const { code, of } = await examine({ SMTP_OUT_PORT: '1' })
      assert.strictEqual(code, 1)
      assert.match(of('migrations'), /^failed: .*statement timeout/)
      assert.match(of('PostgreSQL'), /^(ok|warning): version/)
    } finally {
      checked.resolve()
      await holding
    }
  })

  it('continues when PostgreSQL and Redis are away', async () => {
    const { code, of } = await examine({
      DATABASE_URL: 'postgres://user:hidden@127.0.0.1:1/db',
      REDIS_URL: 'redis://127.0.0.1:1',
      SMTP_OUT_PORT: '1',
    })
    assert.strictEqual(code, 1)
    assert.match(of('PostgreSQL'), /^failed: PostgreSQL at 127\.0\.0\.1:1\/db cannot be reached/)
    assert.match(of('Redis'), /^failed: cannot be reached/)
    assert.strictEqual(of('migrations'), 'skipped: PostgreSQL is away')
    assert.strictEqual(of('Redis eviction'), 'skipped: Redis is away')
    assert.strictEqual(of('DNS'), `ok: ${dns.server}`)
  })

  it('checks an installation that was never started', async () => {
    const { code, of, todo } = await examine({
      DATABASE_URL: '',
      REDIS_URL: '',
      DATA_DIR: `${dataDir}/none`,
      DNS_SERVERS: '',
      MAILSTEAD_HOSTNAME: '',
    })
    assert.strictEqual(code, 1)
    assert.match(of('PostgreSQL'), /^failed: Mailstead is not running/)
    assert.match(todo('PostgreSQL'), /npm start/)
    assert.strictEqual(of('Redis'), 'skipped: the embedded Redis runs only while Mailstead runs')
    assert.strictEqual(of('DNS'), 'skipped: the sandbox has its own DNS server')
  })

  it('reports a DNS server that does not answer, among others and alone', async () => {
    const one = await examine({ DNS_SERVERS: `${dns.server},127.0.0.1:1`, SMTP_OUT_PORT: '1' })
    assert.strictEqual(one.of('DNS'), 'warning: no answer from 127.0.0.1:1')
    const all = await examine({ DNS_SERVERS: '127.0.0.1:1', SMTP_OUT_PORT: '1' })
    assert.deepEqual([all.code, all.of('DNS')], [1, 'failed: no answer from 127.0.0.1:1'])
    assert.match(all.of('port 25 out'), /^skipped/)
  })

  it('does not check outbound port 25 when all mail goes to a relay', async () => {
    assert.strictEqual(
      (await examine({ ROUTES: '*=smtp://127.0.0.1:2525' })).of('port 25 out'),
      'skipped: ROUTES sends all mail to another server',
    )
  })
})
