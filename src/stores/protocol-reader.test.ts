/** Messages are cut out of what arrives in pieces of any size, through a socket of the reader or another stream. */
import { assert } from 'chai'
import fc from 'fast-check'
import { ProtocolReader } from './protocol-reader.ts'

const HEADER = 5

/** A message as PostgreSQL sends it. */
function messageOf(code: number, content: Uint8Array): Buffer {
  const header = Buffer.from([code, 0, 0, 0, 0])
  header.writeUInt32BE(content.length + 4, 1)
  return Buffer.concat([header, content])
}

interface Reading {
  readonly reader: ProtocolReader
  /** Copies of the messages, made while they were handled. */
  readonly copies: Buffer[]
  /** What a caller may retain of messages that are its own. */
  readonly owned: Buffer[]
}

function startReading(): Reading {
  const [copies, owned]: [Buffer[], Buffer[]] = [[], []]
  const reader = new ProtocolReader((bytes, from, isOwn) => {
    const message = bytes.subarray(from, from + 1 + bytes.readUInt32BE(from + 1))
    copies.push(Buffer.from(message))
    if (isOwn) owned.push(message)
  })
  return { reader, copies, owned }
}

/** What a socket does: writes to the buffer that it is given, as much as there is room. */
function receive({ socketOptions }: ProtocolReader, octets: Buffer, pieceBytes: number): void {
  const { buffer } = socketOptions
  for (let at = 0; at < octets.length;) {
    const target = typeof buffer === 'function' ? buffer() : buffer
    const count = octets.subarray(at, at + pieceBytes).copy(target)
    assert.isAbove(count, 0)
    assert.isTrue(socketOptions.callback(count, target))
    at += count
  }
}

const MESSAGES = fc.array(
  fc.tuple(fc.nat(255), fc.uint8Array({ maxLength: 60 })).map(([code, content]) => messageOf(code, content)),
  { minLength: 1, maxLength: 12 },
)

describe('the reader of the protocol', () => {
  it('gives the same messages however they are cut, and whichever way they come', () => {
    fc.assert(
      fc.property(MESSAGES, fc.integer({ min: 1, max: 90 }), (messages, pieceBytes) => {
        const octets = Buffer.concat(messages)
        const socket = startReading()
        receive(socket.reader, octets, pieceBytes)
        const stream = startReading()
        for (let at = 0; at < octets.length; at += pieceBytes) stream.reader.push(octets.subarray(at, at + pieceBytes))
        assert.deepEqual(socket.copies, messages)
        assert.deepEqual(stream.copies, messages)
      }),
    )
  })

  it('lets connections share what they read into, but for messages that arrive in parts', () => {
    const [one, other] = [startReading(), startReading()]
    const [first, second] = [messageOf(1, Buffer.alloc(900, 1)), messageOf(2, Buffer.alloc(900, 2))]
    receive(one.reader, first.subarray(0, 500), 500)
    receive(other.reader, second.subarray(0, 3), 3)
    receive(one.reader, first.subarray(500), 100)
    receive(other.reader, second.subarray(3), 400)
    assert.deepEqual(one.owned, [first])
    assert.deepEqual(other.owned, [second])
    receive(one.reader, Buffer.concat([second, first]), 10_000)
    assert.deepEqual(one.copies, [first, second, first])
    assert.deepEqual(one.owned, [first])
  })

  it('gives a message its own buffer of exactly its size', () => {
    const { reader, owned } = startReading()
    const message = messageOf(7, Buffer.alloc(200_000, 7))
    receive(reader, message, 65_536)
    assert.deepEqual(owned, [message])
    assert.strictEqual(owned[0]?.buffer.byteLength, message.length)
  })

  it('allocates little for a length that does not arrive', () => {
    const { reader, copies } = startReading()
    const notPostgres = Buffer.from('HTTP/1.1 400 Bad Request\r\n')
    assert.isAbove(notPostgres.readUInt32BE(1), 1_000_000_000)
    reader.push(notPostgres)
    const { buffer } = reader.socketOptions
    assert.isBelow((typeof buffer === 'function' ? buffer() : buffer).buffer.byteLength, 2_000_000)
    assert.deepEqual(copies, [])
  })

  it('reads messages of several megabytes', () => {
    const { reader, copies } = startReading()
    const messages = [3_000_000, HEADER, 5_000_000, 0].map((length, i) => messageOf(i, Buffer.alloc(length, i + 1)))
    receive(reader, Buffer.concat(messages), 150_000)
    assert.deepEqual(copies, messages)
  })
})
