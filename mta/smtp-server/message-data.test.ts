import { assert } from 'chai'
import * as fc from 'fast-check'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { searchDots } from './message-data.ts'

interface Read {
  /** The data of each message, one character per octet. */
  readonly messages: string[]
  readonly commands: string[]
}

/** Feeds the chunks to a stream that is in data mode from the start, and again after each command DATA. */
async function read(chunks: readonly string[], isOurs: boolean): Promise<Read> {
  const stream = new SMTPStream()
  if (isOurs) searchDots(stream)
  const [messages, commands]: [string[], string[]] = [[], []]
  const startData = (): void => {
    const parts: Buffer[] = []
    const data = stream.startDataMode()
    data.on('data', (part: Buffer) => parts.push(Buffer.from(part)))
    data.once('end', () => {
      messages.push(Buffer.concat(parts).toString('latin1'))
      stream.continue()
    })
  }
  stream.oncommand = (command, callback) => {
    commands.push(command.toString('latin1'))
    if (command.toString('latin1') === 'DATA') startData()
    setImmediate(() => callback?.()) // later, as the handlers of a server
  }
  startData()
  for (const chunk of chunks)
    await new Promise((resolve) => {
      stream.write(Buffer.from(chunk, 'latin1'), resolve)
    })
  return { messages, commands }
}

const END = '\r\n.\r\n'

describe('the data of a message', () => {
  const cases: readonly [what: string, chunks: readonly string[], expected: Read][] = [
    ['ends at a dot between two CRLF', [`a\r\nb${END}NOOP\r\n`], { messages: ['a\r\nb\r\n'], commands: ['NOOP'] }],
    ['may be empty', ['.\r\nNOOP\r\n'], { messages: [''], commands: ['NOOP'] }],
    [
      'loses the dots that were stuffed',
      [`..a\r\n...b\r\n..${END}`],
      { messages: ['.a\r\n..b\r\n.\r\n'], commands: [] },
    ],
    [
      'does not end at a dot behind a bare LF',
      [`a\n.\nb\n.\r\nc${END}`],
      { messages: ['a\n.\nb\n.\r\nc\r\n'], commands: [] },
    ],
    [
      'ends also octet by octet',
      `..a\r\n..b${END}NOOP\r\n`.split(''),
      { messages: ['.a\r\n.b\r\n'], commands: ['NOOP'] },
    ],
    [
      'is followed by that of the next message',
      [`a${END}DATA\r\n..b${END}DATA\r\n.\r\n`],
      { messages: ['a\r\n', '.b\r\n', ''], commands: ['DATA', 'DATA'] },
    ],
  ]
  for (const [what, chunks, expected] of cases)
    it(what, async () => {
      assert.deepEqual(await read(chunks, true), expected)
      assert.deepEqual(await read(chunks, false), expected)
    })

  for (const [what, chunk] of [
    ['a message', `text${END}`],
    ['an empty message', '.\r\n'],
  ] as const)
    it(`smtp-server does not hold the chunk that ends ${what}`, () => {
      const stream = new SMTPStream()
      searchDots(stream)
      stream.startDataMode().resume()
      const rests: Buffer[] = []
      // oxlint-disable-next-line no-underscore-dangle -- the name of smtp-server
      stream._endDataMode = (_data, rest) => rests.push(rest)
      stream.write(Buffer.from(chunk))
      assert.deepEqual(
        rests.map(({ buffer }) => buffer.byteLength),
        [0],
      )
    })

  it('is that of smtp-server for random data in random chunks', async () => {
    const piece = fc.constantFrom(
      'a',
      '.',
      '..',
      '\n',
      '\r',
      '\r\n',
      '\r\n.',
      '\r\n..',
      'text',
      '.\r\n',
      '\n.\r\n',
      END,
    )
    const chunks = fc.array(
      fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join('')),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(chunks, async (given) => {
        const all = [...given, `\r\nend${END}`]
        assert.deepEqual(await read(all, true), await read(all, false))
      }),
      { numRuns: 2000 },
    )
  })
})
