/**
 * A system that sends to the internet captures mail to its capture domain, even when the transport map routes all mail
 * elsewhere.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { startSandbox, type Sandbox } from '#mta/sandbox/sandbox.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage } from '#src/messages/read.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { ANY_PORTS, connectToSandbox } from '#test/support/sandbox-ports.ts'
import { submissionOf } from '#test/support/submission.ts'

const PATIENCE_MS = 15_000

describe('captured mail', () => {
  let ctx: TestContext
  let sandbox: Sandbox
  let outbound: Outbound

  before(async () => {
    const env = { MAILSTEAD_HOSTNAME: 'mail.sender.example', ROUTES: '*=smtp://127.0.0.1:9' }
    ctx = await createContext({ ...ANY_PORTS, ...env })
    sandbox = await startSandbox(ctx)
    outbound = await startOutbound(connectToSandbox(ctx, sandbox, env), ctx.redisUrl)
  })
  after(async () => {
    await outbound.stop()
    await sandbox.stop()
    await ctx.close()
  })

  async function stateOf(to: string, isSettled: (state: string) => boolean): Promise<string> {
    const workspaceId = await ctx.newWorkspace()
    const [, domain = ''] = to.split('@')
    const submission = submissionOf(workspaceId, {
      tier: 'instant',
      to: [{ email: to, name: null }],
      recipients: [{ address: to, domain, kind: 'to' }],
    })
    await createAcceptor(ctx).accept(submission)
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
      const [recipient] = (await readMessage(ctx.db, workspaceId, submission.id))?.recipients ?? []
      if (recipient !== undefined && isSettled(recipient.state)) return recipient.state
      if (Date.now() > end) assert.fail(`still ${recipient?.state}`)
    }
  }

  it('ends as captured', async () =>
    assert.strictEqual(
      await stateOf('shop@capture.mail.sender.example', (state) => !['queued', 'sending'].includes(state)),
      'captured',
    ))
  it('is refused where that was asked for', async () =>
    assert.strictEqual(
      await stateOf('bounce@capture.mail.sender.example', (state) => !['queued', 'sending'].includes(state)),
      'bounced',
    ))
  it('all other mail goes where the map says', async () =>
    assert.strictEqual(await stateOf('shop@elsewhere.example', (state) => state === 'deferred'), 'deferred'))
})
