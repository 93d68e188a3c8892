import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { dueKey, readyKey, SITES_KEY, suspendedSite } from '#src/queue/keys.ts'
import { suspend } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { readQueueMetrics } from './queue-metrics.ts'

describe('queue metrics', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  async function figures(): Promise<Record<string, number>> {
    const measured = Object.entries(await readQueueMetrics(ctx))
    return Object.fromEntries(
      measured.flatMap(([name, series]) =>
        series.map(({ labels, value }) => [[name.replace('mailstead_', ''), ...labels].join(' '), Math.round(value)]),
      ),
    )
  }

  it('are 0 while nothing waits', async () => {
    assert.ok(Object.values(await figures()).every((value) => value === 0))
  })
  it('count scheduled, ready and suspended recipients, and the age of the oldest', async () => {
    const workspaceId = await ctx.newWorkspace()
    await createAcceptor(ctx).accept(submissionOf(workspaceId, { tier: 'bulk' }))
    await ctx.db.query(`UPDATE recipients SET due_at = now() - interval '100 seconds'`)
    await ctx.redis.flushall()
    await ctx.redis.zadd(dueKey('high'), 1, 'a', 2, 'b')
    for (const [site, members] of [
      ['mx.one', 3],
      ['mx.two', 4],
      [suspendedSite('stopped.example'), 5],
    ] as const) {
      await ctx.redis.zadd(SITES_KEY, 1, site)
      await ctx.redis.zadd(readyKey(site, 'bulk'), ...Array.from({ length: members }, (_, i) => [i, `m${i}`]).flat())
    }
    await suspend(ctx, 'stopped.example', 'asked')
    await ctx.db.query(
      sql`
        INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
        SELECT gen_random_uuid(), gen_random_uuid(), $1, now() - interval '50 seconds'
        FROM generate_series(1, 7)`,
      [workspaceId],
    )
    await ctx.db.query(
      `INSERT INTO campaigns (id, workspace_id, name, status) VALUES (gen_random_uuid(), $1, 'C', 'PAUSED')`,
      [workspaceId],
    )
    await ctx.db.query(
      sql`
        INSERT INTO automations (id, workspace_id, name, status, trigger_type, trigger_config, version)
        VALUES ($1, $2, 'A', 'active', 'manual', '{}', 1), ($3, $2, 'B', 'paused', 'manual', '{}', 1)`,
      [newId(), workspaceId, newId()],
    )
    await ctx.db.query(
      sql`
        INSERT INTO enrolments (automation_id, workspace_id, contact_id, version, due_at, created_at)
        SELECT a.id, $1, gen_random_uuid(), 1, now() + i * interval '60 seconds', now()
        FROM automations a, generate_series(-2, 2) i`,
      [workspaceId],
    )
    const measured = await figures()
    const expected: Record<string, number> = {
      'queue_depth high scheduled': 2,
      'queue_depth bulk ready': 7,
      'queue_depth bulk suspended': 5,
      'queue_depth instant ready': 0,
      'queue_oldest_seconds instant': 0,
      'suspensions domain': 1,
      'suspensions site': 0,
      webhook_backlog: 7,
      'campaigns PAUSED': 1,
      'campaigns SENDING': 0,
      automation_steps_due: 3,
    }
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, measured[name]])), expected)
    for (const [name, least] of [
      ['queue_oldest_seconds bulk', 100],
      ['webhook_oldest_seconds', 50],
      ['automation_oldest_seconds', 120],
    ] as const)
      assert.ok((measured[name] ?? 0) >= least && (measured[name] ?? 0) < least + 60, `${name} ${measured[name]}`)
  })
})
