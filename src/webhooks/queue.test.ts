/** The webhook queue on a real PostgreSQL: claims, leases, attempts, and disabled and deleted endpoints. */
import { assert } from 'chai'
import { deleteEndpoint, findEndpoint, MAX_ENDPOINTS, removeDeleted, updateEndpoint } from './endpoints.ts'
import { GONE, LATER, OK, setUpWebhookQueue, tried } from './queue.test-data.ts'
import { endAbandoned, releaseDeliveries, recordAttempts } from './result-writer.ts'

describe('webhook queue', () => {
  const queue = setUpWebhookQueue()
  const { claim, claimOne, expireLeases, reload } = queue

  describe('claims', () => {
    it('return each row once, in order', async () => {
      const ids = await queue.testbed.emit(30)
      const first = await claim(20)
      assert.deepEqual(
        first.jobs.map((delivery) => delivery.eventId),
        ids.slice(0, 20),
      )
      assert.deepEqual([...first.unfinished], [queue.endpoint.id])
      const second = await claim(20)
      assert.deepEqual(
        second.jobs.map((delivery) => delivery.eventId),
        ids.slice(20),
      )
      assert.deepEqual([...second.unfinished], [])
      assert.deepEqual((await claim()).jobs, [])
    })

    it('of concurrent workers never overlap', async () => {
      const ids = await queue.testbed.emit(300)
      const claims = await Promise.all(Array.from({ length: 9 }, () => claim(50, 50)))
      const got = claims.flatMap((one) => one.jobs.map((delivery) => delivery.eventId))
      assert.strictEqual(new Set(got).size, got.length)
      while (got.length < ids.length) {
        const more = await claim(50, 50)
        assert.ok(more.jobs.length > 0)
        got.push(...more.jobs.map((delivery) => delivery.eventId))
      }
      assert.deepEqual(got.toSorted(), ids)
    })

    it('divide a batch among endpoints, however many deliveries wait for one', async () => {
      await queue.testbed.emit(200)
      const others = await Promise.all(
        ['b', 'c'].map((name) => queue.testbed.register(`http://127.0.0.1/${name}`, ['email.bounced'])),
      )
      await queue.testbed.emit(5, { type: 'email.bounced' })
      const { jobs: deliveries } = await claim(30)
      const counts = Map.groupBy(deliveries, (delivery) => delivery.endpointId)
      assert.strictEqual(counts.get(queue.endpoint.id)?.length, 10)
      for (const other of others) assert.strictEqual(counts.get(other.endpoint.id)?.length, 5)
    })

    it('claim no more for an endpoint than its capacity', async () => {
      await queue.testbed.emit(20)
      const full = await claim(100, 100, new Map([[queue.endpoint.id, 0]]))
      assert.deepEqual([full.jobs.length, [...full.unfinished]], [0, [queue.endpoint.id]])
      assert.strictEqual((await claim(100, 100, new Map([[queue.endpoint.id, 7]]))).jobs.length, 7)
      assert.strictEqual((await claim(100, 4)).jobs.length, 4)
    })

    it('skip deliveries that are not due, and return the next due time', async () => {
      const [id] = await queue.testbed.emit(1)
      await queue.testbed.ctx.db.query(`UPDATE webhook_deliveries SET due_at = now() + interval '1 hour'`)
      const waiting = await claim()
      assert.deepEqual(waiting.jobs, [])
      assert.ok(
        waiting.nextInMs !== null && waiting.nextInMs > 3_500_000 && waiting.nextInMs <= 3_600_000,
        String(waiting.nextInMs),
      )
      await queue.testbed.ctx.db.query('UPDATE webhook_deliveries SET due_at = now()')
      const due = await claim()
      assert.deepEqual([due.jobs[0]?.eventId, due.nextInMs], [id, null])
    })

    it('of a process that died are claimed again when the lease has expired', async () => {
      const [id] = await queue.testbed.emit(1)
      const lost = await claimOne()
      assert.strictEqual((await claim()).jobs.length, 0)
      await expireLeases()
      const again = await claimOne()
      assert.strictEqual(again.eventId, id)
      assert.notDeepEqual(again.leasedUntil, lost.leasedUntil)
      assert.strictEqual(again.attempts, 0)
    })

    it('that are released are due immediately and count no try', async () => {
      await queue.testbed.emit(3)
      await releaseDeliveries(queue.testbed.ctx.db, (await claim()).jobs)
      const { jobs: deliveries } = await claim()
      assert.deepEqual(
        deliveries.map((delivery) => delivery.attempts),
        [0, 0, 0],
      )
    })
  })

  describe('recording attempts', () => {
    it('stores the state and a log line for each try', async () => {
      const [id = ''] = await queue.testbed.emit(1)
      await recordAttempts(queue.testbed.ctx.db, [tried(await claimOne(), LATER)])
      assert.deepEqual(await queue.testbed.states(id), ['pending'])
      await queue.testbed.ctx.db.query('UPDATE webhook_deliveries SET due_at = now()')
      const second = await claimOne()
      assert.strictEqual(second.attempts, 1)
      await recordAttempts(queue.testbed.ctx.db, [tried(second, OK)])
      assert.deepEqual(await queue.testbed.states(id), ['delivered'])
      assert.deepEqual(
        (await queue.testbed.attempts(id)).map(({ attempt, error }) => [attempt, error]),
        [
          [1, 'answered 500'],
          [2, null],
        ],
      )
    })

    it('can be repeated', async () => {
      const [id = ''] = await queue.testbed.emit(1)
      const once = tried(await claimOne(), LATER)
      for (let i = 0; i < 3; i++) await recordAttempts(queue.testbed.ctx.db, [once])
      assert.strictEqual((await queue.testbed.attempts(id)).length, 1)
      await queue.testbed.ctx.db.query('UPDATE webhook_deliveries SET due_at = now()')
      assert.strictEqual((await claimOne()).attempts, 1)
    })

    it('under a lost lease changes only the log', async () => {
      const [id = ''] = await queue.testbed.emit(1)
      const lost = await claimOne()
      await expireLeases()
      const claimed = await claimOne()
      await recordAttempts(queue.testbed.ctx.db, [tried(lost, { ...LATER, state: 'failed', nextInMs: null }, 1)])
      assert.deepEqual(await queue.testbed.states(id), ['pending'])
      await releaseDeliveries(queue.testbed.ctx.db, [lost])
      assert.strictEqual((await claim()).jobs.length, 0, 'still leased to the other')
      await recordAttempts(queue.testbed.ctx.db, [tried(claimed, OK, 2)])
      assert.deepEqual(await queue.testbed.states(id), ['delivered'])
      assert.strictEqual((await queue.testbed.attempts(id)).length, 2)
    })

    it('accepts a 2xx also under a lost lease: the receiver has the event', async () => {
      const [id = ''] = await queue.testbed.emit(1)
      const lost = await claimOne()
      await expireLeases()
      const claimed = await claimOne()
      await recordAttempts(queue.testbed.ctx.db, [tried(lost, OK, 1)])
      await recordAttempts(queue.testbed.ctx.db, [tried(claimed, LATER, 2)])
      assert.deepEqual(await queue.testbed.states(id), ['delivered'])
    })

    it('of a 410 disables the endpoint; its waiting deliveries fail with the reason', async () => {
      const [first = '', second = ''] = await queue.testbed.emit(2)
      const { jobs: deliveries } = await claim(1)
      await recordAttempts(
        queue.testbed.ctx.db,
        deliveries.map((delivery) => tried(delivery, GONE)),
      )
      assert.deepEqual(await reload().then(({ isActive, disabledReason }) => [isActive, disabledReason]), [
        false,
        'it answered 410 Gone',
      ])
      const after = await claim()
      assert.deepEqual([after.jobs, queue.abandoned], [[], 1])
      assert.deepEqual(await endAbandoned(queue.testbed.ctx.db), { ended: 1, mayHaveMore: false })
      assert.deepEqual(
        [await queue.testbed.states(first), await queue.testbed.states(second)],
        [['failed'], ['failed']],
      )
      assert.deepEqual(
        (await queue.testbed.attempts(second)).map(({ status, error }) => [status, error]),
        [[null, 'not sent: the endpoint is switched off (it answered 410 Gone)']],
      )
      await claim()
      assert.strictEqual(queue.abandoned, 1, 'none is left')
    })
  })

  describe('loading', () => {
    it('builds one body per event, with the fields of its message', async () => {
      await queue.testbed.register('http://127.0.0.1/b')
      await queue.testbed.emit(1)
      const { jobs: loaded } = await claim()
      assert.strictEqual(loaded.length, 2)
      assert.strictEqual(loaded[0]?.body, loaded[1]?.body)
      const body = JSON.parse(loaded[0]?.body ?? '') as Record<string, unknown>
      assert.deepEqual(
        [body['subject'], body['to'], body['metadata'], body['sequence']],
        ['Grüße', ['anna@example.com'], { order: 7 }, 1],
      )
    })

    it('skips a deleted event and a secret that cannot be decrypted', async () => {
      const broken = await queue.testbed.register('http://127.0.0.1/b', ['email.bounced'])
      await queue.testbed.ctx.db.query(`UPDATE webhook_endpoints SET secret = 'x' WHERE id = $1`, [broken.endpoint.id])
      const [gone = ''] = await queue.testbed.emit(1)
      const [existing = ''] = await queue.testbed.emit(1, { type: 'email.bounced' })
      await queue.testbed.ctx.db.query('DELETE FROM events WHERE id = $1', [gone])
      const { jobs: loaded } = await claim()
      const of = (event: string, target: string): unknown => {
        const one = loaded.find((delivery) => delivery.eventId === event && delivery.endpointId === target)
        return [one?.body !== null, one?.target?.keys !== null]
      }
      assert.deepEqual(
        [of(gone, queue.endpoint.id), of(existing, queue.endpoint.id), of(existing, broken.endpoint.id)],
        [
          [false, true],
          [true, true],
          [true, false],
        ],
      )
    })
  })

  describe('endpoints', () => {
    it('are disabled by their owner, and start clean when enabled again', async () => {
      await updateEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id, { isActive: false })
      assert.strictEqual((await reload()).disabledReason, 'switched off by its owner')
      await queue.testbed.emit(1)
      assert.deepEqual((await claim()).jobs, [])
      const again = await updateEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id, {
        isActive: true,
      })
      assert.deepEqual([again?.isActive, again?.disabledReason], [true, null])
    })

    it('that are deleted disappear immediately, and leave the tables when no delivery can be running', async () => {
      const [id = ''] = await queue.testbed.emit(5)
      const claimed = await claimOne()
      assert.strictEqual(await deleteEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id), true)
      assert.strictEqual(await deleteEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id), false)
      assert.strictEqual(await findEndpoint(queue.testbed.ctx.db, queue.testbed.workspaceId, queue.endpoint.id), null)
      assert.strictEqual(
        await updateEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id, { isActive: true }),
        null,
      )
      await recordAttempts(queue.testbed.ctx.db, [tried(claimed, LATER)])
      await expireLeases()
      await endAbandoned(queue.testbed.ctx.db)
      assert.deepEqual(await queue.testbed.states(id), ['failed'])
      assert.strictEqual(await removeDeleted(queue.testbed.ctx.db), false)
      await queue.testbed.ctx.db.query(`UPDATE webhook_endpoints SET updated_at = now() - interval '6 minutes'`)
      assert.strictEqual(await removeDeleted(queue.testbed.ctx.db), true)
      assert.strictEqual(await removeDeleted(queue.testbed.ctx.db), false)
      for (const table of ['webhook_endpoints', 'webhook_deliveries', 'webhook_attempts'])
        assert.strictEqual(
          (await queue.testbed.ctx.db.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n,
          0,
          table,
        )
    })

    it('are limited in number', async () => {
      for (let i = 1; i < MAX_ENDPOINTS; i++) await queue.testbed.register(`http://127.0.0.1/${i}`)
      await assert.isRejected(queue.testbed.register('http://127.0.0.1/more'))
      await deleteEndpoint(queue.testbed.ctx, queue.testbed.workspaceId, queue.endpoint.id)
      await queue.testbed.register('http://127.0.0.1/more')
    })
  })
})
