/**
 * The whole path from accept to the sandbox inbox, through the real outbound role: each simulator address causes the
 * outcome that its description promises.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { startSandbox, type Sandbox } from '#mta/sandbox/sandbox.ts'
import { generateDkimKeys } from '#src/domains/dkim-key.ts'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage, type RecipientView } from '#src/messages/read.ts'
import { findInboxMail, listCaptured, type InboxMail } from '#src/sandbox/inbox.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { ANY_PORTS, connectToSandbox } from '#test/support/sandbox-ports.ts'
import { submissionOf } from '#test/support/submission.ts'

const PATIENCE_MS = 15_000

interface Row {
  readonly to: string
  readonly state: RecipientView['state']
  /** Outcomes of the attempts, in order. */
  readonly attempts: readonly string[]
  readonly reason?: RegExp
  readonly isTaken: boolean
}

const ROWS: readonly Row[] = [
  { to: 'ann@a.test', state: 'delivered', attempts: ['delivered'], isTaken: true },
  { to: 'slow-1@a.test', state: 'delivered', attempts: ['delivered'], isTaken: true },
  { to: 'bounce@a.test', state: 'bounced', attempts: ['bounced'], reason: /5\.1\.1/, isTaken: false },
  { to: 'bounce-5.7.1+x@b.test', state: 'bounced', attempts: ['bounced'], reason: /5\.7\.1/, isTaken: false },
  { to: 'defer-2@a.test', state: 'delivered', attempts: ['deferred', 'deferred', 'delivered'], isTaken: true },
  { to: 'drop-after-dot@a.test', state: 'unknown', attempts: ['unknown'], isTaken: false },
  { to: 'drop-after-keep@a.test', state: 'unknown', attempts: ['unknown'], isTaken: true },
  { to: 'x@null-mx.mailstead.test', state: 'bounced', attempts: ['bounced'], reason: /null MX/, isTaken: false },
  {
    to: 'x@nxdomain.mailstead.test',
    state: 'bounced',
    attempts: ['bounced'],
    reason: /does not exist/,
    isTaken: false,
  },
  { to: 'x@no-host.mailstead.test', state: 'bounced', attempts: ['bounced'], reason: /no host/, isTaken: false },
  { to: 'x@servfail.mailstead.test', state: 'deferred', attempts: ['deferred'], reason: /SERVFAIL/, isTaken: false },
  { to: 'x@down.mailstead.test', state: 'deferred', attempts: ['deferred'], reason: /ECONNREFUSED/, isTaken: false },
  { to: 'x@next-mx.mailstead.test', state: 'delivered', attempts: ['delivered'], isTaken: true },
  { to: 'x@tls-fail.mailstead.test', state: 'delivered', attempts: ['delivered'], isTaken: true },
]

describe('sandbox, end to end', () => {
  let ctx: TestContext
  let sandbox: Sandbox
  let outbound: Outbound
  let workspaceId: string
  let domainId: string

  before(async () => {
    // short waits for what the receiver said; a deferral that nothing ends stays one while the test looks
    ctx = await createContext({ ...ANY_PORTS, RETRY_SCALE: '0.002' })
    sandbox = await startSandbox(ctx)
    outbound = await startOutbound(connectToSandbox(ctx, sandbox, {}), ctx.redisUrl)
    workspaceId = await ctx.newWorkspace()
    domainId = newId()
    await ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'sender.example', 'verified')
      `,
      [domainId, workspaceId],
    )
    for (const [i, { algorithm, privateKey, dnsValue }] of (await generateDkimKeys()).entries()) {
      await ctx.db.query(
        sql`
          INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value)
          VALUES ($1, $2, $3, $4, $5, $6)
        `,
        [newId(), domainId, `s${i}`, algorithm, ctx.encryption.encrypt('dkim', privateKey), dnsValue],
      )
    }
  })
  after(async () => {
    await outbound.stop()
    await sandbox.stop()
    await ctx.close()
  })

  async function send(to: string): Promise<string> {
    const submission = submissionOf(workspaceId, {
      domainId,
      tier: 'instant',
      to: [{ email: to, name: null }],
      recipients: [{ address: to, domain: to.slice(to.indexOf('@') + 1), kind: 'to' }],
    })
    assert.strictEqual((await createAcceptor(ctx).accept(submission)).kind, 'stored')
    return submission.id
  }

  /** The recipient after `count` attempts. State and attempts are read separately, so the state may be older. */
  async function outcomeOf(messageId: string, attempts: number): Promise<RecipientView> {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
      const [recipient] = (await readMessage(ctx.db, workspaceId, messageId))?.recipients ?? []
      if (recipient !== undefined && recipient.attempts.length >= attempts && recipient.state !== 'sending')
        return recipient
      if (Date.now() > end) assert.fail(`no outcome: ${JSON.stringify(recipient)}`)
    }
  }

  const inboxOf = (messageId: string): Promise<InboxMail | null> => findInboxMail(ctx.db, { messageId })

  for (const { to, state, attempts, reason, isTaken } of ROWS) {
    it(`${to}: ${state}`, async () => {
      const id = await send(to)
      const recipient = await outcomeOf(id, attempts.length)
      assert.deepEqual(
        recipient.attempts.slice(0, attempts.length).map(({ outcome }) => outcome),
        attempts,
      )
      // what is deferred may be on its next try by now
      if (state !== 'deferred') assert.strictEqual(recipient.state, state)
      if (reason !== undefined) assert.match(JSON.stringify(recipient), reason)
      assert.strictEqual((await inboxOf(id)) !== null, isTaken)
    })
  }

  it('arrives over TLS, with its own return-path and two valid signatures', async () => {
    const id = await send('bob@a.test')
    await outcomeOf(id, 1)
    const mail = await inboxOf(id)
    assert.deepEqual(
      mail?.dkim.map(({ result, domain, algorithm }) => `${result} ${domain} ${algorithm}`),
      ['pass sender.example rsa-sha256', 'pass sender.example ed25519-sha256'],
    )
    assert.match(mail?.tls ?? '', /^TLSv1\.3 /)
    assert.match(mail?.mailFrom ?? '', /^b-[a-z2-7]{45}@bounces\.mailstead\.test$/)
  })

  it('mail to the capture domain is captured for its workspace, and a requested outcome occurs', async () => {
    const { captureDomain } = ctx.config
    const [taken, refused] = [await send(`anybody@${captureDomain}`), await send(`bounce-5.1.1@${captureDomain}`)]
    assert.strictEqual((await outcomeOf(taken, 1)).state, 'captured')
    assert.strictEqual((await outcomeOf(refused, 1)).state, 'bounced')
    const { items } = await listCaptured(ctx.db, workspaceId, { page: 1, limit: 100 })
    assert.deepEqual(
      items.filter(({ rcptTo }) => rcptTo.endsWith(captureDomain)).map(({ messageId }) => messageId),
      [taken],
    )
    const { events = [] } = (await readMessage(ctx.db, workspaceId, taken)) ?? {}
    assert.deepEqual(
      events.map(({ type }) => type),
      ['email.queued', 'email.sent', 'email.delivered'],
    )
    assert.deepEqual(
      (await ctx.db.query('SELECT 1 FROM suppressions WHERE address LIKE $1', [`%@${captureDomain}`])).rows,
      [],
    )
  })

  it('is delivered without TLS where the handshake fails', async () => {
    const id = await send('bob@tls-fail.mailstead.test')
    const {
      attempts: [attempt],
    } = await outcomeOf(id, 1)
    assert.strictEqual(attempt?.tls, null)
    assert.strictEqual((await inboxOf(id))?.tls, null)
  })
})
