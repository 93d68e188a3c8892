import { assert } from 'chai'
import * as fc from 'fast-check'
import {
  type EnvelopeAddress,
  MAIL_PARAMETERS,
  parseEnvelopeCommand,
  SUBMISSION_MAIL_PARAMETERS,
  SUBMISSION_RCPT_PARAMETERS,
} from './envelope-command.ts'
import { ReplyError } from './reply.ts'

type Verb = Parameters<typeof parseEnvelopeCommand>[0]

function parse(verb: Verb, line: string): EnvelopeAddress {
  return parseEnvelopeCommand(verb, line, verb === 'MAIL' ? SUBMISSION_MAIL_PARAMETERS : SUBMISSION_RCPT_PARAMETERS)
}

function refusalOf(verb: Verb, line: string): string {
  try {
    return JSON.stringify(parse(verb, line).address)
  } catch (error) {
    assert.instanceOf(error, ReplyError)
    return `${error.responseCode} ${error.message}`
  }
}

describe('MAIL and RCPT', () => {
  for (const [line, address] of [
    ['MAIL FROM:<a@b.example>', 'a@b.example'],
    ['MAIL FROM:<>', ''],
    ['mail from: <a@b.example>', 'a@b.example'],
    ['MAIL FROM :<a@b.example>', 'a@b.example'],
    ['MAIL FROM:a@b.example', 'a@b.example'],
    ['MAIL FROM:<@one.example,@two.example:a@b.example>', 'a@b.example'],
    ['MAIL FROM:<"a b"@c.example>', '"a b"@c.example'],
    ['MAIL FROM:<"a@b"@c.example>', '"a@b"@c.example'],
    ['MAIL FROM:<"a>b\\""@c.example>', '"a>b\\""@c.example'],
    ['MAIL FROM:<a..b@c.example>', 'a..b@c.example'],
    ['MAIL FROM:<root@localhost>', 'root@localhost'],
    ['MAIL FROM:<root@[192.0.2.1]>', 'root@[192.0.2.1]'],
    ['MAIL FROM:<root@[IPv6:2001:db8::1]>', 'root@[IPv6:2001:db8::1]'],
    ['MAIL FROM:<jörg@b.example>', 'jörg@b.example'],
    ['RCPT TO:<a@b.example>', 'a@b.example'],
    ['RCPT TO:<Postmaster>', 'Postmaster'],
    ['rcpt to:a@b.example', 'a@b.example'],
  ] as const)
    it(`read ${line}`, () =>
      assert.strictEqual(parse(line.toUpperCase().startsWith('MAIL') ? 'MAIL' : 'RCPT', line).address, address))

  for (const [verb, line, expected] of [
    ['MAIL', 'MAIL', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL TO:<a@b.example>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a@b.example', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a@b.example>>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a@b.example>SIZE=1', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a b@c.example>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a@>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<@b.example>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a\0b@c.example>', /^501 5\.1\.7 /],
    ['MAIL', 'MAIL FROM:<a\u200bb@c.example>', /^501 5\.1\.7 /],
    ['MAIL', `MAIL FROM:<${'a'.repeat(250)}@c.example>`, /^501 5\.1\.7 /],
    ['RCPT', 'RCPT TO:<>', /^501 5\.1\.3 /],
    ['RCPT', 'RCPT TO:<nobody>', /^501 5\.1\.3 /],
    ['RCPT', 'RCPT FROM:<a@b.example>', /^501 5\.1\.3 /],
    ['MAIL', 'MAIL FROM:<a@b.example> SIZE=x', /^501 5\.5\.4 The parameter SIZE must be a number/],
    ['MAIL', 'MAIL FROM:<a@b.example> SIZE=', /^501 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> SIZE', /^501 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> SIZE=1 size=2', /^501 5\.5\.4 .*given twice/],
    ['MAIL', 'MAIL FROM:<a@b.example> BODY=BINARYMIME', /^501 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> SMTPUTF8=1', /^501 5\.5\.4 .*takes no value/],
    ['MAIL', 'MAIL FROM:<a@b.example> RET=HALF', /^501 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> ENVID=', /^501 5\.5\.4 .*requires a value/],
    ['MAIL', 'MAIL FROM:<a@b.example> ENVID=a+0D+0Ab', /^501 5\.5\.4 .*control character/],
    ['MAIL', 'MAIL FROM:<a@b.example> XYZ=1', /^555 5\.5\.4 The parameter XYZ was not offered/],
    ['MAIL', 'MAIL FROM:<a@b.example> __proto__=1', /^501 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> constructor=1', /^555 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> NOTIFY=NEVER', /^555 5\.5\.4 /],
    ['MAIL', 'MAIL FROM:<a@b.example> =1', /^501 5\.5\.4 /],
    ['RCPT', 'RCPT TO:<a@b.example> NOTIFY=NEVER,SUCCESS', /^501 5\.5\.4 /],
    ['RCPT', 'RCPT TO:<a@b.example> NOTIFY=SOON', /^501 5\.5\.4 /],
    ['RCPT', 'RCPT TO:<a@b.example> ORCPT=a@b.example', /^501 5\.5\.4 /],
  ] as const)
    it(`refuse ${JSON.stringify(line.slice(0, 60))}`, () => assert.match(refusalOf(verb, line), expected))

  it('read parameters in upper and lower case, and decode xtext', () => {
    const { parameters } = parse('MAIL', 'MAIL FROM:<a@b.example> size=3 Body=8bitmime SMTPUTF8 RET=hdrs ENVID=a+2Bb=c')
    assert.deepEqual(
      [...parameters],
      [
        ['SIZE', '3'],
        ['BODY', '8bitmime'],
        ['SMTPUTF8', true],
        ['RET', 'hdrs'],
        ['ENVID', 'a+b=c'],
      ],
    )
    const recipient = parse('RCPT', 'RCPT TO:<a@b.example> NOTIFY=success,DELAY ORCPT=rfc822;a+2Bx@b.example')
    assert.deepEqual(
      [...recipient.parameters],
      [
        ['NOTIFY', 'success,DELAY'],
        ['ORCPT', 'rfc822;a+x@b.example'],
      ],
    )
  })
  it('refuse parameters that this server did not offer', () => {
    assert.throws(
      () => parseEnvelopeCommand('MAIL', 'MAIL FROM:<a@b.example> RET=FULL', MAIL_PARAMETERS),
      /not offered/,
    )
  })
  it('return an address or throw a reply of printable ASCII, for any line', () => {
    const piece = fc.oneof(
      fc.constantFrom('<', '>', '"', '\\', '@', ':', ' ', '\t', '=', '+0D', 'a', 'SIZE=', 'é', '\0', '@@'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    )
    const line = fc.tuple(fc.constantFrom('MAIL FROM:', 'MAIL FROM:<', 'MAIL'), fc.array(piece, { maxLength: 40 }))
    fc.assert(
      fc.property(line, ([start, pieces]) => {
        const text = refusalOf('MAIL', start + pieces.join(''))
        assert.match(text, /^(?:".*"$|5\d\d 5\.\d\.\d [\x20-\x7e]+$)/s)
      }),
      { numRuns: 2000 },
    )
  })
  for (const [what, text] of [
    ['quotes', '"'],
    ['backslashes', '\\'],
    ['at signs', '@'],
    ['addresses', 'a@b'],
    ['quoted pairs', '"\\"'],
    ['source routes', '@a,'],
  ] as const)
    it(`are read in linear time with many ${what}`, () => {
      // with quadratic time, this would run into the time limit of the test
      const many = text.repeat(500_000 / text.length)
      assert.match(refusalOf('MAIL', `MAIL FROM:<${many}`), /^501 5\.1\.7 /)
      assert.match(refusalOf('MAIL', `MAIL FROM:${many}<`), /^501 5\.1\.7 /)
    })
})
