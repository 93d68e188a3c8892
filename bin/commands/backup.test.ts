/**
 * Backups of a database with all kinds of objects: what a restore brings back is the same, to an empty database and to
 * one in use, and whatever is wrong with a backup, nothing of the target changes.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { run as runBackup } from './backup.ts'
import { run as runRestore } from './restore.ts'
import { listSuspensions } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi } from '#test/support/api.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { administer } from '#test/support/older-database.ts'
import { createTenantObjects } from '#test/support/tenant-objects.ts'

const MASTER_KEY = '5a'.repeat(32)
const OTHER_KEY = '6b'.repeat(32)

/** The rows of each table, as digests; partitions by their own name. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const tables = await administer(
    url,
    `SELECT c.relname AS name FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
  )
  const content: Record<string, string> = {}
  for (const { name = '' } of tables) {
    const [row] = await administer(
      url,
      sql`
        SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS digest
        FROM "${name}" t
      `,
    )
    content[name] = row?.['digest'] ?? ''
  }
  for (const name of NOT_COMPARED) delete content[name]
  return content
}

/** Times of migrations; what the backup itself and the restore write; changes, which no backup has. */
const NOT_COMPARED = [
  'migrations',
  'migrations_lock',
  'migration_steps',
  'backups',
  'audit_log',
  'restore_fence',
  'suspensions',
  'leases',
  'changes',
]

interface RestoreCall {
  readonly args: string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Tables, columns, constraints, indexes, triggers, functions and sequences, as text. */
async function schemaOf(url: string): Promise<string[]> {
  const rows = await administer(
    url,
    sql`
      SELECT format('column %s.%s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod),
        coalesce(pg_get_expr(adbin, adrelid), '')) AS item
      FROM pg_attribute a
      JOIN pg_class c ON c.oid = attrelid AND c.relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
      LEFT JOIN pg_attrdef d ON d.adrelid = attrelid AND d.adnum = attnum
      WHERE attnum > 0
      UNION ALL
      SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid))
      FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'index ' || indexdef
      FROM pg_indexes
      WHERE schemaname = 'public'
      UNION ALL
      SELECT format('trigger %s %s', tgenabled, pg_get_triggerdef(oid))
      FROM pg_trigger
      WHERE NOT tgisinternal
      UNION ALL
      SELECT pg_get_functiondef(oid)
      FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT format('sequence %s %s', sequencename, last_value)
      FROM pg_sequences
      WHERE schemaname = 'public' AND sequencename !~ '^(migration|changes)'
      ORDER BY 1
    `,
  )
  return rows.map(({ item = '' }) => item)
}

describe('backup and restore', function () {
  this.timeout(300_000)
  let origin: OpenDatabase
  let folder: string
  let target: OpenDatabase
  let made: string

  const commandEnv = (url: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    DATABASE_URL: url,
    REDIS_URL: 'redis://127.0.0.1:1',
    DATA_DIR: join(folder, 'data'),
    MASTER_KEY,
    ...more,
  })
  const backup = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> =>
    runCommand(runBackup, args, commandEnv(origin.url, env))
  const restore = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> =>
    runCommand(runRestore, args, commandEnv(target.url, env))
  const keyFile = (): string => join(folder, 'backup.key')

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mailstead-backup-'))
    origin = await openDatabase()
    const api = await startApi({ MASTER_KEY, OAUTH_PROVIDERS_FILE: 'test/support/oauth-providers.json' }, origin.url)
    await createTenantObjects(api, api, 'backup')
    // it changes nothing while digests are compared
    await api.stop()
    const { out } = await backup(['--new-key', keyFile(), '--json'])
    const { recipient } = JSON.parse(out) as { recipient: string }
    made = join(folder, 'made.tar.gz.age')
    const { code, err } = await backup([made, '--recipients', recipient])
    assert.strictEqual(code, 0, err)
  })
  beforeEach(async () => {
    target = await openDatabase()
  })
  afterEach(() => target.close())
  after(async () => {
    await origin.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('brings back the same tables and rows, and suspends all mail', async () => {
    const { code, out, err } = await restore([made, '--key-file', keyFile()])
    assert.strictEqual(code, 0, err)
    assert.match(out, /All mail is suspended/)
    assert.deepEqual(await contentOf(target.url), await contentOf(origin.url))
    assert.deepEqual(await schemaOf(target.url), await schemaOf(origin.url))
    const [suspension] = await listSuspensions(target.db)
    assert.deepEqual([suspension?.kind, suspension?.subject], ['domain', '*'])
    assert.match(suspension?.reason ?? '', /^a backup was restored: changes after \S+Z are missing/)
  })
  /** Every restore below fails, and leaves the target as it was. */
  const failures: readonly {
    readonly name: string
    readonly prepare: () => RestoreCall | Promise<RestoreCall>
    readonly says: RegExp
  }[] = [
    {
      name: 'a database that is not empty',
      prepare: async () => {
        await target.db.query(
          `INSERT INTO workspaces (id, key_part, name, plan) VALUES (gen_random_uuid(), 'k', 'w', 'launch')`,
        )
        return { args: [made, '--key-file', keyFile()] }
      },
      says: /not empty.*--overwrite/,
    },
    {
      name: 'a database that processes use',
      prepare: async () => {
        await target.db.query(`INSERT INTO nodes (name) VALUES ('mail-1')`)
        await target.db.query(
          sql`
            INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
            VALUES (gen_random_uuid(), 'mail-1', '{api}', '1', '{}', false)
          `,
        )
        return { args: [made, '--key-file', keyFile(), '--overwrite'] }
      },
      says: /runs with this database on mail-1/,
    },
    {
      name: 'another key',
      prepare: async () => {
        const file = join(folder, 'other.key')
        rmSync(file, { force: true })
        await backup(['--new-key', file])
        return { args: [made, '--key-file', file] }
      },
      says: /none of the given keys/,
    },
    {
      name: 'no key',
      prepare: () => ({ args: [made] }),
      says: /encrypted.*--key-file/,
    },
    {
      name: 'a backup that was cut',
      prepare: () => ({ args: [damaged((bytes) => bytes.subarray(0, bytes.length - 1000)), '--key-file', keyFile()] }),
      says: /cannot be used|cannot be decrypted/,
    },
    {
      name: 'a backup with a changed byte',
      prepare: () => ({ args: [damaged((bytes) => flip(bytes, bytes.length - 2000)), '--key-file', keyFile()] }),
      says: /cannot be used|cannot be decrypted/,
    },
    {
      name: 'a file that is no backup',
      prepare: () => ({ args: [damaged(() => Buffer.from('hello')), '--key-file', keyFile()] }),
      says: /no backup of Mailstead/,
    },
    {
      name: 'another master key that is no file',
      prepare: () => ({ args: [made, '--key-file', keyFile()], env: { MASTER_KEY: OTHER_KEY } }),
      says: /MASTER_KEY lacks the master keys [0-9a-f]{8}.*--files/s,
    },
    { name: 'a file that does not exist', prepare: () => ({ args: [join(folder, 'none')] }), says: /There is no file/ },
  ]

  function damaged(change: (bytes: Buffer) => Buffer): string {
    const file = join(folder, 'damaged')
    writeFileSync(file, change(readFileSync(made)))
    return file
  }
  function flip(bytes: Buffer, at: number): Buffer {
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes
  }

  for (const { name, prepare, says } of failures)
    it(`refuses ${name}, and changes nothing`, async () => {
      const { args, env } = await prepare()
      const before = await contentOf(target.url)
      const result = await restore(args, env).catch((error: unknown) => {
        assert.ok(error instanceof Error && error.name === 'UserError', String(error))
        return { code: 1, out: '', err: error.message }
      })
      assert.strictEqual(result.code, 1)
      assert.match(result.err, says)
      assert.deepEqual(await contentOf(target.url), before)
      const left = await administer(target.url, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'mailstead%'`)
      assert.deepEqual(left, [])
    })

  it('replaces a database in use with --overwrite, and its master key file', async () => {
    await target.db.query(
      `INSERT INTO workspaces (id, key_part, name, plan) VALUES (gen_random_uuid(), 'k', 'w', 'launch')`,
    )
    const file = join(folder, 'second.key')
    writeFileSync(file, `${OTHER_KEY}\n`, { mode: 0o600 })
    const env = { MASTER_KEY: undefined, MASTER_KEY_FILE: file }
    const { code, out, err } = await restore([made, '--key-file', keyFile(), '--overwrite', '--json'], env)
    assert.strictEqual(code, 0, err)
    const report = JSON.parse(out) as { kept_keys: string; settings: string; suspended: boolean }
    assert.strictEqual(readFileSync(file, 'utf8').trim(), MASTER_KEY)
    assert.strictEqual(readFileSync(report.kept_keys, 'utf8').trim(), OTHER_KEY)
    assert.include(readFileSync(join(report.settings, 'mailstead.env'), 'utf8'), 'DATABASE_URL=')
    assert.deepEqual(await contentOf(target.url), await contentOf(origin.url))
    const [entry] = await administer(target.url, `SELECT action FROM audit_log WHERE kind = 'restore'`)
    assert.strictEqual(entry?.['action'], 'restore')
  })

  it('restores to a database without tables', async () => {
    await administer(target.url, 'DROP SCHEMA public CASCADE', 'CREATE SCHEMA public AUTHORIZATION mailstead_app')
    const { code, err } = await restore([made, '--key-file', keyFile()])
    assert.strictEqual(code, 0, err)
    assert.deepEqual(await contentOf(target.url), await contentOf(origin.url))
  })

  it('verifies a backup, and writes only its keys and settings', async () => {
    const files = join(folder, 'files')
    const { code, out } = await restore([made, '--key-file', keyFile(), '--files', files])
    assert.strictEqual(code, 0)
    assert.match(out, /is complete: \d+ rows/)
    assert.strictEqual(readFileSync(join(files, 'master.key'), 'utf8').trim(), MASTER_KEY)
    assert.strictEqual((await target.db.query('SELECT 1 FROM workspaces')).rowCount, 0)
  })

  it('encrypts with a passphrase, or not at all if that is asked for', async () => {
    const passphrase = join(folder, 'passphrase')
    writeFileSync(passphrase, 'correct horse battery\n')
    const made2 = join(folder, 'passphrase.tar.gz.age')
    assert.strictEqual((await backup([made2, '--passphrase-file', passphrase])).code, 0)
    assert.strictEqual((await restore([made2, '--passphrase-file', passphrase, '--verify'])).code, 0)
    const plain = join(folder, 'plain/')
    assert.isFalse(existsSync(plain))
    await assert.isRejected(backup([plain, '--plain']), /There is no folder/)
    const { code, err } = await backup([join(folder, 'plain.tar.gz'), '--plain'])
    assert.strictEqual(code, 0)
    assert.match(err, /not encrypted/)
    assert.strictEqual((await restore([join(folder, 'plain.tar.gz'), '--verify'])).code, 0)
    await assert.isRejected(backup([join(folder, 'plain.tar.gz'), '--plain']), /exists\. A backup replaces no file/)
    await assert.isRejected(backup([join(folder, 'x')]), /so it is encrypted/)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.partial')),
      [],
    )
  })
})
