/** The schema that the migrations make: every constraint is validated, and every index can be used. */
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
})
