import { assert } from 'chai'
import { createEgressGroups, type EgressGroups } from './egress-groups.ts'

const pools = new Map([
  ['default', [{ source: 'a1' }, { source: 'b1' }]],
  ['only-b', [{ source: 'b2' }]],
  ['nobody', [{ source: 'c1' }]],
])

function groupsOf(usable: readonly string[], others: readonly (readonly string[])[]): EgressGroups {
  const groups = createEgressGroups(() => ({ pools, defaultPool: 'default', usable }))
  groups.setOthers(others)
  return groups
}

describe('egress groups', () => {
  const A = ['a1']
  const B = ['b1', 'b2']
  type Row = readonly [
    what: string,
    own: string[],
    others: string[][],
    pool: string,
    group: string | null,
    may: boolean,
  ]
  const ROWS: readonly Row[] = [
    ['one process: its mail is its own', A, [], 'only-b', null, true],
    ['a pool that both have is not split', A, [B], 'default', null, true],
    ['a pool that another process has is its group', A, [B], 'only-b', 'only-b', false],
    ['and the other one may claim from it', B, [A], 'only-b', 'only-b', true],
    ['a pool that nobody has is claimed by everyone, to be postponed', A, [B], 'nobody', null, true],
    ['a pool without sources uses those of the default pool', A, [B], 'empty', null, true],
    ['a process without sources claims nothing of those that have some', [], [B], 'default', 'default', false],
    ['also for a pool that falls back to them', [], [B], 'empty', 'default', false],
    ['a group whose last process died is claimed by everyone', A, [], 'only-b', null, true],
  ]
  for (const [what, own, others, pool, group, may] of ROWS)
    it(what, () => {
      const groups = groupsOf(own, others)
      assert.strictEqual(groups.groupOf(pool), group)
      assert.strictEqual(groups.mayClaim(group ?? pool), may)
    })

  it('without a split nothing is looked up', () => {
    assert.isFalse(groupsOf(A, []).isSplit)
    assert.isFalse(groupsOf(['a1', 'b2'], [['b1', 'b2']]).isSplit)
    assert.isTrue(groupsOf(A, [B]).isSplit)
  })

  it('a pool that was removed is claimed by everyone', () => {
    const current = new Map(pools)
    const groups = createEgressGroups(() => ({ pools: current, defaultPool: 'default', usable: A }))
    groups.setOthers([B])
    assert.isFalse(groups.mayClaim('only-b'))
    current.delete('only-b')
    groups.setOthers([B])
    assert.isTrue(groups.mayClaim('only-b'))
    assert.strictEqual(groups.groupOf('only-b'), null, 'its mail goes by the default pool, which both have')
  })
})
