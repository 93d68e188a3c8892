/**
 * The connection to PostgreSQL breaks after a statement was executed and before its result arrived, so the process
 * does not know whether it was executed. Each case causes this once, on the real outbound role.
 */
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import type { Context } from '#src/context.ts'
import type { Db } from '#src/stores/db.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage } from '#src/messages/read.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'

const RECIPIENTS = 20

describe('the answer of PostgreSQL is lost', () => {
  let ctx: TestContext
  let mx: Receiver
  let outbound: Outbound

  beforeEach(async () => {
    mx = await startReceiver()
    ctx = await createContext({ ROUTES: `*=smtp://127.0.0.1:${mx.port}`, RETRY_SCALE: '0.01' })
  })
  afterEach(async () => {
    await outbound.stop()
    await ctx.close()
    await mx.stop()
  })

  /** A database whose connection breaks once, after this statement was carried out. */
  function losing(statementName: string): Context & { readonly hasLost: () => boolean } {
    let hasLost = false
    const query: Db['query'] = async (statement, values) => {
      const result = await ctx.db.query<never>(statement, values)
      if (
        hasLost ||
        typeof statement === 'string' ||
        !statement.name.startsWith(statementName) ||
        result.rows.length === 0
      )
        return result
      hasLost = true
      throw new Error('Connection terminated unexpectedly')
    }
    return { ...ctx, db: { ...ctx.db, query }, hasLost: () => hasLost }
  }

  for (const [name, what] of [
    ['recipients-claim', 'a claim'],
    ['recipients-move', 'the results'],
  ] as const) {
    it(`of ${what}: everything is delivered once, by the same process`, async () => {
      const broken = losing(name)
      outbound = await startOutbound(broken, ctx.redisUrl)
      const workspaceId = await ctx.newWorkspace()
      const submission = submissionOf(workspaceId, { recipients: testRecipients(RECIPIENTS), tier: 'instant' })
      await createAcceptor(ctx).accept(submission)

      const areDelivered = async (): Promise<boolean> => {
        const message = await readMessage(ctx.db, workspaceId, submission.id)
        return message?.recipients.every(({ state }) => state === 'delivered') ?? false
      }
      await until(areDelivered, () => `${mx.messages.length} of ${RECIPIENTS} were received`)
      assert.ok(broken.hasLost(), 'an answer was lost')
      assert.strictEqual(mx.messages.length, RECIPIENTS)
    })
  }
})
