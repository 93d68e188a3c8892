import { assert } from 'chai'
import { loadMigration } from '#src/stores/migrate.ts'
import { upSql } from '#src/stores/migration-sql.ts'
import { isContract, listMigrations } from '#src/stores/migrations.ts'
import { findViolations } from './rules.ts'

/** Of the first release: no earlier version runs with them. */
const FIRST_RELEASE = '058-nodes.ts'

describe('rules of migrations', () => {
  for (const name of listMigrations()) {
    it(`${name} has a way back or a reason, and contracts only as a contract migration`, async () => {
      const module = await loadMigration(name)
      const { up, steps, down, undo, cannotUndo, unusedSince } = module
      assert.lengthOf(
        [up, steps].filter((one) => one !== undefined),
        1,
        'up or steps',
      )
      assert.lengthOf(
        [down, undo, cannotUndo].filter((one) => one !== undefined),
        1,
        'down, undo or cannotUndo',
      )
      assert.equal(unusedSince !== undefined, isContract(name), 'contract migrations export unusedSince')
      if (name > FIRST_RELEASE) assert.deepEqual(findViolations(await upSql(module), isContract(name)), [])
    })
  }

  const CASES: readonly [statement: string, expand: boolean, contract: boolean][] = [
    ['CREATE TABLE things (id uuid)', true, true],
    ['ALTER TABLE things ADD COLUMN dropped text', true, true],
    ['ALTER TABLE things DROP COLUMN kind', false, true],
    ['ALTER TABLE things DROP kind', false, true],
    ['ALTER TABLE things DROP CONSTRAINT things_kind', true, true],
    ['ALTER TABLE things ALTER kind DROP NOT NULL', true, true],
    ['ALTER TABLE things ALTER COLUMN kind TYPE text', false, true],
    ['ALTER TABLE things RENAME COLUMN kind TO sort', false, true],
    ['ALTER TABLE things RENAME TO objects', false, true],
    ['ALTER TABLE things ALTER kind SET NOT NULL', false, true],
    ['DROP TABLE things', false, true],
    ['DROP INDEX things_kind', true, true],
    ['ALTER INDEX a RENAME TO b', true, true],
    ['DROP TRIGGER note ON things', true, true],
    ['TRUNCATE things', false, false],
    ['VACUUM FULL things', false, false],
  ]
  for (const [statement, expand, contract] of CASES)
    it(statement, () => {
      assert.equal(findViolations(statement, false).length === 0, expand, 'expand')
      assert.equal(findViolations(statement, true).length === 0, contract, 'contract')
    })
})
