import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { run } from './explain.ts'

describe('mailstead explain', () => {
  let ctx: TestContext
  let workspaceId: string
  let id: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    const submission = submissionOf(workspaceId)
    await createAcceptor(ctx).accept(submission)
    id = `em_${hexOf(submission.id)}`
    await suppress(
      ctx.db,
      [{ workspaceId, address: 'ada@receiver.example', kind: 'manual', reason: 'asked' }],
      new Date(),
    )
  })
  after(() => ctx.close())

  const call = (args: string[], redisUrl = ctx.redisUrl): Promise<CommandResult> =>
    runCommand(run, args, {
      DATABASE_URL: ctx.databaseUrl,
      REDIS_URL: redisUrl,
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mail.example.net',
    })

  it('prints each gate, and the one that holds the message', async () => {
    const { code, out } = await call([id])
    assert.strictEqual(code, 0)
    assert.match(out, /ada@receiver\.example {2}queued: .*suppression list/)
    assert.match(out, /HOLDS {2}suppression: .* \(manual: asked\)/)
    assert.match(out, /open {3}site limit: no outbound process is at/)
  })
  it('prints the same as JSON', async () => {
    const { out } = await call([id, '--json'])
    const {
      recipients: [recipient],
    } = JSON.parse(out) as { recipients: { held_by: string; gates: { gate: string }[] }[] }
    assert.deepEqual(
      [recipient?.held_by, recipient?.gates.map(({ gate }) => gate)],
      [
        'suppression',
        ['schedule', 'suppression', 'quota', 'tier', 'site limit', 'suspension', 'backoff', 'DNS', 'egress'],
      ],
    )
  })
  it('names the suspension of the receiver while the message waits for its next attempt', async () => {
    const waiting = submissionOf(workspaceId, {
      recipients: [{ address: 'a@gmail.com', domain: 'gmail.com', kind: 'to' }],
    })
    await createAcceptor(ctx).accept(waiting)
    await ctx.db.query(
      sql`
        UPDATE recipients
        SET state = 'deferred', reason = '421 4.7.0 later', due_at = now() + interval '5 minutes'
        WHERE message_id = $1
      `,
      [waiting.id],
    )
    await ctx.db.query(
      sql`
        INSERT INTO receiver_suspensions (id, pace, source, rule, reply, until)
        VALUES ($1, 'google', 'default', 'slow-down', '421 4.7.0 try again', now() + interval '2 hours')
      `,
      [newId()],
    )
    const { out } = await call([`em_${hexOf(waiting.id)}`])
    assert.match(out, /deferred: .*; google is suspended because of this reply: 421 4\.7\.0 try again, until/)
    assert.match(out, /HOLDS {2}suspension: google is suspended .* \(rule slow-down of the shaping file\)/)
    assert.match(out, /HOLDS {2}backoff: the last attempt ended with: 421 4\.7\.0 later/)
  })
  it('marks what is unknown while Redis is away', async () => {
    const { code, out } = await call([id], 'unix:///tmp/mailstead-no-such-redis')
    assert.strictEqual(code, 0)
    assert.match(out, /open {3}site limit: not known: Redis is unavailable/)
  })
  it('exits with 1 for an unknown message, and with 2 for an invalid id', async () => {
    assert.strictEqual((await call([newId()])).code, 1)
    assert.strictEqual((await call(['x'])).code, 2)
  })
})
