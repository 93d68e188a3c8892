import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { createTransport } from 'nodemailer'
import { loadConfig } from '#config/load.ts'
import { openDb } from '#src/stores/db.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { listInbox } from '#src/sandbox/inbox.ts'
import { SANDBOX_MAIL, createSandboxTestbed, type SandboxTestbed } from '#test/support/sandbox-testbed.ts'
import { submitMessage, connectSmtp } from '#test/support/smtp-connection.ts'
import { createDatabase } from '#test/support/stores.ts'
import { startSandbox } from './sandbox.ts'

const withId = (id: string) => `Message-ID: <${id}@sender.example>\r\n${SANDBOX_MAIL}`

describe('sandbox', () => {
  let bed: SandboxTestbed
  const encryption = createEncryption(randomBytes(32))
  before(async () => {
    bed = await createSandboxTestbed(encryption)
  })
  after(() => bed.close())
  beforeEach(() => bed.empty())

  describe('receiver', () => {
    it('stores an accepted mail once for each recipient, over TLS', async () => {
      const transport = createTransport({
        host: '127.0.0.1',
        port: bed.sandbox.smtpPort,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
      })
      const sent = await transport.sendMail({
        from: 'Ann <ann@sender.example>',
        to: ['bob@a.test', 'eve@b.test'],
        subject: 'Grüße',
        text: 'Hello',
      })
      transport.close()
      assert.match(sent.response, /^250 2\.6\.0 Captured as [0-9a-f-]{36}$/)
      const lines = await listInbox(bed.ctx.db, 10)
      assert.deepEqual(lines.map(({ rcptTo }) => rcptTo).toSorted(), ['bob@a.test', 'eve@b.test'])
      for (const { mailFrom, headerFrom, subject, tls, dkim, messageId } of lines) {
        assert.deepEqual(
          { mailFrom, headerFrom, subject, dkim, messageId },
          {
            mailFrom: 'ann@sender.example',
            headerFrom: '"Ann" <ann@sender.example>',
            subject: 'Grüße',
            dkim: [],
            messageId: null,
          },
        )
        assert.match(tls ?? '', /^TLSv1\.3 TLS_/)
      }
    })

    it('stores the octets unchanged', async () => {
      assert.match((await bed.send({ content: `${SANDBOX_MAIL}\r\n..dot\r\n\u00ff` })).at(-1) ?? '', /^250 /)
      const kept = await bed.last()
      assert.deepEqual(kept?.raw, Buffer.from(`${SANDBOX_MAIL}\r\n.dot\r\n\u00ff\r\n`))
      assert.strictEqual(kept?.tls, null)
    })

    it('stores an international domain as people write it', async () => {
      assert.match((await bed.send({ to: 'bob@xn--hxajbheg2az3al.example' })).at(-1) ?? '', /^250 /)
      const [line] = await listInbox(bed.ctx.db, 10)
      assert.strictEqual(line?.rcptTo, 'bob@παράδειγμα.example')
    })

    it('finds the message id in the return-path, else in the Message-ID', async () => {
      const [one, other] = [newId(), newId()]
      await bed.send({
        from: returnPathOf({ messageId: one, n: 3 }, (data) => encryption.mac('return-path', data), 'bounces.test'),
        content: withId(hexOf(other)),
      })
      assert.strictEqual((await bed.last())?.messageId, one)
      await bed.send({ content: withId(hexOf(other)) })
      assert.strictEqual((await bed.last())?.messageId, other)
      for (const foreign of ['abc', '0'.repeat(32), 'f'.repeat(32), hexOf(other).toUpperCase()]) {
        await bed.send({ content: withId(foreign) })
        assert.strictEqual((await bed.last())?.messageId, null, foreign)
      }
    })

    const FLAWS: readonly (readonly [what: string, content: string | Buffer, reply: RegExp])[] = [
      ['a bare LF', 'Subject: x\r\n\r\none\ntwo\r\n', /^554 5\.6\.0 .*bare LF/],
      ['a bare CR', 'Subject: x\r\n\r\none\rtwo\r\n', /^554 5\.6\.0 .*bare CR/],
      ['a NUL', 'Subject: x\r\n\r\none\0two\r\n', /^554 5\.6\.0 .*NUL/],
      ['SMTP smuggling', 'Subject: x\r\n\r\none\n.\r\nMAIL FROM:<x@y.test>\r\n', /^554 5\.6\.0 .*bare LF/],
      ['an oversized mail', `Subject: x\r\n\r\n${'x'.repeat(76)}\r\n`.repeat(4000), /^552 5\.3\.4 /],
      ['no header', 'Hello\r\n', /^250 /],
      ['an empty mail', '', /^250 /],
      [
        'random octets',
        Buffer.concat([Buffer.from('Subject: '), randomBytes(500).map((byte) => byte | 0x80)]),
        /^250 /,
      ],
    ]
    for (const [what, content, reply] of FLAWS) {
      it(`${what}: ${reply.source.slice(1, 4)}`, async () => {
        assert.match((await bed.send({ content })).at(-1) ?? '', reply)
        assert.strictEqual(await bed.count(), reply.source.startsWith('^250') ? 1 : 0)
      })
    }

    it('stores nothing of an interrupted mail', async () => {
      const connection = await connectSmtp(bed.sandbox.smtpPort)
      for (const line of ['EHLO client.test', 'MAIL FROM:<a@b.test>', 'RCPT TO:<bob@a.test>', 'DATA'])
        await connection.command(line)
      connection.send(`${SANDBOX_MAIL}and then`)
      connection.disconnect()
      await bed.send()
      assert.strictEqual(await bed.count(), 1)
    })

    it('accepts mail after a failed TLS handshake', async () => {
      const connection = await connectSmtp(bed.sandbox.smtpPort)
      await connection.command('EHLO client.test')
      await connection.command('STARTTLS')
      connection.send('this is no TLS\r\n')
      assert.match(await connection.readReply(), /^$|^[^2]/)
      assert.match((await bed.send()).at(-1) ?? '', /^250 /)
    })

    it('discards commands sent before the TLS handshake', async () => {
      const connection = await connectSmtp(bed.sandbox.smtpPort)
      await connection.command('EHLO client.test')
      connection.send('STARTTLS\r\nMAIL FROM:<injected@b.test>\r\n')
      await connection.readReply()
      await connection.startTls()
      await connection.command('EHLO client.test')
      assert.match(await connection.command('RCPT TO:<bob@a.test>'), /^503 /)
      connection.disconnect()
    })

    it('rejects MAIL parameters that it did not offer', async () => {
      const connection = await connectSmtp(bed.sandbox.smtpPort)
      await connection.command('EHLO client.test')
      assert.match(await connection.command('MAIL FROM:<a@b.test> RET=HDRS'), /^555 5\.5\.4 /)
      assert.match(await connection.command('MAIL FROM:<a@b.test> SIZE=99 BODY=8BITMIME SMTPUTF8'), /^250 /)
      connection.disconnect()
    })

    it('replies 451 while the database is unavailable', async () => {
      const gone = await createDatabase()
      const lost = openDb(gone.url, bed.ctx.log)
      const other = await startSandbox({ ...bed.ctx, db: lost })
      await gone.drop()
      const replies = await submitMessage(other.smtpPort, { from: 'a@b.test', to: 'bob@a.test', content: SANDBOX_MAIL })
      assert.match(replies.at(-1) ?? '', /^451 4\.3\.0 /)
      await other.stop()
      await lost.close()
    })
  })

  describe('simulators', () => {
    it('bounce with the requested code', async () => {
      assert.match((await bed.send({ to: 'bounce-5.2.2@a.test' })).at(-1) ?? '', /^552 5\.2\.2 /)
      assert.match((await bed.send({ to: 'Bounce+x@a.test' })).at(-1) ?? '', /^550 5\.1\.1 /)
      assert.strictEqual(await bed.count(), 0)
    })

    it('defer each message the requested number of times', async () => {
      const to = 'defer-2+x@a.test'
      const tries = async (from: string, times: number) => {
        const codes: string[] = []
        for (let i = 0; i < times; i++) codes.push((await bed.send({ from, to })).at(-1)?.slice(0, 9) ?? '')
        return codes
      }
      assert.deepEqual(await tries('one@bounces.test', 3), ['450 4.2.1', '450 4.2.1', '250 2.6.0'])
      assert.deepEqual(await tries('two@bounces.test', 3), ['450 4.2.1', '450 4.2.1', '250 2.6.0'])
      assert.deepEqual((await bed.send({ to: 'defer@a.test' })).at(-1)?.slice(0, 9), '450 4.2.1')
    })

    it('drop-after-dot closes once and stores nothing, then accepts', async () => {
      assert.strictEqual((await bed.send({ to: 'drop-after-dot@a.test' })).at(-1), '')
      assert.strictEqual(await bed.count(), 0)
      assert.match((await bed.send({ to: 'drop-after-dot@a.test' })).at(-1) ?? '', /^250 /)
      assert.strictEqual(await bed.count(), 1)
    })

    it('drop-after-keep stores the mail and closes once, then accepts a second copy', async () => {
      assert.strictEqual((await bed.send({ to: 'drop-after-keep@a.test' })).at(-1), '')
      assert.strictEqual(await bed.count(), 1)
      assert.match((await bed.send({ to: 'drop-after-keep@a.test' })).at(-1) ?? '', /^250 /)
      assert.strictEqual(await bed.count(), 2)
    })

    it('slow replies late, and immediately when the receiver stops', async () => {
      const before = performance.now()
      assert.match((await bed.send({ to: 'slow-1@a.test' })).at(-1) ?? '', /^250 /)
      assert.ok(performance.now() - before >= 1000)
      const other = await startSandbox(bed.ctx)
      const pending = submitMessage(other.smtpPort, { from: 'a@b.test', to: 'slow-600@a.test', content: SANDBOX_MAIL })
      setTimeout(() => void other.stop(), 100)
      assert.match((await pending).at(-1) ?? '', /^421 4\.3\.2 |^$/)
    })

    it('tls-fail offers STARTTLS, fails the handshake and accepts mail in plain text', async () => {
      const connection = await connectSmtp(bed.sandbox.smtpPort, '127.0.0.2')
      assert.match(await connection.command('EHLO client.test'), /STARTTLS/)
      await connection.command('STARTTLS')
      await assert.isRejected(connection.startTls())
      connection.disconnect()
      const transport = createTransport({ host: '127.0.0.2', port: bed.sandbox.smtpPort, ignoreTLS: true })
      const { response } = await transport.sendMail({ from: 'a@b.test', to: 'bob@tls-fail.mailstead.test', text: 'x' })
      transport.close()
      assert.match(response, /^250 /)
    })
  })

  it('deletes mail after seven days', async () => {
    await bed.send()
    bed.advance(7 * 86_400_000 - 60_000)
    await (await startSandbox(bed.ctx)).stop()
    assert.strictEqual(await bed.count(), 1)
    bed.advance(120_000)
    await (await startSandbox(bed.ctx)).stop()
    assert.strictEqual(await bed.count(), 0)
  })

  it('names the setting of a port that is in use and leaves nothing running', async () => {
    const taken = { ...bed.ctx, config: { ...bed.ctx.config, sandboxDnsPort: bed.sandbox.dnsPort } }
    await assert.isRejected(startSandbox(taken), /SANDBOX_DNS_PORT/)
    await assert.isRejected(
      startSandbox({ ...bed.ctx, config: { ...bed.ctx.config, sandboxSmtpPort: bed.sandbox.smtpPort } }),
      /SANDBOX_SMTP_PORT/,
    )
  })

  it('uses free ports in place of those in use, also of two equal ones, if it may', async () => {
    const { dnsPort, smtpPort } = bed.sandbox
    const config = { ...bed.ctx.config, sandboxDnsPort: dnsPort, sandboxSmtpPort: smtpPort }
    const second = await startSandbox({ ...bed.ctx, config }, { anyPort: true })
    await second.stop()
    assert.strictEqual(new Set([dnsPort, smtpPort, second.dnsPort, second.smtpPort]).size, 4)
    const equal = { ...config, sandboxDnsPort: second.dnsPort, sandboxSmtpPort: second.dnsPort }
    const third = await startSandbox({ ...bed.ctx, config: equal }, { anyPort: true })
    await third.stop()
    assert.notStrictEqual(third.smtpPort, third.dnsPort)
  })
})

describe('sandbox settings', () => {
  it('direct every process to the built-in servers, in sandbox mode only', () => {
    const inSandbox = loadConfig({ SANDBOX_DNS_PORT: '5353', SANDBOX_SMTP_PORT: '5252' })
    assert.deepEqual(
      [inSandbox.isSandbox, inSandbox.dnsServers, inSandbox.smtpOutPort],
      [true, ['127.0.0.1:5353'], 5252],
    )
    const outside = loadConfig({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.example.com', SANDBOX_DNS_PORT: '5353' })
    assert.deepEqual([outside.isSandbox, outside.dnsServers, outside.smtpOutPort], [false, null, 25])
    const ownDns = loadConfig({ DNS_SERVERS: '127.0.0.1:53', SMTP_OUT_PORT: '2500' })
    assert.deepEqual([ownDns.isSandbox, ownDns.dnsServers, ownDns.smtpOutPort], [false, ['127.0.0.1:53'], 2500])
  })
})
