/**
 * The same complete message by SMTP and by HTTP: the receiver gets the same octets of the body and the same fields,
 * both with valid signatures, and both are shown with their protocol and with what was parsed of them.
 */
import { assert } from 'chai'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { textOf } from '#test/support/api.ts'
import type { ReceivedMessage } from '#test/support/receiver-connection.ts'
import { logInSmtp, sendMessage } from '#test/support/smtp-client.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'

const PARTS = [
  '--b 1',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Grüße  ',
  '.',
  '..',
  '',
  '--b 1',
  'Content-Type: application/octet-stream; name="a.bin"',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from(Array.from({ length: 300 }, (_, i) => i % 256))
    .toString('base64')
    .replaceAll(/.{76}/g, '$&\r\n'),
  '--b 1--',
  'epilogue',
  '',
  '',
]
const MAIL = [
  'From: The Shop <shop@sender.example>',
  'To: Ann <ann@raw.example>',
  'Cc: bob@raw.example',
  'Bcc: blind@raw.example',
  'Subject: =?utf-8?B?R3LDvMOfZQ==?=',
  'Message-ID: <one@sender.example>',
  'Date: Mon, 05 May 2031 10:00:00 +0000',
  'X-Tag: invoice',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed;',
  '\tboundary="b 1"',
  '',
  ...PARTS,
].join('\r\n')
const RECIPIENTS = ['ann@raw.example', 'bob@raw.example', 'blind@raw.example']

const bodyOf = (bytes: Buffer): Buffer => bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
/** Without the fields that differ: the trace and the signatures. */
const fieldsOf = (bytes: Buffer): string =>
  bytes
    .toString('latin1', 0, bytes.indexOf('\r\n\r\n') + 2)
    .replaceAll(/^(?:DKIM-Signature|Received):[^]*?\r\n(?![ \t])/gm, '')

describe('a complete message by SMTP and by HTTP', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed()
    await testbed.system.roles.submission.start()
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const bySmtp = async (): Promise<string> => {
    const connection = await logInSmtp(testbed.system.config.submissionPort, testbed.system.regular)
    // the client ends the last line itself
    const content = MAIL.replace(/\r\n$/, '')
    const reply = await sendMessage(connection, { from: 'app@intern.example', to: RECIPIENTS, content })
    connection.disconnect()
    return /queued as (em_[0-9a-f]{32})$/.exec(reply)?.[1] ?? assert.fail(reply)
  }
  const byHttp = async (fields: object): Promise<string> => {
    const raw = Buffer.from(MAIL).toString('base64')
    const { status, body } = await testbed.system.call('POST', '/send-email/raw', { body: { raw, ...fields } })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['email_id'])
  }
  const verdicts = async ({ bytes }: ReceivedMessage): Promise<string[]> => {
    const resolver = (name: string): Promise<string[][]> => Promise.resolve([[testbed.system.dkimRecords[name] ?? '']])
    return (await dkimVerify(bytes, { strict: true, resolver })).results.map(({ status }) => status.result)
  }

  it('arrives with the same body, the same fields and valid signatures, and is shown with its protocol', async () => {
    const mx = await testbed.addReceiver('raw.example')
    const ids = [
      ['smtp', await bySmtp(), 'app@intern.example'],
      ['http', await byHttp({ from: 'app@intern.example', to: RECIPIENTS }), 'app@intern.example'],
      ['http', await byHttp({}), 'shop@sender.example'],
    ] as const
    for (const [protocol, id, sender] of ids) {
      await testbed.settle(id)
      const { body } = await testbed.system.call('GET', `/public/emails/get-email?id=${id}`)
      const { status, subject, from, from_name, to, cc, tags, submission, recipients } = body[
        'data'
      ] as unknown as Record<string, unknown>
      assert.deepEqual(
        { status, subject, from, from_name, to, cc, tags, submission },
        {
          status: 'delivered',
          subject: 'Grüße',
          from: 'shop@sender.example',
          from_name: 'The Shop',
          to: ['ann@raw.example'],
          cc: ['bob@raw.example'],
          tags: ['invoice'],
          submission: { protocol, mail_from: sender },
        },
      )
      assert.deepEqual(
        (recipients as { kind: string; address: string }[]).map(({ kind, address }) => `${kind} ${address}`),
        ['to ann@raw.example', 'cc bob@raw.example', 'bcc blind@raw.example'],
      )
    }
    const received = mx.messages
    assert.strictEqual(received.length, ids.length * RECIPIENTS.length)
    const [first] = received
    assert.ok(first !== undefined)
    assert.strictEqual(bodyOf(first.bytes).toString(), PARTS.join('\r\n'))
    assert.notInclude(first.bytes.toString(), 'blind')
    for (const one of received) {
      assert.ok(bodyOf(one.bytes).equals(bodyOf(first.bytes)))
      assert.strictEqual(fieldsOf(one.bytes), fieldsOf(first.bytes))
      assert.deepEqual(await verdicts(one), ['pass', 'pass'])
    }
    assert.strictEqual(received.filter(({ bytes }) => bytes.includes('with HTTP id')).length, 6)
  })
})
