import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { promises as dns } from 'node:dns'
import { assert, expect } from 'chai'
import { createTransport } from 'nodemailer'
import { loadConfig } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import { findInboxMail, listInbox, type InboxMail } from '#src/sandbox/inbox.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { sql } from '#src/stores/sql.ts'
import { submitMessage, connectSmtp } from '#test/support/smtp-connection.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { startSandbox, type Sandbox } from './sandbox.ts'

const CONTENT =
  'From: Ann <ann@sender.example>\r\nTo: bob@a.test\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello\r\n'
const withId = (id: string) => `Message-ID: <${id}@sender.example>\r\n${CONTENT}`
const log = openLog({ logLevel: 'silent' }, 'test')

describe('sandbox', () => {
  let database: TestDatabase
  let db: Db
  let sandbox: Sandbox
  let now = Date.now()
  const encryption = createEncryption(randomBytes(32))
  const config = loadConfig({ SANDBOX_DNS_PORT: '0', SANDBOX_SMTP_PORT: '0', MAX_MESSAGE_BYTES: '100000' })
  const context = (): Omit<Context, 'redis'> => ({ config, db, log, encryption, clock: { now: () => now } })
  const last = (): Promise<InboxMail | null> => findInboxMail(db, 'last')
  const count = async (): Promise<number> => (await listInbox(db, 1000)).length

  before(async () => {
    database = await createDatabase()
    db = openDb(database.url, log)
    sandbox = await startSandbox(context())
  })
  after(async () => {
    await sandbox.stop()
    await db.close()
    await database.drop()
  })
  beforeEach(() => db.query('TRUNCATE sandbox_inbox'))

  function send(mail: { from?: string; to?: string; content?: string | Buffer } = {}): Promise<string[]> {
    return submitMessage(sandbox.smtpPort, { from: 'sender@bounces.test', to: 'bob@a.test', content: CONTENT, ...mail })
  }

  describe('receiver', () => {
    it('stores an accepted mail once for each recipient, over TLS', async () => {
      const transport = createTransport({
        host: '127.0.0.1',
        port: sandbox.smtpPort,
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
      const lines = await listInbox(db, 10)
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
      assert.match((await send({ content: `${CONTENT}\r\n..dot\r\n\u00ff` })).at(-1) ?? '', /^250 /)
      const kept = await last()
      assert.deepEqual(kept?.raw, Buffer.from(`${CONTENT}\r\n.dot\r\n\u00ff\r\n`))
      assert.strictEqual(kept?.tls, null)
    })

    it('finds the message id in the return-path, else in the Message-ID', async () => {
      const [one, other] = [newId(), newId()]
      await send({
        from: returnPathOf({ messageId: one, n: 3 }, (data) => encryption.mac('return-path', data), 'bounces.test'),
        content: withId(hexOf(other)),
      })
      assert.strictEqual((await last())?.messageId, one)
      await send({ content: withId(hexOf(other)) })
      assert.strictEqual((await last())?.messageId, other)
      for (const foreign of ['abc', '0'.repeat(32), 'f'.repeat(32), hexOf(other).toUpperCase()]) {
        await send({ content: withId(foreign) })
        assert.strictEqual((await last())?.messageId, null, foreign)
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
        assert.match((await send({ content })).at(-1) ?? '', reply)
        assert.strictEqual(await count(), reply.source.startsWith('^250') ? 1 : 0)
      })
    }

    it('stores nothing of an interrupted mail', async () => {
      const connection = await connectSmtp(sandbox.smtpPort)
      for (const line of ['EHLO client.test', 'MAIL FROM:<a@b.test>', 'RCPT TO:<bob@a.test>', 'DATA'])
        await connection.command(line)
      connection.send(`${CONTENT}and then`)
      connection.disconnect()
      await send()
      assert.strictEqual(await count(), 1)
    })

    it('accepts mail after a failed TLS handshake', async () => {
      const connection = await connectSmtp(sandbox.smtpPort)
      await connection.command('EHLO client.test')
      await connection.command('STARTTLS')
      connection.send('this is no TLS\r\n')
      assert.match(await connection.readReply(), /^$|^[^2]/)
      assert.match((await send()).at(-1) ?? '', /^250 /)
    })

    it('discards commands sent before the TLS handshake', async () => {
      const connection = await connectSmtp(sandbox.smtpPort)
      await connection.command('EHLO client.test')
      connection.send('STARTTLS\r\nMAIL FROM:<injected@b.test>\r\n')
      await connection.readReply()
      await connection.startTls()
      await connection.command('EHLO client.test')
      assert.match(await connection.command('RCPT TO:<bob@a.test>'), /^503 /)
      connection.disconnect()
    })

    it('rejects MAIL parameters that it did not offer', async () => {
      const connection = await connectSmtp(sandbox.smtpPort)
      await connection.command('EHLO client.test')
      assert.match(await connection.command('MAIL FROM:<a@b.test> RET=HDRS'), /^555 5\.5\.4 /)
      assert.match(await connection.command('MAIL FROM:<a@b.test> SIZE=99 BODY=8BITMIME SMTPUTF8'), /^250 /)
      connection.disconnect()
    })

    it('replies 451 while the database is unavailable', async () => {
      const gone = await createDatabase()
      const lost = openDb(gone.url, log)
      const other = await startSandbox({ ...context(), db: lost })
      await gone.drop()
      const replies = await submitMessage(other.smtpPort, { from: 'a@b.test', to: 'bob@a.test', content: CONTENT })
      assert.match(replies.at(-1) ?? '', /^451 4\.3\.0 /)
      await other.stop()
      await lost.close()
    })
  })

  describe('DKIM results', () => {
    const rsa = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })

    before(async () => {
      const [workspaceId, domainId] = [newId(), newId()]
      await db.query('INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, $4)', [
        workspaceId,
        'ab',
        'test',
        'free',
      ])
      await db.query('INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)', [
        domainId,
        workspaceId,
        'sender.example',
      ])
      await db.query(
        sql`
          INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value)
          VALUES ($1, $2, $3, $4, $5, $6)
        `,
        [
          newId(),
          domainId,
          's1',
          'rsa-sha256',
          Buffer.alloc(1),
          `v=DKIM1; k=rsa; p=${rsa.publicKey.toString('base64')}`,
        ],
      )
    })

    async function signed(
      selector: string,
      change: (content: string) => string = (content) => content,
    ): Promise<string> {
      const composer = createTransport({
        streamTransport: true,
        buffer: true,
        newline: 'windows',
        dkim: { domainName: 'sender.example', keySelector: selector, privateKey: rsa.privateKey },
      })
      const { message } = await composer.sendMail({
        from: 'ann@sender.example',
        to: 'bob@a.test',
        subject: 'Signed',
        text: 'Hello',
      })
      assert.ok(Buffer.isBuffer(message))
      return change(message.toString())
    }

    const ROWS: readonly (readonly [
      what: string,
      selector: string,
      change: (content: string) => string,
      result: string,
    ])[] = [
      ['a good signature', 's1', (content) => content, 'pass'],
      ['a changed body', 's1', (content) => content.replace('Hello', 'Hullo'), 'fail'],
      ['a changed subject', 's1', (content) => content.replace('Subject: Signed', 'Subject: Singed'), 'fail'],
      ['a selector that is not published', 's2', (content) => content, 'neutral'],
    ]
    for (const [what, selector, change, result] of ROWS) {
      it(`${what}: ${result}`, async () => {
        await send({ content: await signed(selector, change) })
        const [verdict, ...others] = (await last())?.dkim ?? []
        assert.deepEqual(
          { ...verdict, comment: null },
          { domain: 'sender.example', selector, algorithm: 'rsa-sha256', result, comment: null },
        )
        assert.strictEqual(others.length, 0)
      })
    }
  })

  describe('simulators', () => {
    it('bounce with the requested code', async () => {
      assert.match((await send({ to: 'bounce-5.2.2@a.test' })).at(-1) ?? '', /^552 5\.2\.2 /)
      assert.match((await send({ to: 'Bounce+x@a.test' })).at(-1) ?? '', /^550 5\.1\.1 /)
      assert.strictEqual(await count(), 0)
    })

    it('defer each message the requested number of times', async () => {
      const to = 'defer-2+x@a.test'
      const tries = async (from: string, times: number) => {
        const codes: string[] = []
        for (let i = 0; i < times; i++) codes.push((await send({ from, to })).at(-1)?.slice(0, 9) ?? '')
        return codes
      }
      assert.deepEqual(await tries('one@bounces.test', 3), ['450 4.2.1', '450 4.2.1', '250 2.6.0'])
      assert.deepEqual(await tries('two@bounces.test', 3), ['450 4.2.1', '450 4.2.1', '250 2.6.0'])
      assert.deepEqual((await send({ to: 'defer@a.test' })).at(-1)?.slice(0, 9), '450 4.2.1')
    })

    it('drop-after-dot closes once and stores nothing, then accepts', async () => {
      assert.strictEqual((await send({ to: 'drop-after-dot@a.test' })).at(-1), '')
      assert.strictEqual(await count(), 0)
      assert.match((await send({ to: 'drop-after-dot@a.test' })).at(-1) ?? '', /^250 /)
      assert.strictEqual(await count(), 1)
    })

    it('drop-after-keep stores the mail and closes once, then accepts a second copy', async () => {
      assert.strictEqual((await send({ to: 'drop-after-keep@a.test' })).at(-1), '')
      assert.strictEqual(await count(), 1)
      assert.match((await send({ to: 'drop-after-keep@a.test' })).at(-1) ?? '', /^250 /)
      assert.strictEqual(await count(), 2)
    })

    it('slow replies late, and immediately when the receiver stops', async () => {
      const before = performance.now()
      assert.match((await send({ to: 'slow-1@a.test' })).at(-1) ?? '', /^250 /)
      assert.ok(performance.now() - before >= 1000)
      const other = await startSandbox(context())
      const pending = submitMessage(other.smtpPort, { from: 'a@b.test', to: 'slow-600@a.test', content: CONTENT })
      setTimeout(() => void other.stop(), 100)
      assert.match((await pending).at(-1) ?? '', /^421 4\.3\.2 |^$/)
    })

    it('tls-fail offers STARTTLS, fails the handshake and accepts mail in plain text', async () => {
      const connection = await connectSmtp(sandbox.smtpPort, '127.0.0.2')
      assert.match(await connection.command('EHLO client.test'), /STARTTLS/)
      await connection.command('STARTTLS')
      await assert.isRejected(connection.startTls())
      connection.disconnect()
      const transport = createTransport({ host: '127.0.0.2', port: sandbox.smtpPort, ignoreTLS: true })
      const { response } = await transport.sendMail({ from: 'a@b.test', to: 'bob@tls-fail.mailstead.test', text: 'x' })
      transport.close()
      assert.match(response, /^250 /)
    })
  })

  describe('DNS', () => {
    const resolver = new dns.Resolver({ timeout: 1000, tries: 1 })
    before(() => resolver.setServers([`127.0.0.1:${sandbox.dnsPort}`]))
    const mx = async (domain: string) =>
      (await resolver.resolveMx(domain)).map(({ priority, exchange }) => `${priority} ${exchange}`).toSorted()

    it('sends every domain to the built-in receiver', async () => {
      assert.deepEqual(await mx('gmail.com'), ['10 mx.mailstead.test'])
      assert.deepEqual(await resolver.resolve4('MX.mailstead.test'), ['127.0.0.1'])
      await expect(resolver.resolve6('mx.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
    })

    it('answers for its simulated domains', async () => {
      assert.deepEqual(await mx('null-mx.mailstead.test'), ['0 '])
      assert.deepEqual(await mx('down.mailstead.test'), ['10 mx-down.mailstead.test'])
      assert.deepEqual(await mx('next-mx.mailstead.test'), ['10 mx-down.mailstead.test', '20 mx.mailstead.test'])
      assert.deepEqual(await mx('tls-fail.mailstead.test'), ['10 mx-tls-fail.mailstead.test'])
      assert.deepEqual(await resolver.resolve4('mx-tls-fail.mailstead.test'), ['127.0.0.2'])
      await expect(resolver.resolveMx('nxdomain.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolve4('nxdomain.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveMx('servfail.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ESERVFAIL',
      )
      await expect(resolver.resolveMx('no-host.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
      await expect(resolver.resolve4('no-host.mailstead.test')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENODATA',
      )
    })

    it('publishes the DKIM keys of this system and no others', async () => {
      const [text] = await resolver.resolveTxt('S1._domainkey.Sender.example')
      assert.match(text?.join('') ?? '', /^v=DKIM1; k=rsa; p=MIIB/)
      await expect(resolver.resolveTxt('s9._domainkey.sender.example')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveTxt('s1._domainkey.other.example')).to.be.rejected.and.eventually.have.property(
        'code',
        'ENOTFOUND',
      )
      await expect(resolver.resolveTxt('sender.example')).to.be.rejected.and.eventually.have.property('code', 'ENODATA')
    })
  })

  it('deletes mail after seven days', async () => {
    await send()
    now += 7 * 86_400_000 - 60_000
    await (await startSandbox(context())).stop()
    assert.strictEqual(await count(), 1)
    now += 120_000
    await (await startSandbox(context())).stop()
    assert.strictEqual(await count(), 0)
  })

  it('names the setting of a port that is in use and leaves nothing running', async () => {
    const taken = { ...context(), config: { ...config, sandboxDnsPort: sandbox.dnsPort } }
    await assert.isRejected(startSandbox(taken), /SANDBOX_DNS_PORT/)
    await assert.isRejected(
      startSandbox({ ...context(), config: { ...config, sandboxSmtpPort: sandbox.smtpPort } }),
      /SANDBOX_SMTP_PORT/,
    )
  })
})

describe('sandbox settings', () => {
  it('direct every process to the built-in servers, in sandbox mode only', () => {
    const inSandbox = loadConfig({ SANDBOX_DNS_PORT: '5353', SANDBOX_SMTP_PORT: '5252' })
    assert.deepEqual(
      [inSandbox.isSandbox, inSandbox.dnsServers, inSandbox.smtpOutPort],
      [true, ['127.0.0.1:5353'], 5252],
    )
    const outside = loadConfig({ HOSTNAME: 'mail.example.com', SANDBOX_DNS_PORT: '5353' })
    assert.deepEqual([outside.isSandbox, outside.dnsServers, outside.smtpOutPort], [false, null, 25])
    const ownDns = loadConfig({ DNS_SERVERS: '127.0.0.1:53', SMTP_OUT_PORT: '2500' })
    assert.deepEqual([ownDns.isSandbox, ownDns.dnsServers, ownDns.smtpOutPort], [false, ['127.0.0.1:53'], 2500])
  })
})
