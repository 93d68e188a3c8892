/**
 * Backups while partitions are being detached, dropped or rewritten: each has all rows once, and can be restored.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { rewritePartitions } from '#src/retention/partition-rewrites.ts'
import { saveRule } from '#src/retention/periods.ts'
import { monthOf, PARTITIONED, partitionName } from '#src/stores/partition-names.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { runCommand } from '#test/support/command.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { storedMail } from '#worker/retention.test-data.ts'
import { run as runBackup } from './backup.ts'
import { run as runRestore } from './restore.ts'

const DAY_MS = 24 * 3600 * 1000
const OLD_DAYS = 200

describe('backups of partitions that change', function () {
  this.timeout(300_000)
  let ctx: TestContext
  let target: OpenDatabase
  let folder: string
  let backups = 0
  const week = (table: keyof typeof PARTITIONED): string => partitionName(table, Date.now() - OLD_DAYS * DAY_MS)

  beforeEach(async () => {
    ctx = await createContext()
    target = await openDatabase()
    folder = mkdtempSync(join(tmpdir(), 'mailstead-backup-'))
    const workspaceId = await ctx.newWorkspace()
    await saveRule(ctx.db, { workspaceId }, { bodies: 400, events: 400, messages: 400 })
    for (const days of [OLD_DAYS, firstDays(), firstDays() - 7, 0]) await storedMail(ctx, workspaceId).store(days)
  })
  afterEach(async () => {
    await target.close()
    await ctx.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const firstDays = (): number => Math.floor((Date.now() - monthOf(Date.now() - OLD_DAYS * DAY_MS).from) / DAY_MS) - 1
  const digests = (db: TestContext['db']): Promise<string[]> =>
    Promise.all(
      Object.keys(PARTITIONED).map(async (table) => {
        const { rows } = await db.query<{ digest: string }>(
          `SELECT count(*) || ' ' || md5(string_agg(t::text, ',' ORDER BY t::text)) AS digest FROM ${table} t`,
        )
        return `${table} ${rows[0]?.digest ?? ''}`
      }),
    )

  const backUpAndRestore = async (): Promise<void> => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1', DATA_DIR: join(folder, 'data'), MASTER_KEY: '5a'.repeat(32) }
    const file = join(folder, `${++backups}.tar.gz`)
    const made = await runCommand(runBackup, [file, '--plain'], { ...env, DATABASE_URL: ctx.databaseUrl })
    assert.strictEqual(made.code, 0, made.err)
    const restored = await runCommand(runRestore, [file], { ...env, DATABASE_URL: target.url })
    assert.strictEqual(restored.code, 0, restored.err)
  }

  it('have the rows of a partition that is detached and not dropped', async () => {
    const before = await digests(ctx.db)
    await ctx.db.query(`COMMENT ON TABLE ${week('events')} IS 'mailstead: expired'`)
    await ctx.db.query(`ALTER TABLE events DETACH PARTITION ${week('events')} CONCURRENTLY`)
    await ctx.db.query(`ALTER TABLE attempts DETACH PARTITION ${week('attempts')} CONCURRENTLY`) // by the operator
    await backUpAndRestore()
    assert.deepEqual(await digests(target.db), before)
  })

  it('have each row once while partitions are rewritten, and a restored database rewrites them again', async () => {
    const before = await digests(ctx.db)
    for (let i = 0; i < 3; i++) await rewritePartitions(ctx, { budgetMs: 0, pages: 1 })
    assert.strictEqual((await ctx.db.query('SELECT FROM partition_rewrites')).rows.length, 1)
    await backUpAndRestore()
    assert.deepEqual(await digests(target.db), before)
    while (await rewritePartitions({ ...ctx, db: target.db }));
    assert.deepEqual(await digests(target.db), before)
    const { rows } = await target.db.query(`SELECT to_regclass('${week('messages').slice(0, -2)}') AS name`)
    assert.notDeepEqual(rows, [{ name: null }])
    await backUpAndRestoreAgain()
  })

  /** Months have other names and bounds than weeks. */
  const backUpAndRestoreAgain = async (): Promise<void> => {
    while (await rewritePartitions(ctx));
    await target.close()
    target = await openDatabase()
    await backUpAndRestore()
    assert.deepEqual(await digests(target.db), await digests(ctx.db))
  }
})
