import { assert } from 'chai'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { LeasedRecipients, type LeasedRecipient } from './leased-recipients.ts'

const LEASE = 7
const member = (): LeasedRecipient => ({
  messageId: newId(),
  n: 0,
  workspaceId: newId(),
  domain: 'a.example',
  tier: 'normal',
  lease: LEASE,
})

/** A PostgreSQL that has these recipients under the lease. */
function holding(held: readonly LeasedRecipient[]): Queryable {
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

describe('leased recipients', () => {
  it('releases only recipients that PostgreSQL has under the lease and this process does not know', async () => {
    const [held, forgotten, dropped] = [member(), member(), member()]
    const leased = new LeasedRecipients()
    leased.add([held, dropped])
    leased.drop([dropped])
    const released: string[] = []
    await leased.check(holding([held, forgotten, dropped]), LEASE, (given) => {
      released.push(...given.map(({ messageId }) => messageId))
      return Promise.resolve()
    })
    assert.deepEqual(released, [forgotten.messageId, dropped.messageId])
  })

  it('still knows a recipient that was added twice and dropped once', async () => {
    const one = member()
    const leased = new LeasedRecipients()
    leased.add([one])
    leased.add([one])
    leased.drop([one])
    await leased.check(holding([one]), LEASE, () => assert.fail('it is being sent'))
  })

  it('a recipient that is being released must not be claimed until the release is done', async () => {
    const one = member()
    const leased = new LeasedRecipients()
    await leased.check(holding([one]), LEASE, () => {
      assert.ok(leased.isBeingReleased(one))
      return Promise.resolve()
    })
    assert.ok(!leased.isBeingReleased(one))
  })

  it('is uncertain for some checks after a failed claim; checks without a reply do not count', async () => {
    const leased = new LeasedRecipients()
    assert.ok(!leased.isUncertain)
    leased.markUncertain()
    await assert.isRejected(
      leased.check({ query: () => Promise.reject(new Error('away')) }, LEASE, () => Promise.resolve()),
    )
    for (let looks = 0; looks < 4; looks++) {
      assert.ok(leased.isUncertain)
      await leased.check(holding([]), LEASE, () => Promise.resolve())
    }
    assert.ok(!leased.isUncertain)
  })
})
