import assert from 'node:assert/strict'
import type { Queryable } from '#src/db.ts'
import { newId } from '#src/id.ts'
import { Holdings, type Held } from './holdings.ts'

const LEASE = 7
const member = (): Held => ({
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  domain: 'a.example',
  tier: 'normal',
  lease: LEASE,
})

/** A PostgreSQL that counts these as ours. */
function holding(held: readonly Held[]): Queryable {
  const rows = held.map(({ messageId, n, workspaceId, domain, tier }) => ({
    message_id: messageId,
    n,
    workspace_id: workspaceId,
    domain,
    tier,
    lease: LEASE,
    due_at: new Date(),
  }))
  return { query: <R extends object>() => Promise.resolve({ rows: rows as unknown as R[], rowCount: rows.length }) }
}

describe('holdings', () => {
  it('give back what PostgreSQL counts as ours and nobody here holds, and nothing else', async () => {
    const [held, forgotten, dropped] = [member(), member(), member()]
    const holdings = new Holdings()
    holdings.take([held, dropped])
    holdings.drop([dropped])
    const released: string[] = []
    await holdings.look(holding([held, forgotten, dropped]), LEASE, (given) => {
      released.push(...given.map(({ messageId }) => messageId))
      return Promise.resolve()
    })
    assert.deepEqual(released, [forgotten.messageId, dropped.messageId])
  })

  it('what was asked for twice and given once is still held', async () => {
    const one = member()
    const holdings = new Holdings()
    holdings.take([one])
    holdings.take([one])
    holdings.drop([one])
    await holdings.look(holding([one]), LEASE, () => assert.fail('it is being sent'))
  })

  it('what is being given back is not asked for until that is done', async () => {
    const one = member()
    const holdings = new Holdings()
    await holdings.look(holding([one]), LEASE, () => {
      assert.ok(holdings.isLeaving(one))
      return Promise.resolve()
    })
    assert.ok(!holdings.isLeaving(one))
  })

  it('are in doubt for some looks after a claim failed, as long as PostgreSQL answers them', async () => {
    const holdings = new Holdings()
    assert.ok(!holdings.isInDoubt)
    holdings.doubt()
    await assert.rejects(
      holdings.look({ query: () => Promise.reject(new Error('away')) }, LEASE, () => Promise.resolve()),
    )
    for (let looks = 0; looks < 4; looks++) {
      assert.ok(holdings.isInDoubt)
      await holdings.look(holding([]), LEASE, () => Promise.resolve())
    }
    assert.ok(!holdings.isInDoubt)
  })
})
