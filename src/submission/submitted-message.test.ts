import { assert } from 'chai'
import fc from 'fast-check'
import { parseSubmittedMessage, buildSubmittedMessage } from './submitted-message.ts'
import { validateOctets } from './message-octets.ts'

const STAMP = {
  received: 'Received: from x\r\n\tby y\r\n',
  date: 'Mon, 05 May 2031 10:00:00 +0000',
  messageId: '<1@a.example>',
}
const rewrite = (text: string): string =>
  buildSubmittedMessage(parseSubmittedMessage(Buffer.from(text, 'latin1')), STAMP).toString('latin1')

/** Fields that stay and fields that are removed, each with folded lines, in any order. */
const foldedLine = fc.constantFrom('', '\r\n more', '\r\n\t', '\r\n  Bcc: not@one.example')
const value = fc.string({
  unit: fc.constantFrom('a', ' ', '\t', ':', '\xfc', '=?utf-8?q?x?=', '.', '@'),
  maxLength: 20,
})
const named = (...names: string[]): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...names), value, foldedLine).map(([name, text, more]) => `${name}:${text}${more}\r\n`)
const retained = named('To', 'X-Bcc', 'Subject', 'Bcc-Not', 'Content-Type', 'DKIM-Signature', 'Received', 'Resent-To')
const hidden = named('Bcc', 'bCC', 'BCC ', 'Resent-Bcc')
const FROM = 'From: a@a.example\r\n'

describe('submitted messages', () => {
  it('keep all fields except Bcc and options, octet for octet and in order', () => {
    const lines = fc.array(
      fc.oneof(
        retained.map((line) => ({ line, isKept: true })),
        hidden.map((line) => ({ line, isKept: false })),
      ),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(lines, fc.string({ unit: 'binary-ascii', maxLength: 40 }), (given, body) => {
        const octets = `${FROM}${given.map(({ line }) => line).join('')}\r\n${body}`
        fc.pre(validateOctets(Buffer.from(octets, 'latin1')) === null)
        const expected = given
          .filter(({ isKept }) => isKept)
          .map(({ line }) => line)
          .join('')
        assert.strictEqual(
          rewrite(octets),
          `${STAMP.received}${FROM}${expected}Date: ${STAMP.date}\r\nMessage-ID: ${STAMP.messageId}\r\n\r\n${body}`,
        )
      }),
    )
  })
  it('get an end of the header if it is missing', () => {
    for (const text of ['From: a@a.example', 'From: a@a.example\r\n', 'From: a@a.example\r\nX-Y: z'])
      assert.match(rewrite(text), /\r\nMessage-ID: <1@a\.example>\r\n\r\n$/)
  })
  it('are refused as a mail loop after a hundred servers, and with an oversized header', () => {
    assert.throws(() => rewrite(`${'Received: from x\r\n'.repeat(101)}${FROM}\r\n`), /Mail loop/)
    assert.throws(() => rewrite(`${FROM}${'X: y\r\n'.repeat(2000)}\r\n`), /header is too large/)
    assert.throws(() => rewrite(`${FROM}X: ${'y'.repeat(600_000)}\r\n\r\n`), /header is too large/)
  })
  it('have names and subjects that are safe to display', () => {
    const hostile = fc.string({
      unit: fc.constantFrom(
        '"',
        '\\',
        '(',
        ')',
        '<',
        '>',
        '@',
        ',',
        ';',
        ':',
        'a',
        '.',
        ' ',
        '=?utf-8?b?w7w=?=',
        '\xfc',
        'a@a.example',
      ),
      maxLength: 60,
    })
    fc.assert(
      fc.property(hostile, (text) => {
        const { to, subject } = parseSubmittedMessage(
          Buffer.from(`${FROM}To: ${text}\r\nSubject: ${text}\r\n\r\n`, 'latin1'),
        )
        for (const shown of [subject, ...to.map(({ name }) => name ?? '')])
          assert.ok(shown.isWellFormed() && !/\p{Cc}/u.test(shown))
      }),
    )
  })
})
