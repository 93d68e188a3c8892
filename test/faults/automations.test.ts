/**
 * Automations while the worker, the outbound process and PostgreSQL are killed with -9, the schedule in Redis is
 * deleted, and two workers run. Each contact gets each mail exactly once and completes the automation.
 * FAULT_RECIPIENTS and FAULT_KILLS enlarge the test.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { isDatabaseAway } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers } from '#test/support/campaign.ts'
import { textOf } from '#test/support/api.ts'
import { killInFlight } from '#test/support/kill.ts'
import { waitUntilDrained } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'

const CONTACTS = Number(process.env['FAULT_RECIPIENTS'] ?? 300)
const KILLS = Number(process.env['FAULT_KILLS'] ?? 4)
const PATIENCE_MS = 60_000 + CONTACTS * 20 + KILLS * 5000
const MAILS = ['first', 'second', 'third']

describe('automations under kills', function () {
  this.timeout(PATIENCE_MS * 2)
  let mx: Receiver
  let system: System

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)

  async function begin(): Promise<string> {
    const audience = await addAudience(system)
    const mail = (name: string): object => ({
      type: 'send_email',
      id: name,
      subject: name,
      body: `<p>${name} {{firstName}} <a href="{{unsubscribeUrl}}">leave</a></p>`,
      from: 'shop@sender.example',
    })
    const { status, body } = await system.call('POST', '/public/automations/create', {
      key: system.admin,
      body: {
        name: 'A',
        status: 'active',
        trigger: { type: 'contact_added_to_audience', audience_id: audience },
        steps: [
          { type: 'add_tag', tag: 'seen' },
          mail('first'),
          { type: 'delay', seconds: 2 },
          mail('second'),
          { type: 'delay', seconds: 2 },
          mail('third'),
        ],
      },
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    await addMembers(system, audience, { count: CONTACTS, domain: 'people.example' })
    return textOf(body['data']?.['id'])
  }

  async function isOver(id: string): Promise<boolean> {
    try {
      const {
        rows: [row],
      } = await system.db.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM enrolments WHERE automation_id = $1 AND state = 'active'`,
        [id],
      )
      return row?.n === 0
    } catch (error) {
      if (isDatabaseAway(error)) return false
      throw error
    }
  }

  it('each contact gets each mail once, and comes to the end', async () => {
    const id = await begin()
    const windows = new Set<string>()
    const blows: (() => Promise<unknown>)[] = [
      async () => {
        await system.roles.worker.kill()
        await system.roles.worker.start()
      },
      () => system.redis.flushall(),
      async () => {
        for (const address of await killInFlight(system, mx)) windows.add(address)
        await system.roles.mta.start()
      },
      async () => {
        await system.postgres.crash()
        await system.postgres.restart()
      },
    ]
    for (let i = 0; i < KILLS || !(await isOver(id)); i++) {
      await sleep(Math.random() * 800)
      if (i < KILLS) await blows[i % blows.length]?.()
      else await system.startMissing()
      assert.ok(i < KILLS + PATIENCE_MS / 400, 'it does not come to an end')
    }
    await waitUntilDrained(system, PATIENCE_MS)
    const expected = Array.from({ length: CONTACTS }, (_, i) => `c${i + 1}@people.example`)
    const { rows } = await system.db.query<{ email: string; steps: string[]; states: string[] }>(sql`
      SELECT c.email, array_agg(k.step ORDER BY k.message_id) AS steps, array_agg(DISTINCT r.state) AS states
      FROM automation_mails k
      JOIN messages m ON m.id = k.message_id
      JOIN contacts c ON c.id = m.contact_id
      JOIN recipients r ON r.message_id = m.id
      GROUP BY c.email
    `)
    assert.strictEqual(rows.length, CONTACTS)
    for (const { email, steps, states } of rows)
      assert.deepEqual({ email, steps, states }, { email, steps: MAILS, states: ['delivered'] })
    const copies = new Map<string, number>()
    for (const { to, bytes } of mx.messages)
      for (const address of to) {
        const name = `${address} ${/^Subject: (\w+)/m.exec(bytes.toString('latin1'))?.[1]}`
        copies.set(name, (copies.get(name) ?? 0) + 1)
      }
    assert.deepEqual(
      expected.flatMap((email) => MAILS.map((name) => `${email} ${name}`)).filter((name) => !copies.has(name)),
      [],
      'nothing is lost',
    )
    const doubled = [...copies].filter(([name, count]) => count > 1 && !windows.has(name.split(' ')[0] ?? ''))
    assert.deepEqual(doubled, [], 'nothing comes twice but what the receiver had and PostgreSQL had not')
    const {
      rows: [ended],
    } = await system.db.query('SELECT count(*)::int AS n FROM enrolments WHERE automation_id = $1 AND state = $2', [
      id,
      'completed',
    ])
    assert.deepEqual(ended, { n: CONTACTS })
  })
})
