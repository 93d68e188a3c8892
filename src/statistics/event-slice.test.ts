/** Recipients whose events in a slice do not all belong to one attempt. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { countAllEvents, EACH_ONCE, storeEvents, storeMail } from './mail.test-data.ts'

describe('a slice of events', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())

  it('counts events by the attempt before them, and each class by itself', async () => {
    const beganMs = Date.now() - 60_000
    const at = (seconds: number): Date => new Date(beganMs + seconds * 1000)
    const id = await storeMail(ctx.db, { workspaceId, at: at(0), host: 'mx.first.example', source: '192.0.2.1' }, [
      ['email.queued'],
      ['email.deferred', { reason: 'greylisted', message: '4.7.1 later' }],
    ])
    await ctx.db.query(
      sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, host, source, duration_ms, conversation)
        VALUES ($1, 0, 2, $2, 'delivered', 'mx.second.example', '192.0.2.2', 1, '')`,
      [id, at(10)],
    )
    await storeEvents(ctx.db, { id, workspaceId, at: at(11) }, [['email.sent'], ['email.delivered'], ['email.opened']])
    const once = { workspaceId, at: at(0), host: 'mx.third.example', source: '192.0.2.3' }
    await storeMail(ctx.db, once, [
      ['email.delivered'],
      ['email.bounced', { bounce_type: 'soft', bounce_class: 'mailbox-full', bounce_message: '4.2.2 full' }],
      ['email.bounced', { bounce_type: 'hard', bounce_class: 'no-such-user', bounce_message: '5.1.1 none' }],
    ])
    await countAllEvents(ctx)
    const { rows } = await ctx.db.query<Record<string, string | number | null>>(
      sql`
        SELECT dimension, value, accepted, sent, delivered, deferred, bounced_soft, bounced_hard, opened
        FROM statistics
        WHERE workspace_id = $1 AND dimension IN ('receiver', 'source', 'class', 'receiver_class') AND ${EACH_ONCE}
        ORDER BY dimension, value`,
      [workspaceId],
    )
    assert.deepEqual(
      rows.map(({ dimension, value, ...counts }) => [
        `${dimension} ${value}`,
        Object.entries(counts).flatMap(([name, count]) => (count === null ? [] : [`${name} ${count}`])),
      ]),
      [
        ['class greylisted', ['deferred 1']],
        ['class mailbox-full', ['bounced_soft 1']],
        ['class no-such-user', ['bounced_hard 1']],
        ['receiver first.example', ['deferred 1']],
        ['receiver second.example', ['sent 1', 'delivered 1', 'opened 1']],
        ['receiver third.example', ['delivered 1', 'bounced_soft 1', 'bounced_hard 1']],
        ['receiver_class first.example greylisted', ['deferred 1']],
        ['receiver_class third.example mailbox-full', ['bounced_soft 1']],
        ['receiver_class third.example no-such-user', ['bounced_hard 1']],
        ['source 192.0.2.1', ['deferred 1']],
        ['source 192.0.2.2', ['sent 1', 'delivered 1', 'opened 1']],
        ['source 192.0.2.3', ['delivered 1', 'bounced_soft 1', 'bounced_hard 1']],
      ],
    )
    const replies = await ctx.db.query<{ reply: string }>(
      'SELECT reply FROM receiver_replies WHERE workspace_id = $1 ORDER BY reply',
      [workspaceId],
    )
    assert.deepEqual(
      replies.rows.map(({ reply }) => reply),
      ['4.2.2 full', '4.7.1 later', '5.1.1 none'],
    )
  })
})
