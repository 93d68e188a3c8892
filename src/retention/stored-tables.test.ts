/**
 * Every table of the database is in the list of what bounds it. A new table that grows with the mail, without a row
 * here, fails; so does a row whose file does not delete from the table.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { DROPPED_TABLES } from './stored-partitions.ts'
import { STORED_TABLES, type Bound } from './stored-tables.test-data.ts'

const ROOT = join(import.meta.dirname, '../..')

describe('the tables of the database', () => {
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
  })
  after(() => database.close())

  const tablesWith = (bound: Bound): string[] =>
    [...STORED_TABLES].filter(([, row]) => row.bound === bound).map(([table]) => table)

  const namesOf = async (condition: string): Promise<string[]> =>
    (
      await database.db.query<{ name: string }>(
        sql`
          SELECT relname::text AS name
          FROM pg_class
          WHERE relkind IN ('r', 'p') AND NOT relispartition
            AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'messages'::regclass) AND ${condition}
          ORDER BY relname COLLATE "C"`,
      )
    ).rows.map(({ name }) => name)

  it('each has a bound', async () => {
    const stored = await namesOf('true')
    assert.deepEqual(
      stored.filter((name) => !STORED_TABLES.has(name)),
      [],
      'say in src/retention/stored-tables.test-data.ts what deletes the rows of these tables',
    )
    assert.deepEqual(
      [...STORED_TABLES.keys()].filter((name) => !stored.includes(name)),
      [],
      'these tables do not exist',
    )
  })

  it('those by weeks are the partitioned ones, and retention drops their partitions', async () => {
    const byWeeks = tablesWith('weeks').toSorted()
    assert.deepEqual(byWeeks, await namesOf(`relkind = 'p'`))
    assert.deepEqual(byWeeks, DROPPED_TABLES.map(({ table }) => table as string).toSorted())
  })

  it('those whose rows are deleted name a file that deletes them', () => {
    const isDeletedIn = (text: string, table: string): boolean =>
      new RegExp(String.raw`DELETE FROM ${table}\b`).test(text) ||
      (/DELETE FROM \$\{table\}/.test(text) && text.includes(`'${table}'`))
    const wrong = tablesWith('deleted').filter(
      (table) => !isDeletedIn(readFileSync(join(ROOT, STORED_TABLES.get(table)?.by ?? ''), 'utf8'), table),
    )
    assert.deepEqual(wrong, [])
  })

  it('those of objects go with their workspace, or are of the service', async () => {
    const { rows } = await database.db.query<{ table: string }>(sql`
      WITH RECURSIVE owned (id) AS (
        SELECT 'workspaces'::regclass::oid
        UNION
        SELECT k.conrelid
        FROM pg_constraint k
        JOIN owned o ON o.id = k.confrelid
        WHERE k.contype = 'f' AND k.confdeltype = 'c'
      )
      SELECT id::regclass::text AS table
      FROM owned`)
    const owned = new Set(rows.map(({ table }) => table))
    const others = tablesWith('objects').filter((table) => !owned.has(table))
    // deleted by a step of src/operator/delete-workspace.ts, with their object, or by the operator
    assert.sameMembers(others, [
      'audience_marks',
      'blocked_links',
      'egress_checks',
      'egress_members',
      'egress_pools',
      'egress_sources',
      'memberships',
      'removed_domains',
      'suspensions',
      'tls_rules',
      'users',
      'login_methods',
    ])
  })
})
