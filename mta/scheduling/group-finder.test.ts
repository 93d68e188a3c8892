import { assert } from 'chai'
import { memberOf } from '#src/queue/keys.ts'
import { newId } from '#src/platform/id.ts'
import { entryOf, claimedOf, silentContext } from '#test/support/delivery.ts'
import { createGroupFinder, type GroupFinder } from './group-finder.ts'

interface StoredMessage {
  readonly id: string
  readonly pool: string | null
  readonly region: 'af-south-1' | 'us-east-1' | null
}

/** The processes of this installation have the sources of the pools `shared`, `us-east` and `af-south`. */
const GROUPS: Readonly<Record<string, string>> = { shared: 'group 1', 'us-east': 'group 2', 'af-south': 'group 3' }

describe('the egress group of due mail', () => {
  const lookups: (readonly string[])[] = []
  beforeEach(() => lookups.splice(0))

  function finderOf(stored: readonly StoredMessage[] | Error, isSplit = true): GroupFinder {
    const query = (
      _: unknown,
      [ids]: readonly (readonly string[])[] = [],
    ): Promise<{ rows: readonly StoredMessage[] }> => {
      lookups.push(ids ?? [])
      return stored instanceof Error ? Promise.reject(stored) : Promise.resolve({ rows: stored })
    }
    const groups = { isSplit, groupOf: (pool: string) => GROUPS[pool] ?? null }
    return createGroupFinder({ db: { query } as never, log: silentContext().log }, groups)
  }

  for (const { title, pool, region, group } of [
    { title: 'is that of the pool of its domain', pool: 'shared', region: 'af-south-1', group: 'group 1' },
    {
      title: 'is that of the region of its domain, without a pool',
      pool: null,
      region: 'af-south-1',
      group: 'group 3',
    },
    { title: 'is that of the first region, without a sending domain', pool: null, region: null, group: 'group 2' },
    { title: 'is none for a pool that no process has', pool: 'gone', region: null, group: undefined },
  ] as const)
    it(title, async () => {
      const claimed = claimedOf()
      const { member } = entryOf(claimed)
      const found = await finderOf([{ id: claimed.messageId, pool, region }]).find([member])
      assert.strictEqual(found.get(member), group)
    })

  it('is looked up once for all recipients of a message; an entry that cannot be read has none', async () => {
    const id = newId()
    const members = [0, 1].map((n) => memberOf({ messageId: id, n, workspaceId: newId(), domain: 'a.example' }))
    const found = await finderOf([{ id, pool: 'shared', region: null }]).find([...members, 'damaged'])
    assert.deepEqual(
      [...found],
      members.map((member) => [member, 'group 1'] as const),
    )
    assert.deepEqual(lookups, [[id]])
  })

  it('is unknown while PostgreSQL is away, so that any process may claim the mail', async () => {
    const found = await finderOf(new Error('away')).find([entryOf(claimedOf()).member])
    assert.strictEqual(found.size, 0)
  })

  it('is needed only where processes have different sources', () => {
    assert.isTrue(finderOf([]).isNeeded)
    assert.isFalse(finderOf([], false).isNeeded)
  })
})
