/**
 * An address is suppressed, or a contact leaves the audience, while mail that was claimed long before waits for a busy
 * receiver.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage } from '#src/messages/read.ts'
import { storeContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'

const LATE_MS = 3500
const FILE = `receivers:
  transport-map: {connections: 1, messages_per_connection: 100}
  default: {connections: 1, messages_per_connection: 100}
`

describe('an address that is suppressed while mail to it waits', () => {
  const dir = mkdtempSync('/tmp/mailstead-late-')
  let ctx: TestContext
  let mx: Receiver
  let outbound: Outbound

  before(async () => {
    writeFileSync(join(dir, 'shaping.yaml'), FILE)
    mx = await startReceiver()
    ctx = await createContext({
      DNS_SERVERS: '127.0.0.1:1',
      ROUTES: `*=smtp://127.0.0.1:${mx.port}`,
      SHAPING_FILE: join(dir, 'shaping.yaml'),
    })
    outbound = await startOutbound(ctx, ctx.redisUrl)
  })
  after(async () => {
    await outbound.stop(0)
    await ctx.close()
    await mx.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  /** Mail that was claimed before counts as late now: it is checked again before it is sent (deliver.ts, LATE_MS). */
  const becomeLate = (): Promise<void> => sleep(LATE_MS)
  /** The receiver does not answer this mail until the function that is returned is called. */
  const holdBack = (name: string): (() => void) => {
    const { promise: gate, resolve } = Promise.withResolvers<void>()
    mx.script = { on: { dot: ({ to }) => (to[0]?.startsWith(name) === true ? { gate } : undefined) } }
    return resolve
  }
  const send = async (workspaceId: string, name: string, scheduledAt: Date | null = null): Promise<string> => {
    const addressee = { kind: 'to', address: `${name}@b.example`, domain: 'b.example' } as const
    const submission = submissionOf(workspaceId, { recipients: [addressee], tier: 'instant', scheduledAt })
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  const stateOf = async (workspaceId: string, id: string): Promise<string | undefined> =>
    (await readMessage(ctx.db, workspaceId, id))?.recipients[0]?.state
  /** Makes it the mail of an audience, for its one member. */
  async function makeRecipe(workspaceId: string, id: string, contactId: string): Promise<void> {
    const audienceId = await addAudience({ db: ctx.db, workspaceId })
    await ctx.db.query('INSERT INTO contacts (id, workspace_id, email) VALUES ($1, $2, $3)', [
      contactId,
      workspaceId,
      `${contactId}@b.example`,
    ])
    await ctx.db.query(
      'INSERT INTO memberships (audience_id, contact_id, workspace_id, email, first_key) VALUES ($1, $2, $3, $4, $5)',
      [audienceId, contactId, workspaceId, `${contactId}@b.example`, ''],
    )
    const contentId = await storeContent(ctx.db, workspaceId, {
      templateId: null,
      templateVersion: null,
      subject: 'News',
      html: null,
      text: 'News',
    })
    await ctx.db.query('UPDATE messages SET content_id = $2, contact_id = $3, audience_id = $4 WHERE id = $1', [
      id,
      contentId,
      contactId,
      audienceId,
    ])
  }

  it('gets no mail; other mail is sent', async () => {
    const letGo = holdBack('first')
    const workspaceId = await ctx.newWorkspace()
    await send(workspaceId, 'first')
    await until(() => mx.open > 0)
    const [late, beside] = [await send(workspaceId, 'late'), await send(workspaceId, 'beside')]
    for (const id of [late, beside])
      await until(
        async () => (await stateOf(workspaceId, id)) === 'sending',
        () => 'it is not claimed',
      )
    await ctx.db.query(
      sql`
        INSERT INTO suppressions (workspace_id, address, kind, cause)
        VALUES ($1, 'late@b.example', 'manual', 'asked for it')
      `,
      [workspaceId],
    )
    await becomeLate()
    letGo()
    await until(
      async () => (await stateOf(workspaceId, beside)) === 'delivered',
      () => 'it did not go out',
    )
    await until(
      async () => (await stateOf(workspaceId, late)) === 'suppressed',
      () => 'it is not suppressed',
    )
    assert.deepEqual(
      mx.messages.map(({ to }) => to[0]),
      ['first@b.example', 'beside@b.example'],
    )
  })

  it('a contact who left the audience or was deleted gets no mail; a remaining member does', async () => {
    const letGo = holdBack('second')
    const workspaceId = await ctx.newWorkspace()
    const soon = new Date(Date.now() + 1500)
    const names = ['left', 'gone', 'stays'] as const
    const mails = await Promise.all(
      names.map(async (name) => {
        const [id, contactId] = [await send(workspaceId, name, soon), newId()]
        await makeRecipe(workspaceId, id, contactId)
        return { id, contactId }
      }),
    )
    await send(workspaceId, 'second')
    for (const { id } of mails)
      await until(
        async () => (await stateOf(workspaceId, id)) === 'sending',
        () => 'it is not claimed',
      )
    const [left, gone] = mails
    await ctx.db.query('UPDATE memberships SET is_subscribed = false WHERE contact_id = $1', [left?.contactId])
    await ctx.db.query('DELETE FROM contacts WHERE id = $1', [gone?.contactId])
    await becomeLate()
    letGo()
    const ends = ['suppressed', 'failed', 'delivered']
    for (const [i, { id }] of mails.entries())
      await until(
        async () => (await stateOf(workspaceId, id)) === ends[i],
        () => `${names[i]} is not ${ends[i]}`,
      )
    assert.deepEqual(mx.messages.map(({ to }) => to[0]).slice(-2), ['second@b.example', 'stays@b.example'])
  })
})
