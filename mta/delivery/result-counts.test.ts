import { assert } from 'chai'
import type { Outcome } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { ACCEPTED, attemptOf, claimedOf, silentContext } from '#test/support/delivery.ts'
import { startCommittedCounts, type CommittedCounts } from './result-counts.ts'
import type { DeliveryResult } from './result-writer.ts'

const UNKNOWN_USER: Outcome = {
  kind: 'bounced',
  scope: 'recipient',
  reason: 'refused',
  detail: '550 5.1.1 no such user',
  reply: { code: 550, enhanced: '5.1.1', text: 'no such user', lines: [] },
  isHard: true,
} as never
const WORKSPACE = '018f0000-0000-7000-8000-000000000001'

function resultOf(outcome: Outcome, domain = 'a.example'): DeliveryResult {
  const claimed = claimedOf({ workspaceId: WORKSPACE, domain })
  const rules = { scale: 1, lifetimeSeconds: 86_400, captureDomain: null as never, nowMs: silentContext().nowMs }
  return { claimed, transition: transitionFor(claimed, attemptOf(outcome), rules) }
}

/** `answer` fails, or stores; `stored` lists the parameters of what was stored. */
function countsWith(answer: () => void): { counts: CommittedCounts; stored: unknown[][] } {
  const stored: unknown[][] = []
  const query = (_: unknown, values: unknown[]): Promise<unknown> => {
    answer()
    stored.push(values)
    return Promise.resolve({ rows: [], rowCount: 0 })
  }
  return { counts: startCommittedCounts({ ...silentContext(), db: { query } } as never), stored }
}

describe('result counts', () => {
  it('counts deliveries by receiver, and deliveries and hard bounces by workspace', async () => {
    const { counts, stored } = countsWith(() => undefined)
    for (const result of [resultOf(ACCEPTED), resultOf(ACCEPTED), resultOf(UNKNOWN_USER)]) counts.count(result)
    await counts.stop()
    const [receivers, workspaces] = stored
    assert.deepEqual(receivers?.[1], [2])
    assert.deepEqual(workspaces?.slice(0, 4), [[WORKSPACE], [2], [1], [0]])
  })

  it('returns the deliveries once, and restores them when they cannot be stored', async () => {
    const { counts } = countsWith(() => undefined)
    counts.count(resultOf(ACCEPTED))
    const taken = counts.takeDeliveries()
    assert.deepEqual([...taken.values()], [{ delivered: 1, hard: 0 }])
    assert.strictEqual(counts.takeDeliveries().size, 0)
    counts.count(resultOf(ACCEPTED))
    counts.restoreDeliveries(taken)
    assert.deepEqual([...counts.takeDeliveries().values()], [{ delivered: 2, hard: 0 }])
    await counts.stop()
  })

  it('stores with the next what PostgreSQL did not store', async () => {
    let isAway = true
    const { counts, stored } = countsWith(() => {
      if (isAway) throw new Error('connect ECONNREFUSED')
    })
    counts.count(resultOf(ACCEPTED))
    await counts.stop()
    assert.deepEqual(stored, [])
    isAway = false
    counts.count(resultOf(ACCEPTED))
    await counts.stop()
    assert.deepEqual([stored[0]?.[1], stored[1]?.[1]], [[2], [2]])
  })
})
