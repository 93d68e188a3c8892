/**
 * Mail submitted over SMTP, from submission to delivery: the receiver gets the submitted octets, signed, with only the
 * documented header fields added.
 */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { assert } from 'chai'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { createTransport } from 'nodemailer'
import { sql } from '#src/stores/sql.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { ReceivedMessage } from '#test/support/receiver-connection.ts'
import { sendMessage, logInSmtp } from '#test/support/smtp-client.ts'
import { connectSmtp } from '#test/support/smtp-connection.ts'
import { printLogsOnFailure } from '#test/support/system.ts'

const idOf = (reply: string): string =>
  /^250 2\.0\.0 queued as (em_[0-9a-f]{32})$/.exec(reply)?.[1] ?? assert.fail(reply)
const headOf = (bytes: Buffer): string => bytes.toString('latin1', 0, bytes.indexOf('\r\n\r\n') + 2)
const bodyOf = (bytes: Buffer): Buffer => bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)

/** As lines end on the wire: in CRLF, the last one too. */
function dotStuffed(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.from('\r\n')])
}

const SMIME = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256;',
  ' boundary="----A \'b\'"',
  '',
  '',
].join('\r\n')
const ODD: Readonly<Record<string, readonly [head: string, body: string | Buffer]>> = {
  'S/MIME: white space at the end of lines, a preamble, an epilogue': [
    SMIME,
    "\r\npreamble  \r\n------A 'b'\r\nContent-Type: text/plain\r\n\r\nline \t\r\n\r\n\r\n" +
      "------A 'b'\r\nContent-Type: application/pkcs7-signature\r\n\r\nMIIB\r\n------A 'b'--\r\nepilogue\r\n\r\n\r\n",
  ],
  'PGP/MIME': [
    'Content-Type: multipart/encrypted; boundary=x; protocol="application/pgp-encrypted"\r\n',
    '--x\r\nContent-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n' +
      '--x\r\nContent-Type: application/octet-stream\r\n\r\n' +
      '-----BEGIN PGP MESSAGE-----\r\n\r\nhQ==\r\n-----END PGP MESSAGE-----\r\n--x--\r\n',
  ],
  'an invitation': [
    'Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n',
    'BEGIN:VCALENDAR\r\nSUMMARY:Grüße \r\n folded\r\nEND:VCALENDAR\r\n',
  ],
  'Latin-1 without a word of it': ['', Buffer.from('Gr\xfc\xdfe\r\n\xa0\xff\x80\r\n', 'latin1')],
  'broken MIME': [
    'MIME-Version: 1.0 (odd)\r\nContent-Type: multipart/mixed; boundary=\r\nContent-Type: text/html\r\n',
    '--\r\n--x\r\n',
  ],
  'dots, long lines and form feeds': ['', `.\r\n..\r\n${'y'.repeat(5000)}\r\n\f\v\x7f\r\n.`],
  'nothing at all': ['', ''],
  'more than comes with a claim': ['', `${'z'.repeat(76)}\r\n`.repeat(6000)],
}

describe('submission by SMTP', () => {
  let testbed: Testbed
  let port: number
  before(async () => {
    testbed = await startTestbed({ RELAY_NETWORKS: '127.0.0.9=sender.example,127.0.0.10/32=nobody' })
    await testbed.system.roles.submission.start()
    port = testbed.system.config.submissionPort
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const hand = async (to: string, content: string | Buffer): Promise<string> => {
    const connection = await logInSmtp(port, testbed.system.regular)
    const reply = await sendMessage(connection, { from: 'app@intern.example', to, content })
    connection.disconnect()
    return idOf(reply)
  }
  const verdicts = async ({ bytes }: ReceivedMessage): Promise<string[]> => {
    const resolver = (name: string): Promise<string[][]> => Promise.resolve([[testbed.system.dkimRecords[name] ?? '']])
    return (await dkimVerify(bytes, { strict: true, resolver })).results.map(({ status }) => status.result)
  }

  it('arrives with only the documented fields added, and both signatures verify', async () => {
    const mx = await testbed.addReceiver('arrives.example')
    const id = await hand(
      'ann@arrives.example',
      'From: "The Shop" <shop@sender.example>\r\nTo: ann@arrives.example\r\nBcc: x@y.example,\r\n z@y.example\r\n' +
        'Subject: =?utf-8?B?R3LDvMOfZQ==?=\r\nX-Tag: hello\r\n\r\nHello\r\n',
    )
    const details = await testbed.settle(id)
    assert.strictEqual(details.status, 'delivered')
    const [received] = mx.messages
    assert.ok(received !== undefined)
    const head = headOf(received.bytes).replaceAll(/DKIM-Signature: [^]*?(?=\r\n[^ \t])\r\n/g, '')
    assert.match(
      head,
      new RegExp(
        String.raw`^Received: from client\.test \(\[127\.0\.0\.1\]\)\r\n` +
          String.raw`\tby mta\.sender\.example with ESMTPA id [0-9a-f]{32};\r\n\t[^\r]*\r\n` +
          String.raw`From: "The Shop" <shop@sender\.example>\r\nTo: ann@arrives\.example\r\n` +
          String.raw`Subject: =\?utf-8\?B\?R3LDvMOfZQ==\?=\r\nDate: [^\r]*\r\n` +
          String.raw`Message-ID: <[0-9a-f]{32}@sender\.example>\r\n$`,
      ),
    )
    assert.deepEqual(await verdicts(received), ['pass', 'pass'])
    assert.match(received.from, /^b-[a-z2-7]{45}@/)
    const { body } = await testbed.system.call('GET', `/public/emails/get-email?id=${id}`)
    assert.strictEqual(body['data']?.['subject'], 'Grüße')
    assert.deepEqual(
      details.events.map(({ type }) => type),
      ['email.queued', 'email.sent', 'email.delivered'],
      JSON.stringify(details),
    )
  })

  for (const [what, [head, body]] of Object.entries(ODD))
    it(`survives: ${what}`, async () => {
      const domain = `odd${Object.keys(ODD).indexOf(what)}.example`
      const mx = await testbed.addReceiver(domain)
      const content = Buffer.concat([
        Buffer.from(`From: shop@sender.example\r\nSubject: x\r\n${head.replace(/(\r\n)+$/, '\r\n')}\r\n`),
        Buffer.from(body),
      ])
      await testbed.settle(await hand(`a@${domain}`, content))
      const [received] = mx.messages
      assert.ok(received !== undefined)
      assert.deepEqual(bodyOf(received.bytes), dotStuffed(Buffer.from(body)))
      assert.ok(headOf(received.bytes).includes(head.replace(/(\r\n)+$/, '')))
      assert.deepEqual(await verdicts(received), ['pass', 'pass'])
    })

  it('lines with any octets arrive unchanged', async () => {
    const mx = await testbed.addReceiver('any.example')
    const octet = fc.integer({ min: 1, max: 255 }).filter((code) => code !== 10 && code !== 13)
    const line = fc
      .array(fc.oneof(octet, fc.constantFrom(0x2e, 0x20, 0x09, 0x2d)), { maxLength: 40 })
      .map((codes) => Buffer.from(codes))
    const body = fc
      .array(line, { maxLength: 12 })
      .map((lines) => Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\r\n')])))
    const connection = await logInSmtp(port, testbed.system.regular)
    let n = 0
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const to = `m${++n}@any.example`
        const reply = await sendMessage(connection, {
          from: 'a@b.example',
          to,
          content: Buffer.concat([Buffer.from('From: shop@sender.example\r\nX-Priority-Tier: instant\r\n\r\n'), given]),
        })
        await testbed.settle(idOf(reply))
        const received = mx.messages.find((one) => one.to.includes(to))
        assert.deepEqual(bodyOf(received?.bytes ?? Buffer.alloc(0)), dotStuffed(given))
      }),
      { numRuns: 60 },
    )
    connection.disconnect()
  })

  it('several recipients and a Bcc: each gets it, on a return-path of their own', async () => {
    const mx = await testbed.addReceiver('several.example')
    const connection = await logInSmtp(port, testbed.system.regular)
    const reply = await sendMessage(connection, {
      from: 'a@b.example',
      to: ['a@several.example', 'b@several.example', 'blind@several.example'],
      content:
        'From: shop@sender.example\r\nTo: a@several.example\r\nCc: b@several.example\r\n' +
        'Bcc: blind@several.example\r\n\r\nx',
    })
    await testbed.settle(idOf(reply))
    assert.deepEqual(mx.messages.flatMap(({ to }) => to).toSorted(), [
      'a@several.example',
      'b@several.example',
      'blind@several.example',
    ])
    assert.strictEqual(new Set(mx.messages.map(({ from }) => from)).size, 3)
    assert.ok(mx.messages.every(({ bytes }) => !bytes.includes('blind')))
    connection.disconnect()
  })

  it('suppressed recipients are not sent to', async () => {
    const mx = await testbed.addReceiver('listed.example')
    await testbed.system.db.query(
      sql`
        INSERT INTO suppressions (workspace_id, address, cause, kind)
        VALUES ($1, 'no@listed.example', 'asked', 'manual')
      `,
      [testbed.system.workspaceId],
    )
    const details = await testbed.settle(await hand('No@listed.example', 'From: shop@sender.example\r\n\r\nx'))
    assert.strictEqual(details.recipients[0]?.state, 'suppressed')
    assert.strictEqual(mx.messages.length, 0)
  })

  it('a relay network submits without authentication, for the verified domains of its workspace only', async () => {
    const mx = await testbed.addReceiver('relayed.example')
    const say = async (from: string, address: string): Promise<string> => {
      const connection = await connectSmtp(port, '127.0.0.1', address)
      await connection.command('EHLO relay.test')
      const reply = await sendMessage(connection, {
        from: 'root@relay.test',
        to: 'a@relayed.example',
        content: `From: ${from}\r\n\r\nx`,
      })
      connection.disconnect()
      return reply
    }
    await testbed.settle(idOf(await say('cron@sender.example', '127.0.0.9')))
    assert.strictEqual(mx.messages.length, 1)
    assert.match(headOf(mx.messages[0]?.bytes ?? Buffer.alloc(0)), /with ESMTP id /)
    assert.match(
      await say('cron@other.example', '127.0.0.9'),
      /^550 5\.7\.1 other\.example is not a domain of this workspace/,
    )
    assert.match(await say('cron@sender.example', '127.0.0.8'), /^530 5\.7\.0 /)
    assert.match(await say('cron@sender.example', '127.0.0.10'), /^530 5\.7\.0 /)
  })

  it('an 8-bit header goes to every receiver, as it always has, unless the client says SMTPUTF8', async () => {
    const mx = await testbed.addReceiver('old.example', { offers: { smtputf8: false } })
    const letter = {
      from: 'a@b.example',
      to: 'a@old.example',
      content: 'From: shop@sender.example\r\nSubject: Grüße\r\nX-Priority-Tier: instant\r\n\r\nx',
    }
    const connection = await logInSmtp(port, testbed.system.regular)
    assert.strictEqual((await testbed.settle(idOf(await sendMessage(connection, letter)))).status, 'delivered')
    assert.match(
      headOf(mx.messages[0]?.bytes ?? Buffer.alloc(0)),
      new RegExp(Buffer.from('Subject: Grüße').toString('latin1')),
    )
    const details = await testbed.settle(idOf(await sendMessage(connection, { ...letter, parameters: ' SMTPUTF8' })))
    assert.match(details.recipients[0]?.reason ?? '', /SMTPUTF8/)
    connection.disconnect()
  })

  it('an address beyond ASCII needs a receiver with SMTPUTF8', async () => {
    const mx = await testbed.addReceiver('xn--bcher-kva.example')
    const connection = await logInSmtp(port, testbed.system.regular)
    const reply = await sendMessage(connection, {
      from: 'a@b.example',
      to: 'ü@bücher.example',
      parameters: ' SMTPUTF8',
      content: 'From: shop@sender.example\r\nTo: ü@bücher.example\r\nSubject: Grüße\r\n\r\nx',
    })
    connection.disconnect()
    const details = await testbed.settle(idOf(reply))
    if (details.status === 'delivered') assert.deepEqual(mx.messages[0]?.to, ['ü@xn--bcher-kva.example'])
    else assert.match(details.recipients[0]?.reason ?? '', /SMTPUTF8/)
  })

  it('a common client: nodemailer, STARTTLS, several messages on one connection', async () => {
    const mx = await testbed.addReceiver('nodemailer.example')
    const transport = createTransport({
      host: '127.0.0.1',
      port,
      requireTLS: true,
      pool: true,
      maxConnections: 1,
      tls: { rejectUnauthorized: false },
      auth: { user: testbed.system.regular, pass: testbed.system.regular },
    })
    for (let i = 0; i < 3; i++) {
      const { response } = await transport.sendMail({
        from: 'shop@sender.example',
        to: `n${i}@nodemailer.example`,
        subject: `Mail ${i}`,
        html: '<b>x</b>',
        headers: { 'X-Priority-Tier': 'instant' },
        dsn: { id: 'x', return: 'headers', notify: 'never', recipient: 'shop@sender.example' },
      })
      await testbed.settle(idOf(response))
    }
    assert.strictEqual(mx.messages.length, 3)
    transport.close()
  })

  const test = spawnSync('python3', ['-V']).error === undefined ? it : it.skip
  test('a client that people use: smtplib of Python', async () => {
    const mx = await testbed.addReceiver('python.example')
    const script = `
import smtplib, ssl, sys
from email.message import EmailMessage
context = ssl._create_unverified_context()
with smtplib.SMTP('127.0.0.1', int(sys.argv[1])) as smtp:
    smtp.starttls(context=context)
    smtp.login('anything', sys.argv[2])
    mail = EmailMessage()
    mail['From'] = 'shop@sender.example'
    mail['To'] = 'p@python.example'
    mail['Subject'] = 'Gr\\u00fc\\u00dfe'
    mail.set_content('.\\nHallo \\u00e4\\n')
    print(smtp.send_message(mail))
`
    await promisify(execFile)('python3', ['-c', script, String(port), testbed.system.regular])
    await mx.until(1)
    assert.match(bodyOf(mx.messages[0]?.bytes ?? Buffer.alloc(0)).toString(), /^\.\r\nHallo ä/)
  })
})
