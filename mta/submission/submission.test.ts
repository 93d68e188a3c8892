import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import { createRegistry } from '#src/metrics/registry.ts'
import { readMessage, type MessageView } from '#src/messages/read.ts'
import { createKey } from '#src/auth/keys.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createRenderer } from '#src/templates/renderer.ts'
import { saveTemplate } from '#src/templates/store.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { sendMessage, type OutgoingMessage, logInSmtp, plainToken } from '#test/support/smtp-client.ts'
import { connectSmtp, type SmtpConnection } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { startSubmission, type SubmissionRole } from './submission.ts'

const ENV = {
  SUBMISSION_PORT: '0',
  SUBMISSION_TLS_PORT: '0',
  SUBMISSION_ALT_PORT: '0',
  MAX_RECIPIENTS: '60',
  MAX_MESSAGE_BYTES: '200000',
  HOSTNAME: 'mx.sender.example',
}

interface Stored {
  readonly raw: Buffer
  readonly view: MessageView
}

describe('submission', () => {
  let ctx: TestContext
  let sender: Sender
  let submission: SubmissionRole
  const talks: SmtpConnection[] = []
  const metrics = createRegistry()
  before(async () => {
    ctx = await createContext(ENV)
    sender = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'sender.example' })
    submission = await startSubmission(ctx, metrics)
  })
  after(async () => {
    await submission.stop()
    await ctx.close()
  })
  afterEach(() => talks.splice(0).forEach((connection) => connection.disconnect()))

  const open = async (key: string | null = sender.regular, port = submission.ports.plain): Promise<SmtpConnection> => {
    const connection = await logInSmtp(port, key)
    talks.push(connection)
    return connection
  }
  const mail = (headers: string, body = 'Hello\r\n'): string =>
    `From: Shop <shop@sender.example>\r\nTo: a@b.example\r\nSubject: Hi\r\n${headers}\r\n${body}`
  const hand = async (
    content: string | Buffer,
    to: string | string[] = 'a@b.example',
    parameters = '',
  ): Promise<string> => sendMessage(await open(), { from: 'app@client.test', to, content, parameters })
  const find = async (reply: string): Promise<Stored> => {
    const id = messageIdOf(/queued as (em_[0-9a-f]{32})$/.exec(reply)?.[1] ?? '')
    assert.ok(id !== null, reply)
    const view = await readMessage(ctx.db, sender.workspaceId, id)
    const {
      rows: [row],
    } = await ctx.db.query<{ raw: Buffer }>('SELECT raw FROM messages WHERE id = $1', [id])
    assert.ok(view !== null && row !== undefined)
    return { raw: row.raw, view }
  }

  describe('authentication', () => {
    it('is required', async () => {
      const connection = await open(null)
      assert.match(await connection.command('MAIL FROM:<a@b.example>'), /^530 5\.7\.0 /)
    })
    it('accepts PLAIN and LOGIN with any user name, and offers them in the reply to EHLO', async () => {
      const connection = await connectSmtp(submission.ports.alt)
      const hello = await connection.command('EHLO client.test')
      for (const offer of [
        'AUTH PLAIN LOGIN',
        'STARTTLS',
        'DSN',
        'SMTPUTF8',
        '8BITMIME',
        'PIPELINING',
        'ENHANCEDSTATUSCODES',
        'SIZE 345536',
      ])
        assert.match(hello, new RegExp(`250[- ]${offer}`))
      assert.notMatch(hello, /CHUNKING|BINARYMIME/)
      assert.match(await connection.command('AUTH LOGIN'), /^334 /)
      assert.match(await connection.command(Buffer.from(sender.regular).toString('base64')), /^334 /)
      assert.match(await connection.command(Buffer.from(sender.regular).toString('base64')), /^235 /)
      connection.disconnect()
    })
    it('refuses a wrong key and an Admin key with 535, and disconnects at the third failure', async () => {
      const connection = await open(null)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken('nonsense')}`), /^535 5\.7\.8 /)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(sender.admin)}`), /^535 5\.7\.8 .*Admin key/)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(`${sender.regular.slice(0, -1)}x`)}`), /^535 /)
      assert.match(await connection.readReply(), /^421 4\.7\.0 /)
      assert.strictEqual(await connection.readReply(), '')
    })
    it('refuses a deactivated key from the next message on, also on an open connection', async () => {
      const other = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'switched.example' })
      const connection = await open(other.regular)
      const message = { from: 'a@switched.example', to: 'x@b.example', content: 'From: a@switched.example\r\n\r\nx' }
      assert.match(await sendMessage(connection, message), /^250 /)
      await ctx.db.query('UPDATE api_keys SET is_active = false WHERE workspace_id = $1', [other.workspaceId])
      await until(async () => (await sendMessage(connection, message)).startsWith('535 5.7.8'))
    })
    it('is required again after STARTTLS, which resets the session', async () => {
      const connection = await open()
      assert.match(await connection.command('STARTTLS'), /^220 /)
      await connection.startTls()
      assert.match(await connection.command('EHLO client.test'), /AUTH PLAIN LOGIN/)
      assert.match(await connection.command('MAIL FROM:<a@b.example>'), /^530 /)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(sender.regular)}`), /^235 /)
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'x@b.example', content: mail('') }),
        /^250 2\.0\.0 /,
      )
    })
    it('accepts implicit TLS from a common client', async () => {
      const transport = createTransport({
        host: '127.0.0.1',
        port: submission.ports.tls,
        secure: true,
        tls: { rejectUnauthorized: false },
        auth: { user: 'x', pass: sender.regular },
      })
      const { response } = await transport.sendMail({
        from: 'Ü <ü@sender.example>',
        to: 'a@b.example',
        bcc: 'hidden@b.example',
        subject: 'Grüße',
        text: 'Hallo',
        attachments: [{ filename: 'x.bin', content: Buffer.alloc(5000, 7) }],
      })
      const { view, raw } = await find(response)
      assert.strictEqual(view.subject, 'Grüße')
      assert.deepEqual(view.from, { email: 'ü@sender.example', name: 'Ü' })
      assert.deepEqual(
        view.recipients.map(({ address, kind }) => [address, kind]),
        [
          ['a@b.example', 'to'],
          ['hidden@b.example', 'bcc'],
        ],
      )
      assert.ok(!raw.includes('hidden@'))
      transport.close()
    })
    it('blocks a network after too many failures, even with a valid key', async () => {
      const own = await createContext(ENV)
      const port = await startSubmission(own, createRegistry())
      try {
        const reply = async (): Promise<string> => {
          const connection = await connectSmtp(port.ports.plain)
          await connection.command('EHLO x.test')
          const answer = await connection.command(`AUTH PLAIN ${plainToken('wrong')}`)
          connection.disconnect()
          return answer
        }
        for (let i = 0; i < 30; i++) assert.match(await reply(), /^535 /)
        assert.match(await reply(), /^454 4\.7\.0 Too many failed logins/)
      } finally {
        await port.stop()
        await own.close()
      }
    })
  })

  describe('remote clients', () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal)?.address
    const test = outside === undefined ? it.skip : it
    test('a login needs TLS', async () => {
      const connection = await connectSmtp(submission.ports.plain, outside)
      assert.notMatch(await connection.command('EHLO client.test'), /AUTH/)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(sender.regular)}`), /^538 5\.7\.11 /)
      await connection.command('STARTTLS')
      await connection.startTls()
      assert.match(await connection.command('EHLO client.test'), /AUTH PLAIN LOGIN/)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(sender.regular)}`), /^235 /)
      connection.disconnect()
    })
    test('unless the operator says so', async () => {
      const own = await startSubmission(
        { ...ctx, config: { ...ctx.config, submissionPlainLogin: 'anywhere' } },
        createRegistry(),
      )
      const connection = await connectSmtp(own.ports.plain, outside)
      await connection.command('EHLO client.test')
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(sender.regular)}`), /^235 /)
      connection.disconnect()
      await own.stop()
    })
    test('a key, and a network, may hand in only so much', async () => {
      for (const [setting, host] of [
        ['submissionPerKey', '127.0.0.1'],
        ['submissionPerNetwork', outside],
      ] as const) {
        const own = await startSubmission(
          { ...ctx, config: { ...ctx.config, submissionPlainLogin: 'anywhere', [setting]: 1 } },
          createRegistry(),
        )
        const connection = await connectSmtp(own.ports.plain, host)
        await connection.command('EHLO client.test')
        await connection.command(`AUTH PLAIN ${plainToken(sender.regular)}`)
        const replies: string[] = []
        for (let i = 0; i < 25; i++)
          replies.push(
            await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: mail('') }),
            await connection.command('RSET'),
          )
        assert.ok(
          replies.some((reply) => /^451 4\.7\.0 Too many messages; try again in \d+ s$/.test(reply)),
          setting,
        )
        connection.disconnect()
        await own.stop()
      }
    })
  })

  it('accepts mail while Redis is away', async function () {
    this.timeout(20_000)
    const own = await createContext(ENV)
    const there = await createSender({ ...own, keyPrefix: 'ms' }, { domain: 'sender.example' })
    const port = await startSubmission(own, createRegistry())
    try {
      await own.redisServer.crash()
      const connection = await open(there.regular, port.ports.plain)
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: mail('') }),
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
      it(what, async () => assert.match(await hand(`From: ${from}\r\n\r\nx`), expected))
    it('a key of a connected account allows its addresses only, and the account sends the mail', async () => {
      const accountId = newId()
      await ctx.db.query(
        sql`
          INSERT INTO connected_accounts (
            id, workspace_id, kind, name, host, port, security, username, addresses, secret, connections,
            messages_per_connection
          )
          VALUES ($1, $2, 'smtp', 'x', 'smtp.other.example', 587, 'starttls', 'x', '{me@other.example}', '', 1, 1)
        `,
        [accountId, sender.workspaceId],
      )
      const key = await createKey(ctx.db, {
        kind: 'regular',
        prefix: 'ms',
        workspaceId: sender.workspaceId,
        name: 'account',
        accountId,
      })
      assert.ok(key.kind === 'created')
      const connection = await open(key.secretKey)
      const message = (from: string): OutgoingMessage => ({
        from: 'me@other.example',
        to: 'a@b.example',
        content: `From: ${from}\r\n\r\nx`,
      })
      assert.match(await sendMessage(connection, message('you@other.example')), /^550 5\.7\.1 .*me@other\.example only/)
      const { view } = await find(await sendMessage(connection, message('Me <Me@other.example>')))
      const { rows } = await ctx.db.query(
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
      assert.match(await hand('Subject: x\r\n\r\nx'), /^550 5\.6\.0 .*no From/)
      assert.match(
        await hand('From: a@sender.example\r\nFrom : b@other.example\r\n\r\nx'),
        /^550 5\.6\.0 .*more than one From/,
      )
    })
    it('refuses a domain that lost its verification', async () => {
      const other = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'failed.example' })
      await ctx.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [other.domainId])
      const reply = await sendMessage(await open(other.regular), {
        from: 'x@failed.example',
        to: 'a@b.example',
        content: 'From: x@failed.example\r\n\r\nx',
      })
      assert.match(reply, /^550 5\.7\.1 The domain failed\.example is not verified/)
    })
    it('refuses mail over the monthly quota with 452', async () => {
      const small = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'small.example', plan: 'free' })
      await ctx.db.query(
        sql`
          INSERT INTO usage (workspace_id, period, used)
          VALUES ($1, date_trunc('month', now() AT TIME ZONE 'UTC'), 999999)
        `,
        [small.workspaceId],
      )
      const connection = await open(small.regular)
      const message = { from: 'x@small.example', to: 'a@b.example', content: 'From: x@small.example\r\n\r\nx' }
      assert.match(await sendMessage(connection, message), /^250 /)
      assert.match(await sendMessage(connection, message), /^452 4\.7\.1 The monthly quota/)
    })
  })

  describe('the content', () => {
    for (const [what, content] of [
      ['bare LF', mail('', 'a\nb\r\n')],
      ['bare CR', mail('', 'a\rb\r\n')],
      ['NUL', mail('', 'a\0b\r\n')],
      [
        'LF dot LF',
        mail(
          '',
          'a\n.\nMAIL FROM:<evil@x.example>\nRCPT TO:<v@x.example>\nDATA\nFrom: shop@sender.example\n\nsmuggled\r\n',
        ),
      ],
      ['LF dot CRLF', mail('', 'a\n.\r\nMAIL FROM:<evil@x.example>\r\n')],
      ['CR dot CR', mail('', 'a\r.\rMAIL FROM:<evil@x.example>\r\n')],
      ['CR LF dot CR', mail('', 'a\r\n.\rb\r\n')],
      ['bare LF in the header', 'From: shop@sender.example\nBcc: x@y.example\r\n\r\nx'],
    ] as const)
      it(`${what} is refused, and none of it is read as a command`, async () => {
        const connection = await open()
        for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await connection.command(line)
        connection.send(`${content}\r\n.\r\n`)
        assert.match(await connection.readReply(), /^550 5\.6\.0 /)
        assert.match(await connection.command('NOOP'), /^250 /)
      })
    it('refuses a message that is too large, declared or not', async () => {
      const connection = await open()
      assert.match(await connection.command('MAIL FROM:<a@b.example> SIZE=9999999'), /^552 5\.3\.4 /)
      assert.match(
        await sendMessage(connection, {
          from: 'a@b.example',
          to: 'a@b.example',
          content: mail('', `${'x'.repeat(998)}\r\n`.repeat(400)),
        }),
        /^552 5\.3\.4 /,
      )
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: mail('') }),
        /^250 /,
      )
    })
    it('disconnects a client that never stops sending', async () => {
      const connection = await open()
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await connection.command(line)
      connection.send(mail(''))
      for (let i = 0; i < 40; i++) connection.send(`${'x'.repeat(998)}\r\n`.repeat(100))
      assert.strictEqual(await connection.readReply(), '')
    })
    it('accepts a transaction in any number of packets as one unchanged message', async function () {
      this.timeout(20_000)
      const connection = await open()
      const line = fc.string({
        unit: fc.constantFrom('.', '..', ' ', 'x', 'QUIT', 'RSET', '\r\n.', '\r\n'),
        maxLength: 6,
      })
      const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 }).map((at) => at.toSorted((a, b) => a - b))
      await fc.assert(
        fc.asyncProperty(fc.array(line, { maxLength: 6 }), cuts, async (lines, at) => {
          const body = lines.map((one) => `${one}\r\n`).join('')
          const stuffed = `${mail('', body)}\r\n`.replaceAll('\r\n.', '\r\n..')
          const bytes = `MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n${stuffed}.\r\nNOOP\r\n`
          for (const [i, from] of [0, ...at].entries()) {
            connection.send(bytes.slice(from, at[i] ?? bytes.length))
            await new Promise((resolve) => setImmediate(resolve))
          }
          const replies: string[] = []
          for (let i = 0; i < 5; i++) replies.push(await connection.readReply())
          assert.deepEqual(
            replies.map((reply) => reply.slice(0, 3)),
            ['250', '250', '354', '250', '250'],
          )
          const { raw } = await find(replies[3] ?? '')
          assert.strictEqual(raw.subarray(raw.indexOf('\r\n\r\n') + 4).toString(), `${body}\r\n`)
        }),
        { numRuns: 60 },
      )
    })
    it('accepts a message of dots only', async () => {
      const body = '.\r\n'.repeat(60_000)
      const { raw } = await find(await hand(mail('', body)))
      assert.ok(raw.equals(Buffer.concat([raw.subarray(0, raw.indexOf('\r\n\r\n') + 4), Buffer.from(`${body}\r\n`)])))
    })
    it('accepts dots at the start of lines, empty messages and messages without a body', async () => {
      for (const body of ['.\r\n..\r\n.x\r\n', '', '\r\n\r\n', '.\r\n']) {
        const { raw } = await find(await hand(mail('', body)))
        assert.strictEqual(raw.subarray(raw.indexOf('\r\n\r\n') + 4).toString(), `${body}\r\n`, JSON.stringify(body))
      }
      const { raw } = await find(await hand('From: shop@sender.example'))
      assert.ok(raw.toString().endsWith('\r\n\r\n'))
    })
  })

  describe('the header', () => {
    it('gains Received, Date and Message-ID, and loses every form of Bcc', async () => {
      const { raw, view } = await find(
        await hand(
          mail(
            'Bcc: one@x.example,\r\n\ttwo@x.example\r\nX-Other: stays\r\n' +
              'BCC : three@x.example\r\nResent-Bcc: four@x.example\r\n',
          ),
        ),
      )
      const text = raw.toString()
      assert.match(
        text,
        new RegExp(
          String.raw`^Received: from client\.test \(\[127\.0\.0\.1\]\)\r\n\tby mx\.sender\.example with ESMTPA` +
            String.raw` id [0-9a-f]{32};\r\n\t.* \+0000\r\nFrom: `,
        ),
      )
      assert.match(
        text,
        /\r\nX-Other: stays\r\nDate: .* \+0000\r\nMessage-ID: <[0-9a-f]{32}@sender\.example>\r\n\r\nHello\r\n\r\n$/,
      )
      assert.notMatch(text, /bcc\s*:|one@|two@|three@|four@/i)
      assert.strictEqual(view.tier, 'normal')
    })
    it('keeps the other fields unchanged', async () => {
      const { raw } = await find(
        await hand(mail('date: yesterday\r\nMESSAGE-ID: <mine@x>\r\nX-Weird:\r\n\tfolded  \r\nnot a field\r\n')),
      )
      assert.include(
        raw.toString(),
        'Subject: Hi\r\ndate: yesterday\r\nMESSAGE-ID: <mine@x>\r\n' +
          'X-Weird:\r\n\tfolded  \r\nnot a field\r\n\r\nHello',
      )
    })
  })

  describe('options in the header', () => {
    it('set tier, tags and metadata, and are removed from the message', async () => {
      const { raw, view } = await find(
        await hand(
          mail(
            'X-Priority-Tier: HIGH\r\nX-Tag: invoice\r\nX-Tag: =?utf-8?q?M=C3=A4rz?=, vip\r\n' +
              'X-Metadata: {"order": 7,\r\n "paid": true}\r\nx-metadata: customer=42; ref=a=b\r\n',
          ),
        ),
      )
      assert.strictEqual(view.tier, 'high')
      assert.deepEqual(view.tags, ['invoice', 'März', 'vip'])
      assert.deepEqual(view.metadata, { order: 7, paid: true, customer: '42', ref: 'a=b' })
      assert.notMatch(raw.toString(), /x-(tag|metadata|priority)/i)
    })
    for (const [said, opens, clicks] of [
      ['', false, false],
      ['X-Track-Opens: yes\r\n', true, false],
      ['x-track-clicks: TRUE\r\nX-Track-Opens: off\r\n', false, true],
    ] as const) {
      it(`tracking: ${said.trim() || 'no option'}`, async () => {
        const { raw, view } = await find(await hand(mail(said)))
        const { rows } = await ctx.db.query('SELECT track_opens, track_clicks FROM messages WHERE id = $1', [view.id])
        assert.deepEqual(rows, [{ track_opens: opens, track_clicks: clicks }])
        assert.notMatch(raw.toString(), /x-track/i)
      })
    }
    for (const field of [
      'X-Track-Opens: perhaps',
      'X-Track-Clicks: constructor',
      'X-Priority-Tier: urgent',
      'X-Metadata: {"a": {}}',
      'X-Metadata: nothing',
      `X-Tag: ${'x'.repeat(200)}`,
      'X-Idempotency-Key: ',
      'X-Template-Id: nope',
      'X-Params: [',
      'X-Idempotency-Key: a\r\nX-Idempotency-Key: b',
      'X-Priority-Tier: instant\r\nx-priority-tier: bulk',
    ])
      it(`${field.slice(0, 40)} is refused with its reason, in ASCII`, async () =>
        assert.match(await hand(mail(`${field}\r\n`)), /^550 5\.6\.0 x-[ -~]+$/i))
    it('X-Idempotency-Key: the same message gets the reply of the first, another is refused', async () => {
      const first = await hand(
        mail('X-Idempotency-Key: k1\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\nMessage-ID: <1@x>\r\n'),
      )
      const second = await hand(
        mail('X-Idempotency-Key: k1\r\nDate: Mon, 1 Jan 2024 00:00:09 +0000\r\nMessage-ID: <2@x>\r\n'),
      )
      assert.strictEqual(second, first)
      assert.match(await hand(mail('X-Idempotency-Key: k1\r\n', 'another')), /^554 5\.6\.0 /)
      assert.match(await hand(mail('X-Idempotency-Key: k1\r\n'), 'other@b.example'), /^554 5\.6\.0 /)
    })
    it('two messages with the same Message-ID are both accepted', async () => {
      assert.notStrictEqual(await hand(mail('Message-ID: <same@x>\r\n')), await hand(mail('Message-ID: <same@x>\r\n')))
    })
    it('X-Template-Id supplies the body', async () => {
      const renderer = createRenderer()
      after(() => renderer.stop())
      const saved = await saveTemplate({ db: ctx.db, renderer }, sender.workspaceId, {
        name: 't',
        subject: 'Order {{n}}',
        body: '<p>Dear {{name}}</p>',
      })
      assert.strictEqual(saved.kind, 'saved')
      const id = saved.kind === 'saved' ? saved.template.id : ''
      const reply = await hand(
        `From: shop@sender.example\r\nTo: Ann <a@b.example>\r\nX-Template-Id: ${id}\r\n` +
          `X-Params: {"name": "Änn", "n": 7}\r\nX-Own: yes\r\n\r\nignored`,
      )
      const { view } = await find(reply)
      assert.strictEqual(view.subject, 'Order 7')
      const {
        rows: [row],
      } = await ctx.db.query('SELECT html, raw, headers FROM messages WHERE subject = $1', ['Order 7'])
      assert.deepEqual(row, { html: '<p>Dear Änn</p>', raw: null, headers: [['X-Own', 'yes']] })
    })
  })

  describe('the envelope', () => {
    it('decides the recipients, not the header: 50 and more, up to the limit, then 452', async () => {
      const connection = await open()
      await connection.command('MAIL FROM:<a@b.example>')
      for (let i = 0; i < 60; i++) assert.match(await connection.command(`RCPT TO:<r${i}@b.example>`), /^250 /)
      assert.match(await connection.command('RCPT TO:<r60@b.example>'), /^452 4\.5\.3 /)
      await connection.command('DATA')
      connection.send(`${mail('')}\r\n.\r\n`)
      const { view } = await find(await connection.readReply())
      assert.strictEqual(view.recipients.length, 60)
    })
    it('counts each address once, in upper or lower case', async () => {
      const { view } = await find(await hand(mail(''), ['a@b.example', 'A@B.example', 'c@b.example']))
      assert.deepEqual(
        view.recipients.map(({ address, kind }) => [address, kind]),
        [
          ['A@b.example', 'to'],
          ['c@b.example', 'bcc'],
        ],
      )
    })
    for (const [command, expected] of [
      ['MAIL FROM:<a@b.example> RET=FULL ENVID=x', /^250 /],
      ['MAIL FROM:<a@b.example> RET=HALF', /^501 /],
      ['MAIL FROM:<a@b.example> XYZ=1', /^555 5\.5\.4 /],
      ['MAIL FROM:<>', /^250 /],
      ['MAIL FROM:<ü@b.example>', /^553 5\.6\.7 /],
      ['MAIL FROM:<ü@b.example> SMTPUTF8', /^250 /],
      ['MAIL FROM:<a@b.example> BODY=8BITMIME SIZE=100', /^250 /],
      ['MAIL FROM:<a@b.example> BODY=BINARYMIME', /^501 /],
      ['MAIL FROM:a@b.example', /^250 /],
      ['mail from: a@b.example SIZE=9', /^250 /],
      ['MAIL FROM:a b@c.example', /^501 /],
    ] as const)
      it(command, async () => assert.match(await (await open()).command(command), expected))
    it('refuses an invalid address and one without a domain', async () => {
      const connection = await open()
      await connection.command('MAIL FROM:<a@b.example>')
      for (const address of ['nobody', 'a@localhost', 'a@[127.0.0.1]'])
        assert.match(await connection.command(`RCPT TO:<${address}>`), /^5\d\d 5\.1\.[13] /, address)
      assert.match(await connection.command('RCPT TO:<a@b.example> XYZ=1'), /^555 5\.5\.4 /)
      for (const address of ['a@b.example', ' a@b.example NOTIFY=NEVER'])
        assert.match(await connection.command(`RCPT TO:${address}`), /^250 /)
      for (const address of ['<a@b.example', 'a@b.example>', 'a@b.example<c@d.example>'])
        assert.match(await connection.command(`RCPT TO:${address}`), /^501 /)
      assert.match(await connection.command('RCPT TO:<a@b.example> NOTIFY=NEVER,SUCCESS'), /^501 /)
      assert.match(
        await connection.command('RCPT TO:<a@b.example> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;a@b.example'),
        /^250 /,
      )
    })
    it('accepts UTF-8 addresses', async () => {
      const { view } = await find(
        await hand(
          'From: shop@sender.example\r\nTo: δοκιμή@παράδειγμα.example\r\n\r\nx',
          'δοκιμή@παράδειγμα.example',
          ' SMTPUTF8',
        ),
      )
      assert.deepEqual(
        view.recipients.map(({ address, kind }) => [address, kind]),
        [['δοκιμή@xn--hxajbheg2az3al.example', 'to']],
      )
    })
    it('refuses an address that is not valid UTF-8', async () => {
      const connection = await open()
      await connection.command('MAIL FROM:<a@b.example> SMTPUTF8')
      connection.send(Buffer.from('RCPT TO:<j\xf6rg@b.example>\r\n', 'latin1'))
      assert.match(await connection.readReply(), /^553 5\.1\.3 /)
    })
    it('accepts RSET and pipelined transactions', async () => {
      const connection = await open()
      connection.send('MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nRSET\r\nDATA\r\n')
      for (const expected of [/^250 /, /^250 /, /^250 /, /^503 /]) assert.match(await connection.readReply(), expected)
      connection.send(
        `MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n${mail('')}\r\n.\r\n` +
          `MAIL FROM:<a@b.example>\r\nQUIT\r\n`,
      )
      for (const expected of [/^250 /, /^250 /, /^354 /, /^250 2\.0\.0 /, /^250 /, /^221 /])
        assert.match(await connection.readReply(), expected)
      assert.strictEqual(await connection.readReply(), '')
    })
  })

  describe('metrics', () => {
    it('count accepted and refused mail', async () => {
      assert.match(await hand(mail('')), /^250 /)
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
          const socket = connect(submission.ports.plain, '127.0.0.1')
          socket.on('error', () => {})
          await new Promise((resolve) => socket.once('data', resolve))
          return socket
        }),
      )
      assert.match(await hand(mail('')), /^250 /)
      idle.forEach((socket) => socket.destroy())
    })
    it('disconnects a client that trickles bytes: a minute before login, half an hour in DATA', async () => {
      const [before, inside, good] = [await open(null), await open(), await open()]
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await inside.command(line)
      before.send('N')
      ctx.advance(61_000)
      before.send('O')
      assert.strictEqual(await before.readReply(), '')
      assert.match(await sendMessage(good, { from: 'a@b.example', to: 'a@b.example', content: mail('') }), /^250 /)
      inside.send('From: shop@sender.example\r\n')
      ctx.advance(31 * 60_000)
      inside.send('X')
      assert.strictEqual(await inside.readReply(), '')
    })
    it('a broken TLS handshake, a lost connection in DATA and endless lines affect no other client', async () => {
      const broken = connect(submission.ports.tls, '127.0.0.1', () => broken.end('EHLO x\r\n'))
      broken.on('error', () => {})
      const lost = await open()
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await lost.command(line)
      lost.send(mail(''))
      lost.disconnect()
      const endless = await open()
      endless.send('x'.repeat(200_000))
      assert.match(await endless.readReply(), /^421 /)
      await sleep(50)
      assert.match(await hand(mail('')), /^250 /)
    })
  })
})
