import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { assert } from 'chai'
import { createSink, type SinkMethods } from './sink.ts'
import { createStencil, letterText } from './sample-message.ts'

const stencil = createStencil(letterText())
const body = (number: number): string =>
  `DKIM-Signature: v=1\r\n\r\n${stencil.fill(number).toString().replaceAll('\n', '\r\n')}`
const mail = (number: number, content = body(number)): string =>
  `MAIL FROM:<a@bench.example>\r\nRCPT TO:<m${number}@site.example>\r\nDATA\r\n${content}\r\n.\r\n`

/** Sends in the given pieces, ends with QUIT, gives back all replies. */
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
    { name: 'a message that comes twice', pieces: [mail(101), mail(101)], ledger: { distinct: 1, doubled: 1 } },
    { name: 'a number outside the range', pieces: [mail(99), mail(110)], ledger: { strays: 2 } },
    {
      name: 'a recipient without a number',
      pieces: [mail(101).replace('m101@', 'nobody@')],
      ledger: { strays: 1, mixedUp: 1 },
    },
    { name: 'a body of somebody else', pieces: [mail(101, body(102))], ledger: { distinct: 1, mixedUp: 1 } },
    {
      name: 'no signature',
      pieces: [mail(101, body(101).replace('DKIM-', 'X-'))],
      ledger: { distinct: 1, unsigned: 1 },
    },
    {
      name: 'an empty message',
      pieces: ['MAIL FROM:<>\r\nRCPT TO:<m101@x.example>\r\nDATA\r\n', '.\r\n'],
      ledger: { distinct: 1, unsigned: 1, mixedUp: 1 },
    },
    { name: 'a transaction given up', pieces: ['MAIL FROM:<>\r\nRCPT TO:<m101@x.example>\r\nRSET\r\n'], ledger: {} },
  ]
  for (const { name, pieces, ledger: expected } of cases) {
    it(`keeps the ledger: ${name}`, async () => {
      await sink.begin({ from: 100, count: 10, isOwnLetter: true })
      const replies = await talk(port, ...pieces)
      const { distinct, doubled, strays, mixedUp, unsigned } = await sink.finish()
      const nothing = { distinct: 0, doubled: 0, strays: 0, mixedUp: 0, unsigned: 0 }
      assert.deepEqual({ distinct, doubled, strays, mixedUp, unsigned }, { ...nothing, ...expected })
      assert.match(replies, /221 2.0.0 bye\r\n$/)
    })
  }

  it('takes the number that smtp-source puts in front of the recipient', async () => {
    await sink.begin({ from: 1, count: 2, isOwnLetter: false })
    await talk(port, mail(1).replace('<m1@', '<1m@'), mail(2).replace('<m2@', '<2m@'))
    assert.strictEqual((await sink.finish()).distinct, 2)
  })

  it('answers in order when it is slow, and enters a message when it answers', async () => {
    await sink.begin({ from: 101, count: 2, isOwnLetter: true })
    await sink.slow(20)
    const replies = await talk(port, mail(101) + mail(102))
    assert.deepEqual(replies.match(/taken|bye/g), ['taken', 'taken', 'bye'])
    const [first = 0, second = 0] = await sink.arrivals()
    assert.ok(first > 0 && second > first)
  })

  it('forgets the last measurement at the beginning of the next', async () => {
    await sink.begin({ from: 101, count: 1, isOwnLetter: true })
    await talk(port, mail(101))
    await sink.begin({ from: 101, count: 1, isOwnLetter: true })
    assert.strictEqual(await sink.progress(), 0)
  })
})
