/** Which processes may start on a database that was used in another mode. */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { createSender } from '#test/support/sender.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { newId } from '#src/platform/id.ts'
import { type Log, openLog } from '#src/platform/log.ts'
import { agreeOnMode, agreeOnModeSoon } from './installation-mode.ts'

const LIVE = { MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.example.com' }
const OLD = { HOSTNAME: 'mail.example.com' }

describe('the mode of an installation', () => {
  let database: OpenDatabase
  beforeEach(async () => {
    database = await openDatabase()
  })
  afterEach(() => database.close())

  async function start(env: Record<string, string>): Promise<string> {
    try {
      await agreeOnMode({ db: database.db, config: loadConfig(env) })
      const { rows } = await database.db.query<{ mode: string }>('SELECT mode FROM installation_mode')
      return rows[0]?.mode ?? 'none'
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : 'bug'
    }
  }
  async function acceptMail(): Promise<void> {
    const encryption = createEncryption(Buffer.alloc(32, 7))
    const sender = await createSender({ db: database.db, encryption, keyPrefix: 'ms' }, { domain: 'a.example' })
    await database.db.query(
      sql`
        INSERT INTO messages (
          id, workspace_id, domain_id, tier, from_email, to_list, subject, content_size, recipient_count, created_at
        )
        VALUES ($1, $2, $3, 'normal', 'x@a.example', '[]', 'S', 1, 1, now())
      `,
      [newId(), sender.workspaceId, sender.domainId],
    )
  }

  type Step = readonly [env: Record<string, string>, expected: RegExp]
  const CASES: readonly (readonly [what: string, ...Step[]])[] = [
    ['a new sandbox, also where a shell exports HOSTNAME', [{}, /^sandbox$/], [OLD, /^sandbox$/]],
    ['a sandbox goes live', [{}, /^sandbox$/], [LIVE, /^live$/]],
    ['live, and a process without MODE', [LIVE, /^live$/], [{}, /^ConfigError: This installation is live, but MODE/]],
    ['live, and a sandbox by order', [LIVE, /^live$/], [{ MODE: 'sandbox' }, /^sandbox$/], [{}, /^sandbox$/]],
    ['a test network', [{ DNS_SERVERS: '127.0.0.1:53' }, /^none$/], [{}, /^sandbox$/]],
  ]
  for (const [what, ...steps] of CASES) {
    it(what, async () => {
      for (const [env, expected] of steps) assert.match(await start(env), expected)
    })
  }

  it('an installation of an earlier release gets an error that names what replaces HOSTNAME', async () => {
    await acceptMail()
    const text = await start(OLD)
    assert.match(text, /^ConfigError: Earlier releases went live with HOSTNAME=mail\.example\.com/)
    assert.match(text, /set MODE=live and MAILSTEAD_HOSTNAME=mail\.example\.com\./)
    assert.strictEqual(await start({ ...OLD, MODE: 'sandbox' }), 'sandbox')
  })
  it('a sandbox of an earlier release goes on', async () => {
    await acceptMail()
    assert.strictEqual(await start({}), 'sandbox')
  })
  it('a PostgreSQL that hangs does not keep a process from starting', async () => {
    const warnings: string[] = []
    const log = { warn: (text: string) => warnings.push(text) } as unknown as Log
    const hanging = { query: () => new Promise<never>(() => undefined) } as unknown as Queryable
    await agreeOnModeSoon({ db: hanging, config: loadConfig({}), log })
    assert.deepEqual(warnings, ['MODE was not checked yet: PostgreSQL does not answer'])
  })
  it('refuses at once where PostgreSQL answers', async () => {
    const log = openLog({ logLevel: 'silent' }, 'test')
    await start(LIVE)
    const refusal = await agreeOnModeSoon({ db: database.db, config: loadConfig({}), log }).then(() => 'none', String)
    assert.match(refusal, /This installation is live, but MODE is not set/)
  })
})
