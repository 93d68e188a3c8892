/** The schema that the migrations make: constraints are validated, indexes can be used, and triggers scale. */
import { assert } from 'chai'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { sql } from './sql.ts'

describe('the schema', () => {
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
  })
  after(() => database.close())

  it('has no constraint that is not validated, which PostgreSQL would not rely on', async () => {
    const { rows } = await database.db.query<{ name: string }>(sql`
      SELECT conrelid::regclass || '.' || conname AS name
      FROM pg_constraint
      WHERE NOT convalidated
      ORDER BY 1
    `)
    assert.deepEqual(rows, [])
  })

  it('has no index that was left invalid', async () => {
    const { rows } = await database.db.query<{ name: string }>(sql`
      SELECT indexrelid::regclass::text AS name
      FROM pg_index
      WHERE NOT indisvalid
      ORDER BY 1
    `)
    assert.deepEqual(rows, [])
  })

  it('lets triggers join the rows before and after a change only by hash, whatever plan the session has', async () => {
    const { rows } = await database.db.query<{ name: string }>(sql`
      SELECT proname AS name
      FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace
        AND prosrc ~ 'FROM added.*JOIN removed|FROM removed.*JOIN added'
        AND NOT coalesce(proconfig, '{}') @> ARRAY['enable_hashjoin=on', 'enable_nestloop=off']
    `)
    assert.deepEqual(rows, [], 'these rows have no index, so each would be compared with each')
  })
})
