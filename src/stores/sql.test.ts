import { assert } from 'chai'
import { sql } from './sql.ts'

describe('the sql tag', () => {
  it('removes the indentation that all lines share, and the empty lines at both ends', () => {
    const text = sql`
      SELECT id
      FROM contacts
      WHERE workspace_id = $1
        AND email = $2
    `
    assert.strictEqual(text, 'SELECT id\nFROM contacts\nWHERE workspace_id = $1\n  AND email = $2')
  })
  it('inserts fragments as they are', () => {
    const condition = "note = 'two\n        lines'"
    const text = sql`
      SELECT id
      FROM contacts
      WHERE ${condition}
      LIMIT ${5}
    `
    assert.strictEqual(text, `SELECT id\nFROM contacts\nWHERE ${condition}\nLIMIT 5`)
  })
  it('counts a line that begins with a fragment', () => {
    const columns = 'SELECT id'
    const text = sql`
      WITH first AS (
        ${columns}
        FROM contacts
      )
      ${columns}
      FROM first
    `
    assert.strictEqual(text, 'WITH first AS (\n  SELECT id\n  FROM contacts\n)\nSELECT id\nFROM first')
  })
  it('does not count an empty line, and leaves a text of one line as it is', () => {
    const text = sql`
      DROP TABLE one;

      DROP TABLE two;
    `
    assert.strictEqual(text, 'DROP TABLE one;\n\nDROP TABLE two;')
    assert.strictEqual(sql`SELECT 1`, 'SELECT 1')
  })
})
