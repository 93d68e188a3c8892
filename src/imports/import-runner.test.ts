/** Imports that are interrupted, cancelled or broken, on PostgreSQL. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestContext } from '#test/support/context.ts'
import { purgeImports } from './purge-imports.ts'
import { cancelImport, findImport } from './imports.ts'
import { runImports } from './import-runner.ts'
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

  describe('resumes where it stopped', () => {
    const rows = Array.from(
      { length: 12_000 },
      (_, i) => `person-${i % 10_000}@x.example,Näme ${i},"multi\r\nline ""${i}"""`,
    )
    const file = `email,first_name,company\r\n${rows.join('\r\n')}\r\n`
    const COUNTS = { ...NONE, rowCount: 12_000, added: 10_000, joined: 10_000, duplicates: 2000 }

    it('after a worker was killed at any step', async () => {
      const importId = await bench.upload(file)
      for (let step = 0; step < 4; step++) {
        // its lease stays, as after kill -9
        await runImports(failingAfter(ctx, 4 + 5 * step)).catch(() => undefined)
        await ctx.db.query(
          `UPDATE imports SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL`,
        )
      }
      const half = await findImport(ctx.db, bench.workspaceId, importId)
      assert.ok(
        half !== null && half.state === 'running' && half.rowCount > 0 && half.rowCount < 12_000,
        JSON.stringify(half?.rowCount),
      )
      assert.deepEqual(countsOf(await bench.finish(importId)), COUNTS)
      const {
        rows: [counted],
      } = await ctx.db.query<{ n: number; names: number }>(
        sql`
          SELECT count(*) AS n,
            count(*) FILTER (WHERE company_name = E'multi\\r\\nline "' || substr(first_name, 6) || '"') AS names
          FROM contacts
          WHERE workspace_id = $1
        `,
        [bench.workspaceId],
      )
      assert.deepEqual(counted, { n: 10_000, names: 10_000 })
    })

    it('a worker that lost its lease writes nothing more', async () => {
      const importId = await bench.upload(file)
      const slow = runImports({
        ...ctx,
        db: {
          ...ctx.db,
          transaction: async (work) => {
            await ctx.db.query('UPDATE imports SET lease = $2 WHERE id = $1', [importId, newId()])
            return ctx.db.transaction(work)
          },
        },
      })
      await slow
      assert.deepEqual(await bench.emails(), [])
      assert.strictEqual((await findImport(ctx.db, bench.workspaceId, importId))?.rowCount, 0)
    })

    it('two workers process two imports without interfering', async () => {
      const ids = [await bench.upload(file), await bench.upload(file)]
      const work = async (): Promise<void> => {
        while (await runImports(ctx, 0)) {
          /* until none waits */
        }
      }
      await Promise.all([work(), work()])
      const done = await Promise.all(ids.map((id) => bench.finish(id)))
      assert.deepEqual(
        done.map(({ state, rowCount, duplicates }) => [state, rowCount, duplicates]),
        [
          ['done', 12_000, 2000],
          ['done', 12_000, 2000],
        ],
      )
      assert.strictEqual(
        done.reduce((sum, { added }) => sum + added, 0),
        10_000,
      )
    })

    it('a cancelled import stops, and its data is deleted', async () => {
      const importId = await bench.upload(file)
      await runImports(ctx, 0)
      assert.strictEqual(await cancelImport(ctx.db, bench.workspaceId, importId), 'cancelled')
      assert.strictEqual(await cancelImport(ctx.db, bench.workspaceId, importId), 'cancelled')
      assert.strictEqual(await cancelImport(ctx.db, newId(), importId), 'none')
      const { rowCount, state } = await bench.finish(importId)
      assert.ok(state === 'cancelled' && rowCount > 0 && rowCount < 12_000)
      while (await purgeImports(ctx.db)) {
        /* all of it */
      }
      const {
        rows: [left],
      } = await ctx.db.query(
        sql`
          SELECT (SELECT count(*) FROM import_chunks WHERE import_id = $1) AS chunks,
            (SELECT count(*) FROM import_seen WHERE import_id = $1) AS seen
        `,
        [importId],
      )
      assert.deepEqual(left, { chunks: 0, seen: 0 })
    })

    it('its data is deleted in linear time, however old the statistics of the table are', async () => {
      // PostgreSQL knows only another import, and expects no row of this one
      await ctx.db.query('TRUNCATE import_seen')
      await ctx.db.query('INSERT INTO import_seen (import_id, hash) SELECT $1, n FROM generate_series(1, 30000) n', [
        newId(),
      ])
      await ctx.db.query('ANALYZE import_seen')
      const importId = await bench.upload('email\r\na@x.example\r\n')
      await bench.finish(importId)
      await ctx.db.query('INSERT INTO import_seen (import_id, hash) SELECT $1, n FROM generate_series(1, 30000) n', [
        importId,
      ])
      // a list of keys in place of a range takes minutes, and the server gives up after 13 s
      while (await purgeImports(ctx.db)) {
        /* all of it */
      }
      const { rows: left } = await ctx.db.query('SELECT is_cleared AS "isCleared" FROM imports WHERE id = $1', [
        importId,
      ])
      assert.deepEqual(left, [{ isCleared: true }])
    })

    it('shows how many imports are processed before it', async () => {
      await ctx.db.query(`UPDATE imports SET state = 'cancelled'`) // of the tests before
      const other = await createImportBench(ctx)
      const first = await bench.upload(file)
      const second = await other.upload(file)
      const positions = async (): Promise<unknown[]> => [
        (await findImport(ctx.db, bench.workspaceId, first))?.queuePosition,
        (await findImport(ctx.db, other.workspaceId, second))?.queuePosition,
      ]
      assert.deepEqual(await positions(), [0, 1])
      await runImports(ctx, 0) // one batch of the first, which then waits behind the second
      assert.deepEqual(await positions(), [1, 0])
      await other.finish(second)
      assert.deepEqual(await positions(), [null, null])
    })

    it('many imports of one workspace do not delay the import of another one', async () => {
      await ctx.db.query(`UPDATE imports SET state = 'cancelled'`) // of the tests before
      const one = await createImportBench(ctx)
      const other = await createImportBench(ctx)
      const many: string[] = []
      for (let i = 0; i < 3; i++) many.push(await one.upload(file))
      const single = await other.upload('email\r\na@x.example\r\nb@x.example\r\n')
      const positions = (): Promise<unknown[]> =>
        Promise.all([
          ...many.map(async (id) => (await findImport(ctx.db, one.workspaceId, id))?.queuePosition),
          findImport(ctx.db, other.workspaceId, single).then((found) => found?.queuePosition),
        ])
      assert.deepEqual(await positions(), [0, 2, 3, 1])
      await runImports(ctx, 0)
      assert.deepEqual(await positions(), [3, 1, 2, 0])
      await runImports(ctx, 60_000)
      assert.deepEqual(await positions(), [2, 0, 1, null], 'the other workspace had its turn')
    })

    it('deleting the audience fails the import', async () => {
      const importId = await bench.upload(file)
      await runImports(ctx, 0)
      await ctx.db.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [bench.audienceId])
      const { state, reason } = await bench.finish(importId)
      assert.deepEqual([state, reason], ['failed', 'the audience was deleted'])
    })

    it('an internal error fails the import after five times', async () => {
      const importId = await bench.upload(file)
      const broken = { ...ctx, db: { ...ctx.db, transaction: () => Promise.reject(new Error('a bug')) } }
      for (let i = 0; i < 5; i++) assert.strictEqual(await runImports(broken), true)
      assert.strictEqual(await runImports(broken), false)
      const { state, reason } = await bench.finish(importId)
      assert.deepEqual([state, reason], ['failed', 'internal error; see the log of the worker'])
    })
  })
})

/** A context whose database fails at the nth statement. */
function failingAfter(ctx: TestContext, steps: number): TestContext {
  let left = steps
  const die = (): void => {
    if (left-- <= 0) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  }
  return {
    ...ctx,
    db: {
      ...ctx.db,
      query: (statement, values) => {
        die()
        return ctx.db.query(statement, values)
      },
      transaction: (work) =>
        ctx.db.transaction((tx) =>
          work({
            query: (statement, values) => {
              die()
              return tx.query(statement, values)
            },
          }),
        ),
    },
  }
}
