import { assert } from 'chai'
import fc from 'fast-check'
import { sendMessage } from '#test/support/smtp-client.ts'
import { setUpSubmission, writeMail } from './submission.test-data.ts'

describe('submission', () => {
  const scene = setUpSubmission()

  describe('the content', () => {
    for (const [what, content] of [
      ['bare LF', writeMail('', 'a\nb\r\n')],
      ['bare CR', writeMail('', 'a\rb\r\n')],
      ['NUL', writeMail('', 'a\0b\r\n')],
      [
        'LF dot LF',
        writeMail(
          '',
          'a\n.\nMAIL FROM:<evil@x.example>\nRCPT TO:<v@x.example>\nDATA\nFrom: shop@sender.example\n\nsmuggled\r\n',
        ),
      ],
      ['LF dot CRLF', writeMail('', 'a\n.\r\nMAIL FROM:<evil@x.example>\r\n')],
      ['CR dot CR', writeMail('', 'a\r.\rMAIL FROM:<evil@x.example>\r\n')],
      ['CR LF dot CR', writeMail('', 'a\r\n.\rb\r\n')],
      ['bare LF in the header', 'From: shop@sender.example\nBcc: x@y.example\r\n\r\nx'],
    ] as const)
      it(`${what} is refused, and none of it is read as a command`, async () => {
        const connection = await scene.client.open()
        for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await connection.command(line)
        connection.send(`${content}\r\n.\r\n`)
        assert.match(await connection.readReply(), /^550 5\.6\.0 /)
        assert.match(await connection.command('NOOP'), /^250 /)
      })
    it('refuses a message that is too large, declared or not', async () => {
      const connection = await scene.client.open()
      assert.match(await connection.command('MAIL FROM:<a@b.example> SIZE=9999999'), /^552 5\.3\.4 /)
      assert.match(
        await sendMessage(connection, {
          from: 'a@b.example',
          to: 'a@b.example',
          content: writeMail('', `${'x'.repeat(998)}\r\n`.repeat(400)),
        }),
        /^552 5\.3\.4 /,
      )
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: writeMail('') }),
        /^250 /,
      )
    })
    it('disconnects a client that never stops sending', async () => {
      const connection = await scene.client.open()
      for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) await connection.command(line)
      connection.send(writeMail(''))
      for (let i = 0; i < 40; i++) connection.send(`${'x'.repeat(998)}\r\n`.repeat(100))
      assert.strictEqual(await connection.readReply(), '')
    })
    it('accepts a transaction in any number of packets as one unchanged message', async function () {
      this.timeout(20_000)
      const connection = await scene.client.open()
      const line = fc.string({
        unit: fc.constantFrom('.', '..', ' ', 'x', 'QUIT', 'RSET', '\r\n.', '\r\n'),
        maxLength: 6,
      })
      const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 }).map((at) => at.toSorted((a, b) => a - b))
      await fc.assert(
        fc.asyncProperty(fc.array(line, { maxLength: 6 }), cuts, async (lines, at) => {
          const body = lines.map((one) => `${one}\r\n`).join('')
          const stuffed = `${writeMail('', body)}\r\n`.replaceAll('\r\n.', '\r\n..')
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
          const { raw } = await scene.client.find(replies[3] ?? '')
          assert.strictEqual(raw.subarray(raw.indexOf('\r\n\r\n') + 4).toString(), `${body}\r\n`)
        }),
        { numRuns: 60 },
      )
    })
    it('accepts a message of dots only', async () => {
      const body = '.\r\n'.repeat(60_000)
      const { raw } = await scene.client.find(await scene.client.hand(writeMail('', body)))
      assert.ok(raw.equals(Buffer.concat([raw.subarray(0, raw.indexOf('\r\n\r\n') + 4), Buffer.from(`${body}\r\n`)])))
    })
    it('accepts dots at the start of lines, empty messages and messages without a body', async () => {
      for (const body of ['.\r\n..\r\n.x\r\n', '', '\r\n\r\n', '.\r\n']) {
        const { raw } = await scene.client.find(await scene.client.hand(writeMail('', body)))
        assert.strictEqual(raw.subarray(raw.indexOf('\r\n\r\n') + 4).toString(), `${body}\r\n`, JSON.stringify(body))
      }
      const { raw } = await scene.client.find(await scene.client.hand('From: shop@sender.example'))
      assert.ok(raw.toString().endsWith('\r\n\r\n'))
    })
  })

  describe('the envelope', () => {
    it('decides the recipients, not the header: 50 and more, up to the limit, then 452', async () => {
      const connection = await scene.client.open()
      await connection.command('MAIL FROM:<a@b.example>')
      for (let i = 0; i < 60; i++) assert.match(await connection.command(`RCPT TO:<r${i}@b.example>`), /^250 /)
      assert.match(await connection.command('RCPT TO:<r60@b.example>'), /^452 4\.5\.3 /)
      await connection.command('DATA')
      connection.send(`${writeMail('')}\r\n.\r\n`)
      const { view } = await scene.client.find(await connection.readReply())
      assert.strictEqual(view.recipients.length, 60)
    })
    it('counts each address once, in upper or lower case', async () => {
      const { view } = await scene.client.find(
        await scene.client.hand(writeMail(''), ['a@b.example', 'A@B.example', 'c@b.example']),
      )
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
      it(command, async () => assert.match(await (await scene.client.open()).command(command), expected))
    it('refuses an invalid address and one without a domain', async () => {
      const connection = await scene.client.open()
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
      const { view } = await scene.client.find(
        await scene.client.hand(
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
      const connection = await scene.client.open()
      await connection.command('MAIL FROM:<a@b.example> SMTPUTF8')
      connection.send(Buffer.from('RCPT TO:<j\xf6rg@b.example>\r\n', 'latin1'))
      assert.match(await connection.readReply(), /^553 5\.1\.3 /)
    })
    it('accepts RSET and pipelined transactions', async () => {
      const connection = await scene.client.open()
      connection.send('MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nRSET\r\nDATA\r\n')
      for (const expected of [/^250 /, /^250 /, /^250 /, /^503 /]) assert.match(await connection.readReply(), expected)
      connection.send(
        `MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n${writeMail('')}\r\n.\r\n` +
          `MAIL FROM:<a@b.example>\r\nQUIT\r\n`,
      )
      for (const expected of [/^250 /, /^250 /, /^354 /, /^250 2\.0\.0 /, /^250 /, /^221 /])
        assert.match(await connection.readReply(), expected)
      assert.strictEqual(await connection.readReply(), '')
    })
  })
})
