/** Hostile complete messages: parsing never fails in another way than with a reason, and never lets a Bcc out. */
import { assert } from 'chai'
import fc from 'fast-check'
import { splitMessage } from '#src/mail/split-message.ts'
import { validateOctets } from './message-octets.ts'
import { readHeaderRecipients } from './recipients.ts'
import { SubmissionError } from './submission-error.ts'
import { buildSubmittedMessage, parseSubmittedMessage } from './submitted-message.ts'

const STAMP = { received: 'Received: x\r\n', date: 'Mon, 05 May 2031 10:00:00 +0000', messageId: '<1@a.example>' }

/** What a message is made of, and what attacks are made of. */
const PUNCTUATION = [
  '\r\n',
  '\r\n\r\n',
  '\r',
  '\n',
  '\0',
  ' ',
  '\t',
  '\r\n ',
  ':',
  ';',
  ',',
  '<',
  '>',
  '"',
  '\\',
  '(',
  ')',
]
const FIELDS = [
  'From: a@a.example',
  'From:',
  'from : b@b.example',
  'To: ',
  'Cc:',
  'Bcc: c@c.example',
  'BCC :',
  'Resent-Bcc: x',
]
const OPTIONS = [
  'X-Tag: a',
  'X-Metadata: {"a":',
  'X-Params: {"__proto__": 1}',
  'X-Priority-Tier: bulk',
  'Subject: =?x?',
]
const VALUES = [
  'friends: a@b.example, c@d.example;',
  'undisclosed-recipients:;',
  '=?utf-8?b?w7w=?=',
  '=?utf-8?q?=00=0D=0A?=',
]
const ADDRESSES = [
  'a@[IPv6:::1]',
  '"@"@a.example',
  'a@b.example',
  '('.repeat(200),
  '"'.repeat(51),
  'x'.repeat(2000),
  '\xff',
  'é',
]
const piece = fc.constantFrom(...PUNCTUATION, ...FIELDS, ...OPTIONS, ...VALUES, ...ADDRESSES)
const hostile = fc.array(fc.oneof({ weight: 5, arbitrary: piece }, fc.string({ unit: 'binary-ascii', maxLength: 9 })), {
  maxLength: 40,
})

const refusalOf = <T>(work: () => T): T | SubmissionError => {
  try {
    return work()
  } catch (error) {
    assert.instanceOf(error, SubmissionError)
    assert.match(error.message, /\S/)
    return error
  }
}

describe('hostile complete messages', () => {
  it('are parsed, or refused with a reason', () => {
    fc.assert(
      fc.property(hostile, fc.boolean(), (pieces, startsWell) => {
        const text = `${startsWell ? 'From: a@a.example\r\n' : ''}${pieces.join('')}`
        const octets = Buffer.from(text, 'latin1')
        if (validateOctets(octets) !== null) return
        const message = refusalOf(() => parseSubmittedMessage(octets))
        if (message instanceof SubmissionError) return
        assert.ok(message.body.equals(splitMessage(octets).body))
        assert.isNotEmpty(message.authors)
        assert.notProperty(message.options.params, 'polluted')
        const recipients = refusalOf(() => readHeaderRecipients(message, 50))
        if (Array.isArray(recipients)) for (const address of recipients) assert.match(address, /^\P{Cc}+@[^@\p{Cc}]+$/u)
        const sent = splitMessage(buildSubmittedMessage(message, STAMP))
        assert.ok(sent.body.equals(message.body))
        const names = sent.fields.map(({ name }) => name)
        assert.notIncludeMembers(names, ['bcc'])
        assert.notIncludeMembers(names, ['resent-bcc'])
        assert.includeMembers(names, ['received', 'from', 'date', 'message-id'])
      }),
      { numRuns: 2000 },
    )
  })
  it('lists of groups and comments take linear time', () => {
    for (const part of ['a:', 'a@b.example;', '(', '"', '<', '[', '\\', 'a@b.example,']) {
      const octets = Buffer.from(`From: a@a.example\r\nTo: ${part.repeat(200_000 / part.length)}\r\n\r\n`)
      const message = refusalOf(() => parseSubmittedMessage(octets))
      if (!(message instanceof SubmissionError)) refusalOf(() => readHeaderRecipients(message, 100))
    }
  })
  const LISTS: readonly (readonly [field: string, expected: readonly string[] | RegExp])[] = [
    ['To: a@b.example', ['a@b.example']],
    ['To: A <a@b.example>, "b, c" <b@b.example>', ['a@b.example', 'b@b.example']],
    ['To: Team: a@b.example, b@b.example;, c@b.example', ['a@b.example', 'b@b.example', 'c@b.example']],
    ['To: undisclosed-recipients:;', []],
    ['To: "x: y; z" <a@b.example>', ['a@b.example']],
    ['To: a@b.example (c@d.example, the: other;)', ['a@b.example']],
    ['To: =?utf-8?q?a=40b.example=2C?= <a@b.example>', ['a@b.example']],
    ['To: a@b.example\r\n\t,\r\n c@b.example', ['a@b.example', 'c@b.example']],
    ['Bcc: a@b.example\r\nCC: c@b.example', ['a@b.example', 'c@b.example']],
    ['To: nobody', /to cannot be parsed/],
    ['To: a@b.example, <>', /to cannot be parsed/],
    ['Bcc: a@b.example c@d.example', /bcc cannot be parsed/],
    ['To: a@1.example, a@2.example, a@3.example, a@4.example, a@5.example', /5 addresses; at most 4/],
  ]
  for (const [field, expected] of LISTS)
    it(`recipients of ${JSON.stringify(field)}`, () => {
      const message = parseSubmittedMessage(Buffer.from(`From: a@a.example\r\n${field}\r\n\r\n`))
      const found = refusalOf(() => readHeaderRecipients(message, 4))
      if (expected instanceof RegExp) assert.match(String(found), expected)
      else assert.deepEqual(found, expected)
    })
})
