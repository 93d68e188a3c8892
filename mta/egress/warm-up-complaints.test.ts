/** Complaints about mail of a source that warms up. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { addSource } from '#src/egress/sources.ts'
import { countComplaints } from '#src/egress/warm-up-days.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'

describe('source choice', () => {
  let ctx: TestContext

  before(async () => {
    ctx = await createContext({ WARM_UP: '4,8', RETRY_SCALE: '1' })
  })
  after(() => ctx.close())

  it('complaints hold the allowance back, each against the source of its message', async () => {
    const added = await addSource(ctx, {
      name: 'warm',
      address: '192.0.2.9',
      ehloName: 'warm.sender.example',
      region: 'us-east-1',
      pool: null,
      weight: 1,
      isWarmingUp: true,
    })
    assert.strictEqual(added.kind, 'added')
    const {
      rows: [source],
    } = await ctx.db.query<{ id: string }>(`SELECT id FROM egress_sources WHERE name = 'warm'`)
    await ctx.db.query(
      sql`
        INSERT INTO egress_days (source_id, receiver, day, step, taken, sent)
        VALUES ($1, 'google.com', '2026-01-05', 1, 50, 50)
      `,
      [source?.id],
    )
    const [messageId, workspaceId] = [newId(), await ctx.newWorkspace()]
    await ctx.db.query(
      sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        VALUES ($1, 0, $2, 'bulk', 'to', 'a@shop.example', 'shop.example', 'delivered', false, now(), true, now())
      `,
      [messageId, workspaceId],
    )
    await ctx.db.query(
      sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, host, source, duration_ms, conversation)
        VALUES ($1, 0, 1, now(), 'delivered', 'aspmx.l.google.com', 'warm', 1, '')
      `,
      [messageId],
    )
    await countComplaints(ctx.db, [
      { messageId, n: 0 },
      { messageId: newId(), n: 0 },
    ])
    await countComplaints(ctx.db, [])
    const { rows } = await ctx.db.query('SELECT complaints FROM egress_days')
    assert.deepEqual(rows, [{ complaints: 1 }])
  })
})
