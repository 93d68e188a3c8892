/** The log of webhook deliveries on a real PostgreSQL: pages, and replay. */
import { assert } from 'chai'
import { listDeliveries, replayDelivery } from './delivery-log.ts'
import { updateEndpoint } from './endpoints.ts'
import { LATER, OK, setUpWebhookQueue, tried } from './queue.test-data.ts'
import { recordAttempts } from './result-writer.ts'

describe('the log of webhook deliveries', () => {
  const queue = setUpWebhookQueue()
  const { claim, claimOne } = queue

  it('lists each event with its tries, the newest first, in pages', async () => {
    const ids = await queue.testbed.emit(3)
    const { jobs: deliveries } = await claim(2)
    await recordAttempts(
      queue.testbed.ctx.db,
      deliveries.map((delivery, i) => tried(delivery, i === 0 ? OK : LATER)),
    )
    const all = await listDeliveries(queue.testbed.ctx.db, queue.endpoint, {
      state: null,
      eventId: null,
      page: 1,
      limit: 50,
    })
    assert.deepEqual(
      all.items.map((row) => [row.eventId, row.state, row.attempts.length, row.type]),
      ids.toReversed().map((id, i) => [id, ['pending', 'pending', 'delivered'][i], [0, 1, 1][i], 'email.delivered']),
    )
    assert.ok(all.items[1]?.nextTryAt !== null && all.items[2]?.nextTryAt === null)
    const page = await listDeliveries(queue.testbed.ctx.db, queue.endpoint, {
      state: 'pending',
      eventId: null,
      page: 2,
      limit: 1,
    })
    assert.deepEqual([page.total, page.items.map((row) => row.eventId)], [2, [ids[1]]])
    const one = await listDeliveries(queue.testbed.ctx.db, queue.endpoint, {
      state: null,
      eventId: ids[0] ?? '',
      page: 1,
      limit: 50,
    })
    assert.deepEqual([one.total, one.items[0]?.eventId], [1, ids[0]])
  })

  it('replays with all tries, and continues the numbers of its lines', async () => {
    const [id = ''] = await queue.testbed.emit(1)
    await recordAttempts(queue.testbed.ctx.db, [tried(await claimOne(), { ...LATER, state: 'failed', nextInMs: null })])
    assert.strictEqual(await replayDelivery(queue.testbed.ctx, queue.endpoint, id), 'queued')
    const again = await claimOne()
    assert.strictEqual(again.attempts, 0)
    await recordAttempts(queue.testbed.ctx.db, [tried(again, OK)])
    assert.deepEqual(
      (await queue.testbed.attempts(id)).map(({ attempt }) => attempt),
      [1, 2],
    )
    assert.strictEqual(await replayDelivery(queue.testbed.ctx, queue.endpoint, queue.endpoint.id), 'not-found')
    await updateEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id, { isActive: false })
    assert.strictEqual(await replayDelivery(queue.testbed.ctx, queue.endpoint, id), 'switched-off')
  })
})
