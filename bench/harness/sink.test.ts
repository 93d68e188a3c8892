import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { assert } from 'chai'
import { createSink, type SinkMethods } from './sink.ts'
import { messageText } from '#bench/mails/plain-text.ts'
import { createTemplate } from '#bench/mails/sample-mail.ts'

const stencil = createTemplate(messageText())
const body = (number: number): string =>
  `DKIM-Signature: v=1\r\n\r\n${stencil.fill(number).toString().replaceAll('\n', '\r\n')}`
const mail = (number: number, content = body(number)): string =>
  `MAIL FROM:<a@bench.example>\r\nRCPT TO:<m${number}@site.example>\r\nDATA\r\n${content}\r\n.\r\n`

/** Sends the pieces and QUIT. Returns all replies. */
async function talk(port: number, ...pieces: string[]): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close')
  let replies = ''
  socket.on('data', (chunk) => {
    replies += chunk.toString()
  })
  for (const piece of [...pieces, 'QUIT\r\n']) {
    socket.write(piece)
    await new Promise((done) => {
      setTimeout(done, 5)
    })
  }
  await closed
  return replies
}

describe('the counting sink', () => {
  let sink: SinkMethods
  let port: number
  beforeEach(async () => {
    sink = createSink()
    port = await sink.listen()
  })
  afterEach(() => sink.close())

  const whole = mail(101)
  const cases: readonly { name: string; pieces: string[]; ledger: Record<string, number> }[] = [
    { name: 'a message in one piece', pieces: [whole], ledger: { distinct: 1 } },
    { name: 'a message in two pieces', pieces: [whole.slice(0, 2000), whole.slice(2000)], ledger: { distinct: 1 } },
    { name: 'a final dot in two pieces', pieces: [whole.slice(0, -3), whole.slice(-3)], ledger: { distinct: 1 } },
    { name: 'two pipelined messages', pieces: [mail(101) + mail(102)], ledger: { distinct: 2 } },
    { name: 'a message that comes twice', pieces: [mail(101), mail(101)], ledger: { distinct: 1, duplicates: 1 } },
    { name: 'a number outside the range', pieces: [mail(99), mail(110)], ledger: { unexpected: 2 } },
    {
      name: 'a recipient without a number',
      pieces: [mail(101).replace('m101@', 'nobody@')],
      ledger: { unexpected: 1, wrongBody: 1 },
    },
    { name: "another recipient's body", pieces: [mail(101, body(102))], ledger: { distinct: 1, wrongBody: 1 } },
    {
      name: 'no signature',
      pieces: [mail(101, body(101).replace('DKIM-', 'X-'))],
      ledger: { distinct: 1, unsigned: 1 },
    },
    {
      name: 'an empty message',
      pieces: ['MAIL FROM:<>\r\nRCPT TO:<m101@x.example>\r\nDATA\r\n', '.\r\n'],
      ledger: { distinct: 1, unsigned: 1, wrongBody: 1 },
    },
    { name: 'an aborted transaction', pieces: ['MAIL FROM:<>\r\nRCPT TO:<m101@x.example>\r\nRSET\r\n'], ledger: {} },
  ]
  for (const { name, pieces, ledger: expected } of cases) {
    it(`counts ${name}`, async () => {
      await sink.begin({ from: 100, count: 10, hasNumberedBody: true })
      const replies = await talk(port, ...pieces)
      const { distinct, duplicates, unexpected, wrongBody, unsigned } = await sink.finish()
      const nothing = { distinct: 0, duplicates: 0, unexpected: 0, wrongBody: 0, unsigned: 0 }
      assert.deepEqual({ distinct, duplicates, unexpected, wrongBody, unsigned }, { ...nothing, ...expected })
      assert.match(replies, /221 2.0.0 bye\r\n$/)
    })
  }

  it('reads the number that smtp-source puts in front of the recipient', async () => {
    await sink.begin({ from: 1, count: 2, hasNumberedBody: false })
    await talk(port, mail(1).replace('<m1@', '<1m@'), mail(2).replace('<m2@', '<1k1@'))
    assert.strictEqual((await sink.finish()).distinct, 2)
  })

  it('replies in order when it is slow, and counts a message when it replies', async () => {
    await sink.begin({ from: 101, count: 2, hasNumberedBody: true })
    await sink.slow(20)
    const replies = await talk(port, mail(101) + mail(102))
    assert.deepEqual(replies.match(/accepted|bye/g), ['accepted', 'accepted', 'bye'])
    const [first = 0, second = 0] = await sink.arrivals()
    assert.ok(first > 0 && second > first)
  })

  it('removes the dots of the transfer from the sample', async () => {
    await sink.begin({ from: 101, count: 1, hasNumberedBody: false })
    await talk(port, mail(101, 'DKIM-Signature: v=1\r\n\r\n..example\r\nx'))
    const { sample } = await sink.finish()
    assert.strictEqual(Buffer.from(sample).toString(), 'DKIM-Signature: v=1\r\n\r\n.example\r\nx\r\n')
  })

  it('starts each measurement with empty counters', async () => {
    await sink.begin({ from: 101, count: 1, hasNumberedBody: true })
    await talk(port, mail(101))
    await sink.begin({ from: 101, count: 1, hasNumberedBody: true })
    assert.strictEqual(await sink.progress(), 0)
  })
})
