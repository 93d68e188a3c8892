import { assert } from 'chai'
import * as fc from 'fast-check'
import { composeReply, formatReply, MAX_REPLY_BYTES, ReplyReader } from './reply.ts'
import type { Reply } from './reply.ts'

/** Everything the bytes say, chunk by chunk, and the fault if there was one. */
function read(...chunks: readonly (string | Buffer)[]): {
  replies: Reply[]
  fault: string | null
  isMidReply: boolean
} {
  const reader = new ReplyReader()
  const replies: Reply[] = []
  let fault: string | null = null
  for (const chunk of chunks) fault = reader.push(Buffer.from(chunk as string), (reply) => replies.push(reply))
  return { replies, fault, isMidReply: reader.isMidReply }
}

const UNDERSTOOD: readonly (readonly [bytes: string, code: number, enhanced: string | null, text: string])[] = [
  ['250 OK\r\n', 250, null, 'OK'],
  ['250\r\n', 250, null, ''],
  ['250 \r\n', 250, null, ''],
  ['354 End data with <CR><LF>.<CR><LF>\r\n', 354, null, 'End data with <CR><LF>.<CR><LF>'],
  ['250 2.0.0 Ok: queued as 4Zx\r\n', 250, '2.0.0', 'Ok: queued as 4Zx'],
  ['550 5.1.1\r\n', 550, '5.1.1', ''],
  ['571 Delivery not authorized\r\n', 571, null, 'Delivery not authorized'],
  ['421 4.7.0 [TSS04] try later\n', 421, '4.7.0', '[TSS04] try later'],
  [
    '550-5.1.1 No such\r\n550-5.1.1 user.\r\n550 5.1.1 https://example.org/ x - gsmtp\r\n',
    550,
    '5.1.1',
    'No such user. https://example.org/ x - gsmtp',
  ],
  ['220-mx ESMTP\r\n220-\r\n220 welcome\r\n', 220, null, 'mx ESMTP welcome'],
  ['550 5.7.511 Access denied\r\n', 550, '5.7.511', 'Access denied'],
  ['550 5.7.5111 Access denied\r\n', 550, null, '5.7.5111 Access denied'],
  ['550 3.1.1 no such class\r\n', 550, null, '3.1.1 no such class'],
  ['550 5.1 x\r\n', 550, null, '5.1 x'],
  ['550 5..1 x\r\n', 550, null, '5..1 x'],
  ['550 5.1.1: glued\r\n', 550, null, '5.1.1: glued'],
  ['450 5.1.1 contradicts itself\r\n', 450, '5.1.1', 'contradicts itself'],
  ['550 Адрес не найден\r\n', 550, null, 'Адрес не найден'],
  ['550 a\0b\u001b[31mc\td\r\n', 550, null, 'a\u{fffd}b\u{fffd}[31mc\td'],
]

const FAULTS: readonly (readonly [bytes: string, fault: RegExp])[] = [
  ['\r\n', /not an SMTP reply: ""/],
  ['hello\r\n', /not an SMTP reply: "hello"/],
  ['25 OK\r\n', /not an SMTP reply/],
  ['2500 OK\r\n', /not an SMTP reply/],
  ['250_OK\r\n', /not an SMTP reply/],
  ['150 OK\r\n', /not an SMTP reply/],
  ['650 OK\r\n', /not an SMTP reply/],
  ['000 OK\r\n', /not an SMTP reply/],
  [' 250 OK\r\n', /not an SMTP reply/],
  ['２５０ OK\r\n', /not an SMTP reply/],
  ['250-first\r\n550 second\r\n', /changes its code: "550 second"/],
  ['HTTP/1.1 400 Bad Request\r\n', /not an SMTP reply: "HTTP/],
]

describe('reading SMTP replies', () => {
  for (const [bytes, code, enhanced, text] of UNDERSTOOD)
    it(`${JSON.stringify(bytes)} is ${code} ${enhanced}`, () => {
      const { replies, fault, isMidReply } = read(bytes)
      assert.deepEqual(
        replies.map((reply) => [reply.code, reply.enhanced, reply.text]),
        [[code, enhanced, text]],
      )
      assert.deepEqual([fault, isMidReply], [null, false])
    })

  for (const [bytes, fault] of FAULTS)
    it(`${JSON.stringify(bytes)} is an error, also for all later bytes`, () => {
      const { replies, fault: found } = read(bytes, '250 OK\r\n')
      assert.deepEqual(replies, [])
      assert.match(found ?? '', fault)
    })

  it('returns the lines as received', () => {
    assert.deepEqual(read('250-mx\r\n250-SIZE 100\r\n250 HELP\r\n').replies[0]?.lines, [
      '250-mx',
      '250-SIZE 100',
      '250 HELP',
    ])
  })

  it('returns nothing until the last line is complete', () => {
    const { replies, isMidReply } = read('250-mx\r\n250 HEL', 'P\r')
    assert.deepEqual([replies, isMidReply], [[], true])
  })

  it('returns the replies before an error', () => {
    const { replies, fault } = read('250 one\r\n250 two\r\nrubbish\r\n250 three\r\n')
    assert.deepEqual(
      replies.map((reply) => reply.text),
      ['one', 'two'],
    )
    assert.match(fault ?? '', /rubbish/)
  })

  it('discards the end of a long line', () => {
    const { replies, fault } = read(`550 5.7.1 ${'a'.repeat(60_000)}`, 'b'.repeat(40_000), 'c\r\n250 next\r\n')
    assert.deepEqual([fault, replies.map(({ code }) => code)], [null, [550, 250]])
    assert.deepEqual([replies[0]?.lines[0]?.length, replies[1]?.text], [MAX_REPLY_BYTES, 'next'])
  })

  it('discards the last lines of a long reply, and reads their codes', () => {
    const line = `250-${'a'.repeat(58)}\r\n`
    const { replies } = read(...Array<string>(3000).fill(line), '250 end\r\n550 next\r\n')
    assert.deepEqual(
      replies.map(({ code, lines }) => [code, lines.length < 1100]),
      [
        [250, true],
        [550, true],
      ],
    )
    assert.match(read(...Array<string>(3000).fill(line), '550 no\r\n').fault ?? '', /changes its code/)
  })

  it('limits an endless line and an endless reply', () => {
    const chunk = 'a'.repeat(1024 * 1024)
    assert.strictEqual(read('250 ', chunk, chunk, chunk).fault, null)
    assert.match(read('250 ', chunk, chunk, chunk, chunk).fault ?? '', /more than 4194304 bytes/)
    const lines = `250-${'a'.repeat(1018)}\r\n`.repeat(1024)
    assert.match(read(lines, lines, lines, lines, '250 end\r\n').fault ?? '', /more than 4194304 bytes/)
  })

  it('does not keep a chunk that the caller reuses', () => {
    const chunk = Buffer.from('250 o')
    const reader = new ReplyReader()
    const texts: string[] = []
    reader.push(chunk, (reply) => texts.push(reply.text))
    chunk.fill('x')
    reader.push(Buffer.from('k\r\n'), (reply) => texts.push(reply.text))
    assert.deepEqual(texts, ['ok'])
  })

  it('returns the same replies however the stream is split', () => {
    const stream = fc
      .array(
        fc.oneof(
          { weight: 4, arbitrary: fc.constantFrom(...UNDERSTOOD.map(([bytes]) => bytes)) },
          { weight: 1, arbitrary: fc.constantFrom('250-a\r\n', 'junk\r\n', '\r\n') },
        ),
        { maxLength: 6 },
      )
      .map((parts) => Buffer.from(parts.join('')))
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 12 }), (bytes, cuts) => {
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length]
        const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end))
        assert.deepEqual(read(...chunks), read(bytes))
      }),
    )
  })

  it('never throws and never invents a reply for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const reply of read(Buffer.from(bytes)).replies) {
          assert.ok(reply.code >= 200 && reply.code <= 599)
          assert.notMatch(reply.text, /(?!\t)\p{Cc}/u)
        }
      }),
    )
  })
})

describe('composed replies', () => {
  it("have the form of a server's reply", () => {
    const reply = composeReply(552, '5.3.4', 'too big')
    assert.deepEqual(read(`${reply.lines[0]}\r\n`).replies, [reply])
  })

  it('are formatted on one line', () => {
    assert.strictEqual(formatReply(composeReply(552, '5.3.4', 'too big')), '552 5.3.4 too big')
    assert.strictEqual(formatReply({ code: 250, enhanced: null, text: '', lines: ['250'] }), '250')
  })
})
