import { assert } from 'chai'
import fc from 'fast-check'
import { arfOf, hostileReportOf, dsnOf, outOfOfficeOf, textBounceOf } from '#test/support/reports.ts'
import { SAMPLES, type Sample } from './notices.test-data.ts'
import { ANSWERS, REPORTS, type ReportSample } from './reports.test-data.ts'
import { parseReport } from './report.ts'

function mailOf({ from = 'MAILER-DAEMON@mx.b.example', subject, header, text }: Sample): Buffer {
  const head = [
    `From: ${from}`,
    'To: shop@sender.example',
    `Subject: ${subject}`,
    ...(header === undefined ? [] : [header]),
  ]
  return Buffer.from(`${head.join('\n')}\n${text}`.replaceAll('\n', '\r\n'))
}

function reportOf({
  groups,
  type = 'message/delivery-status',
  returned,
  text,
  header,
  ...sample
}: ReportSample): Buffer {
  if (groups === undefined) return mailOf({ ...sample, text, ...(header === undefined ? {} : { header }) })
  const kind = `Content-Type: multipart/report; report-type=${type.slice('message/'.length)}; boundary="b1"`
  const original = returned === undefined ? [] : [`message/rfc822\n\n${returned}`]
  const parts = [`text/plain; charset=utf-8\n${text}`, `${type}\n\n${groups}\n`, ...original]
  const body = `\n${parts.map((part) => `--b1\nContent-Type: ${part}\n`).join('')}--b1--\n`
  return mailOf({ ...sample, header: header === undefined ? kind : `${header}\n${kind}`, text: body })
}

function reading(raw: Buffer | string): string {
  const { kind, recipients } = parseReport(Buffer.from(raw))
  const entries = recipients.map(({ address, action, hard, class: name }) => {
    return action === 'failed' ? `${address} ${name}${hard ? '!' : ''}` : address
  })
  return [kind, ...entries].join(' ')
}

const inBase64 = (text: string): string =>
  `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from(text).toString('base64')}`

describe('parsing of returned mail', () => {
  for (const sample of SAMPLES)
    it(`of ${sample.server}: ${sample.reading}`, () => assert.strictEqual(reading(mailOf(sample)), sample.reading))

  for (const sample of REPORTS)
    it(`of ${sample.server}: ${sample.reading}`, () => assert.strictEqual(reading(reportOf(sample)), sample.reading))
  for (const [who, subject, text, header] of ANSWERS) {
    it(`an automatic reply (${who})`, () => {
      const sample = { server: who, from: 'Ann <ann@b.example>', subject, reading: 'autoreply', text: `\n${text}\n` }
      assert.strictEqual(reading(mailOf(header === undefined ? sample : { ...sample, header })), sample.reading)
    })
  }

  const DSN = dsnOf({ recipient: 'ann@b.example' })
  const MACHINE: readonly (readonly [what: string, raw: string, reading: string])[] = [
    ['a failure', DSN, 'bounce ann@b.example no-such-user!'],
    [
      'a temporary failure',
      dsnOf({ recipient: 'ann@b.example', status: '4.2.2', diagnostic: '452 4.2.2 full' }),
      'bounce ann@b.example mailbox-full',
    ],
    [
      'a failure without a diagnostic',
      dsnOf({ recipient: 'ann@b.example', status: '5.1.1', diagnostic: '' }),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a delay',
      dsnOf({ recipient: 'ann@b.example', action: 'delayed', status: '4.4.1', diagnostic: 'timed out' }),
      'delay ann@b.example',
    ],
    [
      'a delivery',
      dsnOf({ recipient: 'ann@b.example', action: 'delivered', status: '2.0.0', diagnostic: '250 ok' }),
      'delivered ann@b.example',
    ],
    [
      'an action in upper case with a comment',
      DSN.replace('Action: failed', 'ACTION : Failed (no more)'),
      'bounce ann@b.example no-such-user!',
    ],
    ['an address in brackets', dsnOf({ recipient: '<ann@b.example>' }), 'bounce ann@b.example no-such-user!'],
    [
      'an action named like an object property',
      DSN.replace('Action: failed', 'Action: constructor'),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'an invalid transfer encoding',
      `Content-Transfer-Encoding: __proto__\r\n${textBounceOf('ann@b.example')}`,
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a report in base64',
      DSN.replace(
        /(delivery-status)\r\n\r\n([^]*?)\r\n\r\n--b1/,
        (_, type: string, fields: string) => `${type}\r\n${inBase64(fields)}\r\n--b1`,
      ),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a text in base64',
      textBounceOf('ann@b.example').replace(/\r\n\r\n([^]*)/, (_, text: string) => `\r\n${inBase64(text)}`),
      'bounce ann@b.example no-such-user!',
    ],
    ['lines that end in CR alone', DSN.replaceAll('\r\n', '\r'), 'bounce ann@b.example no-such-user!'],
    [
      'an X.400 address next to the original recipient',
      DSN.replace(
        'Final-Recipient: rfc822; ann@b.example',
        'Original-Recipient: rfc822; ann@b.example\r\nFinal-Recipient: X400; /PN=Ann/O=B/C=DE/',
      ),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a domain that contains a pattern word',
      dsnOf({
        recipient: 'ann@spam.example',
        status: '5.4.4',
        diagnostic: 'Host or domain name not found. Name service error for name=spam.example type=A: Host not found',
      }),
      'bounce ann@spam.example no-such-domain!',
    ],
    [
      'a global delivery status (UTF-8)',
      DSN.replace('message/d', 'message/global-d'),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a type of address that the RFC does not allow',
      DSN.replace('rfc822; ann@b.example', 'rfc/822;ann@b.example'),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a block list beside a code of an unknown user',
      dsnOf({ recipient: 'ann@b.example', diagnostic: '550 5.1.1 refused, see https://www.spamhaus.org/sbl/' }),
      'bounce ann@b.example blocked',
    ],
    [
      'a block list in the text above a code of an unknown user',
      DSN.replace('This is the mail system', '<ann@b.example>: 550 5.1.1 listed at zen.spamhaus.org'),
      'bounce ann@b.example blocked',
    ],
    [
      'a generic code and a bare reply to RCPT',
      dsnOf({ recipient: 'ann@b.example', status: '5.0.0', diagnostic: '554 no such user' }).replace(
        'This is the mail system',
        '<ann@b.example>: host mx.b.example said: 554 no such user (in reply to\r\n    RCPT TO command)',
      ),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a generic code and a bare reply to the content',
      dsnOf({ recipient: 'ann@b.example', status: '5.5.0', diagnostic: '554 no such user' }).replace(
        'This is the mail system',
        '<ann@b.example>: host mx.b.example said: 554 no such user (in reply to end of\r\n    DATA command)',
      ),
      'bounce ann@b.example no-such-user',
    ],
    ['a complaint', arfOf(), 'complaint'],
    [
      'a complaint without its machine-readable part',
      arfOf().replace('message/feedback-report', 'text/plain'),
      'complaint',
    ],
    [
      "a mail with the field of Microsoft's Junk Mail Reporting Program",
      'X-HmXmrOriginalRecipient: ann@b.example\r\nFrom: shop@sender.example\r\n\r\nHello',
      'complaint ann@b.example',
    ],
    [
      'a display name before the address',
      DSN.replace('rfc822; ann@b.example', 'rfc822; "Ann" <ann@b.example>'),
      'bounce ann@b.example no-such-user!',
    ],
    [
      'a mailbox that exists according to the status code',
      dsnOf({ recipient: 'ann@b.example', status: '5.2.1', diagnostic: '550 5.2.1 Mailbox not available' }),
      'bounce ann@b.example mailbox-disabled',
    ],
    [
      'a notice that names a possible cause which the server reply does not confirm',
      dsnOf({ recipient: 'ann@b.example', status: '5.0.0', diagnostic: '554 Oops' }).replace(
        'This is the mail system',
        'The user may be unknown: user unknown. This is the system',
      ),
      'bounce ann@b.example unknown',
    ],
    [
      'a text with wrapped lines',
      textBounceOf('ann@b.example').replace(/no mailbox[^\r\n]*/i, 'the account could not\r\n   be found'),
      'bounce ann@b.example no-such-user!',
    ],
    ['a bounce without a machine-readable part', textBounceOf('ann@b.example'), 'bounce ann@b.example no-such-user!'],
    ['out of office', outOfOfficeOf(), 'autoreply'],
    ['an empty mail', '', 'other'],
  ]
  for (const [what, raw, expected] of MACHINE)
    it(`${what}: ${expected}`, () => assert.strictEqual(reading(raw), expected))

  it('returns the type and the recipient of a complaint', () => {
    const raw = arfOf('abuse').replace('\r\nVersion: 1', '\r\nVersion: 1\r\nOriginal-Rcpt-To: ann@b.example')
    const { feedbackType, recipients } = parseReport(Buffer.from(raw))
    assert.deepEqual([feedbackType, recipients.map(({ address }) => address)], ['abuse', ['ann@b.example']])
  })

  it('never throws and limits its result for any input', () => {
    const words = fc.constantFrom(
      '--b',
      '\n',
      '\n\n',
      'Content-Type: multipart/report; boundary=b\n',
      'Content-Type: message/delivery-status\n\n',
      'Final-Recipient: rfc822; ',
      'a@b.example',
      'Action: failed\n',
      '550 5.1.1 ',
      'user unknown',
      '<',
      '>',
      ':',
      '"',
      '\\',
      '=\n',
      '=?utf-8?q?',
      '\0',
      '\xff',
      ' ',
      'From: mailer-daemon@x\n',
      'Subject: failure\n',
      'Content-Transfer-Encoding: base64\n\n',
      'Content-Type: text/html\n\n<p>',
      'Feedback-Type: abuse\n',
      'X-HmXmrOriginalRecipient: ',
      'SMTP=a@b;',
      'Recipient: [SMTP:',
      'host x ',
      'user ',
      'not ',
      '\u540d',
      'Empf\xe4nger ',
      'Return-Path: <>\n',
      'Auto-Submitted: auto-generated\n',
      'In-Reply-To: <1>\n',
      'Re: ',
    )
    const mails = fc.oneof(
      fc.array(words, { maxLength: 60 }).map((list) => Buffer.from(list.join(''), 'latin1')),
      fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
    )
    fc.assert(
      fc.property(mails, (raw) => {
        const { recipients } = parseReport(raw)
        assert.ok(recipients.length <= 500)
        for (const { address, diagnostic } of recipients)
          assert.ok(address.length <= 8200 && (diagnostic ?? '').length <= 2000)
      }),
    )
  })
  it('uses the outer report if the returned message is a report too', () => {
    const inner = dsnOf({ recipient: 'bob@b.example' }).replaceAll('b1', 'b9')
    assert.strictEqual(reading(DSN.replace('From: shop@sender.example', inner)), 'bounce ann@b.example no-such-user!')
  })

  it('never finds another recipient in a truncated report', () => {
    fc.assert(
      fc.property(fc.nat(DSN.length), (length) => {
        for (const { address } of parseReport(Buffer.from(DSN.slice(0, length))).recipients)
          assert.ok('ann@b.example'.startsWith(address))
      }),
    )
  })

  const UNITS = [
    'user ',
    '<a@b.example>: not ',
    'recipient: a@b.example\n',
    'SMTP=a@',
    'does not have any ',
    'mailbox exceeded ',
    '用户',
    '> ',
  ]
  for (const unit of UNITS) {
    it(`finishes on an endless repetition of ${JSON.stringify(unit)}`, () => {
      const subject = unit.trim().repeat(300)
      const mail = `From: mailer-daemon@b.example\nSubject: ${subject}\n\n${unit.repeat(100_000 / unit.length)}`
      assert.ok(parseReport(Buffer.from(mail)).recipients.length <= 1)
    })
  }
  for (let kind = 0; kind < 6; kind++) {
    it(`finishes on a MIME bomb (${kind})`, () =>
      assert.ok(parseReport(Buffer.from(hostileReportOf(kind))).recipients.length <= 500))
  }
})
