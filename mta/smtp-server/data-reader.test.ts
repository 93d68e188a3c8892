import { assert } from 'chai'
import * as fc from 'fast-check'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { DataReader } from './data-reader.ts'

interface Read {
  /** The data of each message, one character per octet. */
  readonly messages: string[]
  readonly commands: string[]
}

/** Feeds the chunks to smtp-server's reader in data mode, from the start and again after each command DATA. */
async function readWithLibrary(chunks: readonly string[]): Promise<Read> {
  const stream = new SMTPStream()
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

/** The same with our reader. */
function read(chunks: readonly string[]): Read {
  const [messages, commands]: [string[], string[]] = [[], []]
  let parts: Buffer[] = []
  let reader: DataReader | null = new DataReader()
  let line = ''
  const readLine = (octets: Buffer): number => {
    const end = octets.indexOf('\n') + 1
    line += octets.toString('latin1', 0, end === 0 ? octets.length : end)
    if (end === 0) return octets.length
    commands.push(line.replace(/\r?\n$/, ''))
    line = ''
    if (commands.at(-1) === 'DATA') reader = new DataReader()
    return end
  }
  const readData = (octets: Buffer, from: DataReader): number => {
    const end = from.read(octets, { write: (part) => parts.push(Buffer.from(part)) })
    if (end < 0) return octets.length
    messages.push(Buffer.concat(parts).toString('latin1'))
    parts = []
    reader = null
    return end
  }
  for (const chunk of chunks)
    for (let rest = Buffer.from(chunk, 'latin1'); rest.length > 0;)
      rest = rest.subarray(reader === null ? readLine(rest) : readData(rest, reader))
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
      'does not end at a dot after a bare LF',
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
      assert.deepEqual(read(chunks), expected)
      assert.deepEqual(await readWithLibrary(chunks), expected)
    })

  it('loses a stuffed dot after a bare LF at its very beginning', () => {
    assert.deepEqual(read([`\n..a${END}`]), { messages: ['\n.a\r\n'], commands: [] })
  })
  it('is not copied', () => {
    const chunk = Buffer.from(`a\r\n..b\r\n${'text\r\n'.repeat(100)}`)
    const parts: Buffer[] = []
    new DataReader().read(chunk, { write: (part) => parts.push(part) })
    assert.ok(parts.every(({ buffer }) => buffer === chunk.buffer))
    assert.strictEqual(Buffer.concat(parts).toString(), `a\r\n.b\r\n${'text\r\n'.repeat(100)}`)
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
        // smtp-server does not see a dot after a bare LF that is the first octet (the case above)
        fc.pre(!all.join('').startsWith('\n.'))
        assert.deepEqual(read(all), await readWithLibrary(all))
      }),
      { numRuns: 2000 },
    )
  })
})
