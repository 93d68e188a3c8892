import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createRegistry } from '#src/metrics/registry.ts'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext } from '#test/support/context.ts'
import { createSender } from '#test/support/sender.ts'
import { sendMessage, type OutgoingMessage, plainToken } from '#test/support/smtp-client.ts'
import { setUpSubmission, SUBMISSION_ENV, writeMail } from './submission.test-data.ts'
import { startSubmission } from './submission.ts'

describe('submission', () => {
  const metrics = createRegistry()
  const scene = setUpSubmission(metrics)

  it('accepts mail while Redis is away', async function () {
    this.timeout(20_000)
    const own = await createContext(SUBMISSION_ENV)
    const there = await createSender({ ...own, keyPrefix: 'ms' }, { domain: 'sender.example' })
    const port = await startSubmission(own, createRegistry())
    try {
      await own.redisServer.crash()
      const connection = await scene.client.open(there.regular, port.ports.plain)
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: writeMail('') }),
        /^250 2\.0\.0 /,
      )
    } finally {
      await port.stop()
      await own.close()
    }
  })

  describe('the sender', () => {
    for (const [what, from, expected] of [
      ['another domain', 'x@other.example', /^550 5\.7\.1 .*sender\.example only/],
      ['a subdomain', 'x@sub.sender.example', /^550 5\.7\.1/],
      ['two authors, one of another domain', 'a@sender.example, b@other.example', /^550 5\.7\.1/],
      ['a name that looks right', '"shop@sender.example" <x@other.example>', /^550 5\.7\.1/],
      ['an address in a comment', 'x@other.example (shop@sender.example)', /^550 5\.7\.1/],
      ['an old form with the name in a comment', 'shop@sender.example (The Shop)', /^250 /],
      ['two authors of the domain', 'a@sender.example, "B, C" <b@SENDER.example>', /^250 /],
      ['folded', 'The Shop\r\n <shop@sender.example>', /^250 /],
      ['no address', 'The Shop', /^550 5\.6\.0/],
    ] as const)
      it(what, async () => assert.match(await scene.client.hand(`From: ${from}\r\n\r\nx`), expected))
    it('a key of a connected account allows its addresses only, and the account sends the mail', async () => {
      const accountId = newId()
      await scene.ctx.db.query(
        sql`
          INSERT INTO connected_accounts (
            id, workspace_id, kind, name, host, port, security, username, addresses, secret, connections,
            messages_per_connection
          )
          VALUES ($1, $2, 'smtp', 'x', 'smtp.other.example', 587, 'starttls', 'x', '{me@other.example}', '', 1, 1)
        `,
        [accountId, scene.sender.workspaceId],
      )
      const key = await createKey(scene.ctx.db, {
        kind: 'regular',
        prefix: 'ms',
        workspaceId: scene.sender.workspaceId,
        name: 'account',
        accountId,
      })
      assert.ok(key.kind === 'created')
      const connection = await scene.client.open(key.secretKey)
      const message = (from: string): OutgoingMessage => ({
        from: 'me@other.example',
        to: 'a@b.example',
        content: `From: ${from}\r\n\r\nx`,
      })
      assert.match(await sendMessage(connection, message('you@other.example')), /^550 5\.7\.1 .*me@other\.example only/)
      const { view } = await scene.client.find(await sendMessage(connection, message('Me <Me@other.example>')))
      const { rows } = await scene.ctx.db.query(
        sql`
          SELECT r.domain, m.domain_id, m.submitted
          FROM recipients r
          JOIN messages m ON m.id = r.message_id
          WHERE m.id = $1
        `,
        [view.id],
      )
      assert.deepEqual(rows, [
        { domain: `account:${accountId}`, domain_id: null, submitted: { from: 'me@other.example' } },
      ])
    })
    it('refuses a message without From and one with two', async () => {
      assert.match(await scene.client.hand('Subject: x\r\n\r\nx'), /^550 5\.6\.0 .*no From/)
      assert.match(
        await scene.client.hand('From: a@sender.example\r\nFrom : b@other.example\r\n\r\nx'),
        /^550 5\.6\.0 .*more than one From/,
      )
    })
    it('refuses a domain that lost its verification', async () => {
      const other = await createSender({ ...scene.ctx, keyPrefix: 'ms' }, { domain: 'failed.example' })
      await scene.ctx.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [other.domainId])
      const reply = await sendMessage(await scene.client.open(other.regular), {
        from: 'x@failed.example',
        to: 'a@b.example',
        content: 'From: x@failed.example\r\n\r\nx',
      })
      assert.match(reply, /^550 5\.7\.1 The domain failed\.example is not verified/)
    })
    it('refuses mail over the monthly quota with 452', async () => {
      const small = await createSender({ ...scene.ctx, keyPrefix: 'ms' }, { domain: 'small.example', plan: 'free' })
      await scene.ctx.db.query(
        sql`
          INSERT INTO usage (workspace_id, period, used)
          VALUES ($1, date_trunc('month', now() AT TIME ZONE 'UTC'), 999999)
        `,
        [small.workspaceId],
      )
      const connection = await scene.client.open(small.regular)
      const message = { from: 'x@small.example', to: 'a@b.example', content: 'From: x@small.example\r\n\r\nx' }
      assert.match(await sendMessage(connection, message), /^250 /)
      assert.match(await sendMessage(connection, message), /^452 4\.7\.1 The monthly quota/)
    })
  })

  describe('metrics', () => {
    it('count accepted and refused mail', async () => {
      const refused = await scene.client.open(null)
      assert.match(await refused.command(`AUTH PLAIN ${plainToken('nonsense')}`), /^535 /)
      assert.match(await scene.client.hand(writeMail('')), /^250 /)
      assert.match(await scene.client.hand('Subject: x\r\n\r\nx'), /^550 /)
      assert.match(await scene.client.hand(writeMail('', `${'x'.repeat(998)}\r\n`.repeat(400))), /^552 /)
      const {
        mailstead_submission_messages_total: mails = [],
        mailstead_submission_logins_total: logins = [],
        mailstead_submission_memory_bytes: memory = [],
      } = metrics.snapshot()
      for (const reply of ['250', '550', '552'])
        assert.ok(
          mails.some(({ labels, value }) => labels[0] === reply && value > 0),
          reply,
        )
      assert.deepEqual(new Set(logins.map(({ labels }) => labels[0])), new Set(['accepted', 'refused']))
      assert.strictEqual(memory[0]?.value, 0)
    })
  })

  describe('misbehaving clients', () => {
    it('a thousand silent clients do not block one that sends', async function () {
      this.timeout(20_000)
      const idle = await Promise.all(
        Array.from({ length: 1000 }, async () => {
          const socket = connect(scene.submission.ports.plain, '127.0.0.1')
          socket.on('error', () => {})
          await new Promise((resolve) => socket.once('data', resolve))
          return socket
        }),
      )
      assert.match(await scene.client.hand(writeMail('')), /^250 /)
      idle.forEach((socket) => socket.destroy())
    })
    it('disconnects a client that trickles bytes: a minute before login, half an hour in DATA', async () => {
      const [before, inside, good] = [
        await scene.client.open(null),
        await scene.client.open(),
        await scene.client.open(),
      ]
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await inside.command(line)
      before.send('N')
      scene.ctx.advance(61_000)
      before.send('O')
      assert.strictEqual(await before.readReply(), '')
      assert.match(await sendMessage(good, { from: 'a@b.example', to: 'a@b.example', content: writeMail('') }), /^250 /)
      inside.send('From: shop@sender.example\r\n')
      scene.ctx.advance(31 * 60_000)
      inside.send('X')
      assert.strictEqual(await inside.readReply(), '')
    })
    it('a broken TLS handshake, a lost connection in DATA and endless lines affect no other client', async () => {
      const broken = connect(scene.submission.ports.tls, '127.0.0.1', () => broken.end('EHLO x\r\n'))
      broken.on('error', () => {})
      const lost = await scene.client.open()
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await lost.command(line)
      lost.send(writeMail(''))
      lost.disconnect()
      const endless = await scene.client.open()
      endless.send('x'.repeat(200_000))
      assert.match(await endless.readReply(), /^421 /)
      await sleep(50)
      assert.match(await scene.client.hand(writeMail('')), /^250 /)
    })
  })
})
