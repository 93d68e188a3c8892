import { assert } from 'chai'
import { compareVersions } from '#src/platform/version.ts'
import { findLosses } from '#src/stores/migration-sql.ts'
import { compareMigrations } from '#src/stores/migrations.ts'
import { mayRunBeside, rolesToReplace } from './upgrade-plan.ts'

describe('upgrade plan', () => {
  const BESIDE: readonly [running: string, version: string, may: boolean][] = [
    ['1.2.0', '1.2.5', true],
    ['1.2.9', '1.3.0', true],
    ['1.3.0', '1.2.9', true],
    ['1.1.0', '1.3.0', false],
    ['1.9.0', '2.0.0', false],
    ['0.1.0', '0.2.0-rc.1', true],
    ['unknown', '1.0.0', false],
  ]
  for (const [running, version, may] of BESIDE)
    it(`${running} ${may ? 'may' : 'may not'} run beside ${version}`, () => {
      assert.equal(mayRunBeside(running, version), may)
    })

  it('replaces readers before writers, and unknown roles last', () => {
    const process = (roles: string[], version: string): Parameters<typeof rolesToReplace>[0][number] => ({
      node: 'mail-1',
      roles,
      version,
      isSilent: false,
    })
    const processes = [process(['api'], '1.0.0'), process(['x', 'outbound'], '1.0.0'), process(['worker'], '1.1.0')]
    assert.deepEqual(rolesToReplace(processes, '1.1.0'), ['outbound', 'api', 'x'])
  })

  const VERSIONS: readonly [a: string, b: string, sign: number][] = [
    ['1.2.3', '1.2.3', 0],
    ['1.10.0', '1.9.0', 1],
    ['2.0.0-rc.1', '2.0.0', -1],
    ['1.0.0+5', '1.0.0', 0],
  ]
  for (const [a, b, sign] of VERSIONS)
    it(`compares ${a} and ${b}`, () => assert.equal(Math.sign(compareVersions(a, b)), sign))

  it('does without contract migrations, and accepts unknown ones that expand', () => {
    const all = ['001-a.ts', '002-b.ts', '003-contract-c.ts']
    assert.deepEqual(compareMigrations(['001-a.ts', '004-d.ts', '005-contract-e.ts'], all), {
      pending: ['002-b.ts', '003-contract-c.ts'],
      needed: ['002-b.ts'],
      unknown: ['004-d.ts', '005-contract-e.ts'],
      incompatible: ['005-contract-e.ts'],
    })
  })

  const LOSSES: readonly [statements: string, losses: string[]][] = [
    ['DROP TABLE a, b; DROP INDEX c', ['table a', 'table b']],
    ['ALTER TABLE a DROP COLUMN b, DROP c, DROP CONSTRAINT d', ['column a.b', 'column a.c']],
    [`DELETE FROM a WHERE b = 'x'`, ['rows of a']],
    ['CREATE TABLE a (id uuid)', []],
  ]
  for (const [statements, losses] of LOSSES)
    it(`finds what is deleted by ${statements}`, () => assert.deepEqual(findLosses(statements), losses))
})
