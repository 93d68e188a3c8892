import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { run } from './explain.ts'

describe('mailstead explain', () => {
  let ctx: TestContext
  let id: string
  before(async () => {
    ctx = await createContext()
    const workspaceId = await ctx.newWorkspace()
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
    runCommand(run, args, { DATABASE_URL: ctx.databaseUrl, REDIS_URL: redisUrl, HOSTNAME: 'mail.example.net' })

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
