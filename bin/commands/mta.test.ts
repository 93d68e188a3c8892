/** The start of the mta process when something that it needs is missing or wrong. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { assert } from 'chai'
import { Client } from 'pg'
import { createDatabase } from '#test/support/stores.ts'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')
const NOBODY = '127.0.0.1:1'

describe('mailstead mta', () => {
  let dataDir: string
  let database: { readonly url: string; drop(): Promise<void> }
  before(async () => {
    dataDir = mkdtempSync('/tmp/mailstead-mta-')
    database = await createDatabase()
  })
  after(async () => {
    rmSync(dataDir, { recursive: true })
    await database.drop()
  })

  interface Ended {
    readonly code: unknown
    readonly said: string
  }
  /** Runs it until it ends; `onOutput` is called with what it said so far and may end it. */
  async function run(
    roles: string,
    env: object,
    onOutput: (said: string, end: () => void) => void = () => undefined,
  ): Promise<Ended> {
    const child = spawn(process.execPath, [PROGRAM, 'mta', '--roles', roles], {
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: dataDir,
        MASTER_KEY: '5a'.repeat(32),
        MODE: 'live',
        MAILSTEAD_HOSTNAME: 'mta.sender.example',
        LOG_LEVEL: 'warn',
        KEEP_ROOT: 'true',
        REDIS_URL: `redis://${NOBODY}`,
        DATABASE_URL: database.url,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [said, isEnding] = ['', false]
    const end = (): void => {
      if (!isEnding) child.kill('SIGTERM')
      isEnding = true
    }
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => onOutput((said += chunk.toString()), end))
    const [code] = (await once(child, 'close')) as [unknown]
    return { code, said }
  }
  async function ask(statement: string): Promise<unknown[]> {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query<object>(statement)
    await client.end()
    return rows
  }
  const away = { DATABASE_URL: `postgres://x@${NOBODY}/x` }

  it('stops immediately on SIGTERM while it waits for PostgreSQL', async () => {
    const began = performance.now()
    const { code, said } = await run('outbound', away, (text, end) => {
      if (text.includes('waiting for it')) end()
    })
    assert.strictEqual(code, 0, said)
    assert.ok(performance.now() - began < 20_000)
  })

  it('waits until the database is migrated', async () => {
    await ask('ALTER TABLE leases RENAME TO leases_later')
    let migrated: Promise<unknown> | null = null
    const { code, said } = await run('outbound', { LOG_LEVEL: 'info' }, (text, end) => {
      if (text.includes('waiting for `mailstead migrate`'))
        migrated ??= ask('ALTER TABLE leases_later RENAME TO leases')
      if (text.includes('"started"')) end()
    })
    assert.strictEqual(code, 0, said)
    assert.ok(migrated !== null, said)
  })

  it('stops the other roles in order when one cannot start, and leaves no lease', async () => {
    const server = createServer().listen(0)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { code, said } = await run('outbound,inbound', { INBOUND_PORT: String(port) })
    server.close()
    assert.strictEqual(code, 1, said)
    assert.match(said, /^mailstead: inbound mail: port \d+ is in use/m)
    assert.deepEqual(await ask('SELECT FROM leases'), [])
  })

  const file = (name: string): string => join(dataDir, name)
  const CASES: readonly (readonly [what: string, roles: string, env: () => object, message: RegExp])[] = [
    [
      'a shaping file that is not there',
      'outbound',
      () => ({ SHAPING_FILE: file('none') }),
      /^mailstead: .*SHAPING_FILE.*ENOENT.*none'$/m,
    ],
    [
      'a shaping file that is wrong',
      'outbound',
      () => ({ SHAPING_FILE: file('rubbish') }),
      /^mailstead: .*SHAPING_FILE.*rubbish.*line 1/m,
    ],
    [
      'authorities that are not there',
      'outbound',
      () => ({ EXTRA_CA_FILE: file('none') }),
      /^mailstead: EXTRA_CA_FILE cannot be read: ENOENT/m,
    ],
    [
      'authorities that are none',
      'outbound',
      () => ({ EXTRA_CA_FILE: file('rubbish') }),
      /^mailstead: EXTRA_CA_FILE: .* contains no PEM certificate/m,
    ],
    [
      'plans that are wrong',
      'outbound',
      () => ({ PLANS_FILE: file('rubbish') }),
      /^mailstead: PLANS_FILE cannot be read/m,
    ],
    [
      'a certificate that is none',
      'inbound',
      () => ({ TLS_CERT_FILE: file('rubbish'), TLS_KEY_FILE: file('rubbish') }),
      /^mailstead: TLS_CERT_FILE and TLS_KEY_FILE .*cannot be used/m,
    ],
  ]
  for (const [what, roles, env, message] of CASES) {
    it(`does not start with ${what}, and says so in one line`, async () => {
      writeFileSync(file('rubbish'), '{ rubbish')
      const { code, said } = await run(roles, { INBOUND_PORT: '0', ...env() }, (text, end) => {
        if (text.includes('"started"')) end()
      })
      assert.strictEqual(code, 1, said)
      assert.match(said, message)
      assert.notMatch(said, /^ +at /m)
    })
  }
})
