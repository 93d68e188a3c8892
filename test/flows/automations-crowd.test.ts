/**
 * Thousands of contacts are enrolled at the same time, and automations enrol contacts in each other in a loop, while
 * transactional mail goes to the same receiver. Transactional mail has priority. A worker that is stopped meanwhile
 * stops at once, and the next one continues. CROWD enlarges the test.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { textOf } from '#test/support/api.ts'
import { addAudience, addMembers, BODY } from '#test/support/campaign.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const CROWD = Number(process.env['CROWD'] ?? 2500)
const INSTANT = 10
/** The parts of a process get 10 s to end; a supervisor waits no longer. */
const STOP_MS = 10_000
const PATIENCE_MS = 60_000 + CROWD * 20

describe('thousands of contacts in automations', function () {
  this.timeout(PATIENCE_MS * 2)
  let mx: Receiver
  let system: System
  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)

  async function create(audience: string, steps: readonly object[]): Promise<string> {
    const trigger = { type: 'contact_added_to_audience', audience_id: audience }
    const body = { name: 'A', status: 'active', trigger, steps }
    const answer = await system.call('POST', '/public/automations/create', { key: system.admin, body })
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return textOf(answer.body['data']?.['id'])
  }
  const count = async (state: string, id: string): Promise<number> => {
    const {
      rows: [row],
    } = await system.db.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM enrolments WHERE state = $1 AND automation_id = $2',
      [state, id],
    )
    return row?.n ?? assert.fail()
  }
  const arrivedFor = (prefix: string): number => mx.messages.filter(({ to }) => to[0]?.startsWith(prefix)).length

  it('does not delay transactional mail; after a worker stops, no mail is lost or duplicated', async () => {
    const [left, right, crowded] = [await addAudience(system), await addAudience(system), await addAudience(system)]
    const round = (from: string, to: string): Promise<string> =>
      create(from, [
        { type: 'add_to_audience', audience_id: to },
        { type: 'remove_from_audience', audience_id: from },
      ])
    await round(left, right)
    await round(right, left)
    const mail = { type: 'send_email', subject: 'Hello', body: BODY, from: 'shop@sender.example' }
    const id = await create(crowded, [{ type: 'add_tag', tag: 'seen' }, mail])
    await addMembers(system, left, { count: 50, domain: 'people.example', prefix: 'ring' })
    await addMembers(system, crowded, { count: CROWD, domain: 'people.example' })
    await until(async () => (await count('completed', id)) > 0)

    const code = await Promise.race([system.roles.worker.terminate(), sleep(STOP_MS, 'late', { ref: false })])
    assert.strictEqual(code, 0)
    const waiting = await count('active', id)
    assert.ok(waiting > 0, 'it was in the middle of it')
    await system.roles.worker.start()

    for (let i = 0; i < INSTANT; i++) {
      const body = { from: 'shop@sender.example', to: `code${i}@people.example`, subject: 'Code', text: '123' }
      assert.strictEqual((await system.call('POST', '/send-email/instant', { body })).status, 200)
      await until(
        () => arrivedFor(`code${i}@`) === 1,
        () => `${arrivedFor('c')} mails of the crowd arrived, ${i} others`,
      )
    }
    assert.ok(arrivedFor('c') - INSTANT < CROWD, 'the crowd was not through before')
    await until(
      () => arrivedFor('c') - INSTANT >= CROWD,
      () => `${arrivedFor('c')} of ${CROWD}`,
      PATIENCE_MS,
    )
    assert.strictEqual(new Set(mx.messages.flatMap(({ to }) => to)).size, CROWD + INSTANT)
    assert.strictEqual(mx.messages.length, CROWD + INSTANT)
    assert.strictEqual(await count('active', id), 0)
  })
})
