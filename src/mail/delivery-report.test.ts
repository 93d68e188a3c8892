import { assert } from 'chai'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import { type DeliveryReportFacts, composeDeliveryReport } from './delivery-report.ts'

const AT = new Date('2031-05-04T10:00:00Z')
const FACTS: DeliveryReportFacts = {
  id: '0'.repeat(32),
  at: AT,
  from: 'mailer-daemon@a.example',
  to: 'app@a.example',
  reporter: 'mx.a.example',
  action: 'failed',
  recipient: 'b@b.example',
  orcpt: null,
  envid: null,
  subject: 'Hello',
  arrivedAt: AT,
  reason: 'no such user',
  reply: { host: 'mx.b.example', status: '5.1.1', text: '550 no such user', at: AT },
  original: { octets: Buffer.from('From: a@a.example\r\n\r\nbody\r\n'), isWhole: false },
}
const write = (facts: Partial<DeliveryReportFacts>): string =>
  composeDeliveryReport({ ...FACTS, ...facts }).toString('latin1')

describe('delivery reports', () => {
  it('without a reply, an original or a status', () => {
    const text = write({ reply: null, original: null })
    assert.match(text, /Action: failed\r\nStatus: 5\.0\.0\r\n\r\n--/)
    assert.notMatch(text, /Diagnostic-Code|rfc822-headers/)
  })
  it('a truncated header ends at its last complete line', () => {
    assert.match(
      write({ original: { octets: Buffer.from('From: a@a.example\r\nSubject: cut of'), isWhole: false } }),
      /\r\n\r\nFrom: a@a\.example\r\n\r\n--/,
    )
  })
  it('an address beyond ASCII makes a global report (RFC 6533)', () => {
    const text = Buffer.from(write({ recipient: 'ü@b.example' }), 'latin1').toString()
    assert.match(text, /report-type=global-delivery-status/)
    assert.match(text, /Content-Type: message\/global-delivery-status[^]*Final-Recipient: utf-8; ü@b\.example\r\n/)
  })
  it('a subject beyond ASCII is encoded and reads back', async () => {
    const { subject } = await simpleParser(write({ subject: 'Grüße aus Köln, schöne! 🎉🎉🎉' }))
    assert.strictEqual(subject, 'Undelivered: Grüße aus Köln, schöne! 🎉🎉🎉')
  })
  it('third-party text never starts a new line', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('\r\n', '\n', '\r', '\0', 'Action: delivered', '--=_report_', ' ', 'ü', '\u2028', 'x'),
      maxLength: 60,
    })
    fc.assert(
      fc.property(hostile, (text) => {
        const plain = write({
          reason: '',
          subject: '',
          envid: 'x',
          orcpt: 'x',
          reply: { host: 'x', status: null, text: 'x', at: AT },
        })
        const told = write({
          reason: text,
          subject: text,
          envid: text,
          orcpt: text,
          reply: { host: text, status: null, text, at: AT },
        })
        const lines = (of: string): number => of.replaceAll(/\r\n [^\r]*\?=/g, '').split('\r\n').length
        assert.strictEqual(lines(told), lines(plain))
        assert.notMatch(told, /\0|(?<!\r)\n|\r(?!\n)|\r\nAction: delivered/)
      }),
    )
  })
})
