/**
 * Machines whose clocks differ from PostgreSQL's: mail is not expired, ids are not of the wrong week, and a process
 * whose clock cannot be right takes no work.
 */
import { join } from 'node:path'
import { assert } from 'chai'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const PRELOAD = join(import.meta.dirname, '../support/shifted-clock.ts')
const HOUR_SECONDS = 3600
const DAY_SECONDS = 24 * HOUR_SECONDS

/** The environment of a process whose clock is ahead. */
function ahead(seconds: number, env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { NODE_OPTIONS: `--import ${PRELOAD}`, CLOCK_SHIFT_SECONDS: String(seconds), ...env }
}

describe('clocks that differ', () => {
  let testbed: Testbed
  let receiver: Receiver
  before(async () => {
    testbed = await startTestbed()
    receiver = await testbed.addReceiver('a.example')
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const clockNotices = async (): Promise<{ subject: string; text: string }[]> =>
    (
      await testbed.system.db.query<{ subject: string; text: string }>(
        `SELECT subject, text FROM operator_notices WHERE kind = 'clock-skew'`,
      )
    ).rows

  it('by 9 days, within the bound: mail is delivered, at the time of PostgreSQL', async () => {
    const { mta } = testbed.system.roles
    await mta.terminate()
    await mta.start(ahead(9 * DAY_SECONDS, { MAX_CLOCK_SKEW_SECONDS: String(10 * DAY_SECONDS) }))
    const id = await testbed.send({ to: 'ada@a.example', tier: 'bulk' })
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const { rows } = await testbed.system.db.query<{ skewMs: number }>(
      `SELECT extract(epoch FROM max(created_at) - now())::float8 * 1000 AS "skewMs" FROM events`,
    )
    assert.isBelow(rows[0]?.skewMs ?? Infinity, 1000)
  })

  it('beyond the bound: the mta claims nothing, says so, and another one delivers the mail', async () => {
    const { mta } = testbed.system.roles
    await mta.terminate()
    const before = receiver.messages.length
    await mta.start(ahead(3 * HOUR_SECONDS))
    const id = await testbed.send({ to: 'bob@a.example', tier: 'high' })
    await until(async () => (await clockNotices()).some(({ text }) => /3 h ahead of PostgreSQL's.*NTP/.test(text)))
    await until(async () => /^mailstead_clock_skew_seconds\{role="outbound"[^}]*\} 10(799|800)/m.test(await metrics()))
    const { status, recipients } = await testbed.getMessage(id)
    assert.deepEqual([status, recipients[0]?.tries, receiver.messages.length], ['queued', 0, before])
    await mta.terminate()
    await mta.start()
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
  })

  it('by 40 days: the api is not ready, answers 503, and stores nothing', async () => {
    const { system } = testbed
    await system.roles.api.terminate()
    await system.roles.api.start(ahead(40 * DAY_SECONDS))
    const count = async (): Promise<unknown> => (await system.db.query('SELECT count(*) AS n FROM messages')).rows
    const before = await count()
    const refused = await system.call('POST', '/send-email/instant', {
      body: { from: `shop@${system.domain}`, to: 'ada@a.example', subject: 's', text: 't' },
    })
    assert.deepEqual([refused.status, refused.body['error']], [503, 'SERVICE_UNAVAILABLE'])
    assert.isAbove(Number(refused.headers.get('retry-after')), 0)
    assert.deepEqual(await count(), before)
    const ready = await fetch(`${system.url}/readyz`)
    assert.strictEqual(ready.status, 503)
    assert.match(await ready.text(), /"clock":"[^"]* 40 days ahead/)
    await system.roles.api.terminate()
    await system.roles.api.start()
    const id = await testbed.send({ to: 'ada@a.example' })
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
  })

  const metrics = async (): Promise<string> => (await fetch(`${testbed.system.url}/metrics`)).text()
})
