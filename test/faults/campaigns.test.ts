/**
 * A campaign while worker, api, PostgreSQL and two outbound processes are killed with -9 and Redis loses its data.
 * Each recipient gets the mail exactly once, except in the known window of the delivery path, and none is missed. A
 * retry or a resend reaches only its own recipients. FAULT_RECIPIENTS and FAULT_KILLS enlarge the test.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { textOf } from '#test/support/api.ts'
import { addAudience, addMembers, createCampaignClient } from '#test/support/campaign.ts'
import { killInFlight } from '#test/support/kill.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const RECIPIENTS = Number(process.env['FAULT_RECIPIENTS'] ?? 2000)
const KILLS = Number(process.env['FAULT_KILLS'] ?? 6)
const PATIENCE_MS = 60_000 + RECIPIENTS * 20 + KILLS * 5000

describe('campaigns under faults', function () {
  this.timeout(PATIENCE_MS * 2)
  let mx: Receiver
  let system: System

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
    await system.roles.mta2.start()
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)

  /** What may come twice after each fault: mail whose 250 may not have been read. */
  const NONE: ReadonlySet<string> = new Set()
  const FAULTS: readonly (readonly [what: string, strike: () => Promise<ReadonlySet<string>>])[] = [
    [
      'worker',
      async () => {
        await system.roles.worker.kill()
        return NONE
      },
    ],
    ['outbound', () => killInFlight(system, mx)],
    [
      'the other outbound',
      async () => {
        const window = await killInFlight(system, mx, 'mta2')
        await system.roles.mta2.start()
        return window
      },
    ],
    [
      'api',
      async () => {
        await system.roles.api.kill()
        return NONE
      },
    ],
    [
      'redis',
      async () => {
        await system.redis.flushall()
        return NONE
      },
    ],
    [
      'postgres',
      async () => {
        await system.postgres.crash()
        await system.postgres.restart()
        return NONE
      },
    ],
  ]

  it(`${RECIPIENTS} recipients, ${KILLS} faults: each exactly once, none forgotten`, async () => {
    const campaigns = createCampaignClient(system)
    const audience = await addAudience(system)
    await addMembers(system, audience, { count: RECIPIENTS, domain: 'receiver.example' })
    const id = await campaigns.create({ audience_ids: [audience] })
    await campaigns.move(id, 'start', { force: true })
    const allowed = new Set<string>()
    for (let kill = 0; kill < KILLS; kill++) {
      await until(
        () => mx.messages.length >= RECIPIENTS * (kill / (KILLS + 1)) * 0.8,
        () => `only ${mx.messages.length} came`,
        PATIENCE_MS,
      )
      const fault = FAULTS[kill % FAULTS.length]
      assert.ok(fault !== undefined)
      for (const address of await fault[1]()) allowed.add(address)
      await sleep(50)
      await system.startMissing()
    }
    await campaigns.settle(id, 'COMPLETED', PATIENCE_MS)
    const copies = new Map<string, number>()
    for (const { to } of mx.messages) for (const address of to) copies.set(address, (copies.get(address) ?? 0) + 1)
    const doubled = [...copies]
      .filter(([address, count]) => count > 1 && !allowed.has(address))
      .map(([address]) => address)
    assert.strictEqual(copies.size, RECIPIENTS, 'none is forgotten')
    assert.deepEqual(doubled, [])
    const { rows } = await system.db.query<{ state: string; n: number }>(
      'SELECT state, count(*)::int AS n FROM campaign_recipients WHERE campaign_id = $1 GROUP BY state',
      [id],
    )
    assert.deepEqual(rows, [{ state: 'delivered', n: RECIPIENTS }])
    assert.strictEqual((await campaigns.metrics(id))['delivered'], RECIPIENTS, 'the figures say what the ledger says')
  })
  it('a retry and a resend while workers are killed reach each of their recipients once', async () => {
    const campaigns = createCampaignClient(system)
    const audience = await addAudience(system)
    await addMembers(system, audience, { count: 300, domain: 'again.example' })
    const id = await campaigns.create({ audience_ids: [audience] })
    await campaigns.move(id, 'start', { force: true })
    await campaigns.settle(id, 'COMPLETED', PATIENCE_MS)
    let seen = mx.messages.length
    const cameSince = (): string[] => {
      const from = seen
      seen = mx.messages.length
      return mx.messages
        .slice(from)
        .flatMap(({ to }) => to)
        .toSorted()
    }
    const dieOnce = async (): Promise<void> => {
      await system.roles.worker.kill()
      await system.startMissing()
    }
    await system.db.query(
      sql`
        UPDATE campaign_recipients
        SET state = 'failed', failed_at = now(), delivered_at = NULL
        WHERE campaign_id = $1 AND email LIKE 'c1%'
      `,
      [id],
    )
    await campaigns.move(id, 'retry-failed')
    await dieOnce()
    await campaigns.settle(id, 'COMPLETED', PATIENCE_MS)
    const failed = Array.from({ length: 300 }, (_, i) => `c${i + 1}@again.example`)
      .filter((address) => address.startsWith('c1'))
      .toSorted()
    assert.deepEqual(cameSince(), failed)
    await system.db.query(
      `UPDATE campaign_recipients SET opened_at = now() WHERE campaign_id = $1 AND email NOT LIKE 'c1%'`,
      [id],
    )
    const further = textOf((await campaigns.call('POST', `/${id}/resend`)).body['data']?.['id'])
    await campaigns.move(further, 'start', { force: true })
    await dieOnce()
    await campaigns.settle(further, 'COMPLETED', PATIENCE_MS)
    assert.deepEqual(cameSince(), failed)
  })
})
