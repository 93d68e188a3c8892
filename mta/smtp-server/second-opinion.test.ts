/** Compares the replies to random commands with those of smtp-server. */
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { certificateFor } from '#test/support/certificate.ts'
import { decide, startTestSmtpServer, type ReceivedMail, type TestSmtpServer } from './smtp-server.test-data.ts'

const token = (password: string): string => Buffer.from(`\0user\0${password}`).toString('base64')
const RIGHT = `AUTH PLAIN ${token('password')}`
const COMMANDS = [
  'EHLO client.test',
  'HELO client.test',
  'EHLO',
  'MAIL FROM:<a@b.example>',
  'mail from: <c@d.example> SIZE=100 BODY=8BITMIME',
  'MAIL FROM:<> RET=HDRS ENVID=x',
  'MAIL FROM:<no@b.example>',
  'MAIL FROM:<a@b.example> SIZE=999999',
  'MAIL FROM:<a b@c.example>',
  'RCPT TO:<x@y.example>',
  'RCPT TO:<x@y.example> NOTIFY=NEVER',
  'RCPT TO:<later@y.example>',
  'RCPT TO:<no@y.example>',
  'RCPT TO:<>',
  'RCPT TO:x@y.example>',
  'DATA',
  'text of a mail\r\n..dot\r\n.',
  'RSET',
  'NOOP',
  'VRFY x',
  'AUTH PLAIN',
  'AUTH NONE',
  'AUTH LOGIN dXNlcg==',
  token('password'),
  '*',
  'UNKNOWN',
]
/** Ends a message that is still being sent. */
const END = ['text', '.', 'QUIT']
/** What a client sends in this order, so that random commands get beyond the first one. */
const SEQUENCES = [
  ['EHLO client.test', 'MAIL FROM:<a@b.example>', 'RCPT TO:<x@y.example>', 'DATA', 'a mail\r\n..\r\n.'],
  ['EHLO client.test', RIGHT],
  // smtp-server refuses some user names, which Mailstead ignores
  ['AUTH LOGIN', Buffer.from('user').toString('base64')],
  ['AUTH LOGIN', '*'],
  ['MAIL FROM:<later@b.example>', 'RCPT TO:<x@y.example>', 'RCPT TO:<z@y.example>', 'DATA', 'another\r\n.'],
]

interface Outcome {
  readonly codes: readonly string[]
  readonly mails: readonly ReceivedMail[]
}

async function converse(port: number, bytes: string, cuts: readonly number[], mails: ReceivedMail[]): Promise<Outcome> {
  mails.length = 0
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const [greeting] = (await once(socket, 'data')) as [Buffer]
  const received = text(socket).catch(() => '')
  const at = [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  let from = 0
  for (const to of at) {
    if (to > from) socket.write(bytes.slice(from, to))
    from = to
    await new Promise((resolve) => setImmediate(resolve))
  }
  const codes = `${String(greeting)}${await received}`.split('\r\n').filter((line) => /^\d{3}(?: |$)/.test(line))
  socket.destroy()
  return { codes: codes.map((line) => line.slice(0, 3)), mails: [...mails] }
}

/** Greets at once: the library waits 100 ms. */
class PromptConnection extends SMTPConnection {
  #isGreeted = false

  override init(): void {
    super.init()
    this.connectionReady()
  }

  override connectionReady(next?: () => void): void {
    if (this.#isGreeted) return
    this.#isGreeted = true
    super.connectionReady(next)
  }
}

class PromptServer extends SMTPServer {
  override connect(...[socket, options]: Parameters<SMTPServer['connect']>): void {
    const connection = new PromptConnection(this, socket, options ?? null)
    this.connections.add(connection)
    connection.on('error', () => undefined)
    connection.init()
  }
}

async function startLibrary(mails: ReceivedMail[]): Promise<SMTPServer> {
  const certificate = await certificateFor(['mx.test'])
  const server = new PromptServer({
    ...certificate,
    authMethods: ['PLAIN', 'LOGIN'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    disabledCommands: ['WIZ', 'SHELL', 'KILL'],
    hideDSN: false,
    size: 100_000,
    maxRecipients: 5,
    closeTimeout: 200,
    onAuth: ({ password }, _session, reply) =>
      password === 'password'
        ? reply(null, { user: 'user' })
        : reply(Object.assign(new Error('5.7.1 No'), { responseCode: 550 })),
    onMailFrom: ({ address }, _session, reply) => void decide(address).then((refusal) => reply(refusal)),
    onRcptTo: ({ address }, _session, reply) => void decide(address).then((refusal) => reply(refusal)),
    onData: (stream, { envelope: { mailFrom, rcptTo } }, reply) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)))
      stream.once('end', () => {
        const to = rcptTo.map(({ address }) => address)
        const from = mailFrom === false ? '' : mailFrom.address
        mails.push({ from, to, data: Buffer.concat(chunks).toString('latin1') })
        reply()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return server
}

/** The library accepts AUTH within a transaction, which RFC 4954 forbids. */
function withoutLateLogin(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => /^mail/i.test(line))
  return lines.map((line, n) => (first >= 0 && n > first && line.startsWith('AUTH') ? 'NOOP' : line))
}

describe('an SMTP session', () => {
  let test: TestSmtpServer
  let library: SMTPServer
  const libraryMails: ReceivedMail[] = []
  before(async () => {
    test = await startTestSmtpServer()
    library = await startLibrary(libraryMails)
  })
  after(async () => {
    await test.server.stop()
    await new Promise<void>((resolve) => {
      library.close(resolve)
    })
  })

  it('replies to random commands, in any packets, as smtp-server does', async () => {
    const one = fc.constantFrom(...COMMANDS).map((command) => [command])
    const script = fc
      .array(fc.oneof(one, fc.constantFrom(...SEQUENCES)), { minLength: 1, maxLength: 12 })
      .map((parts) => [...withoutLateLogin(parts.flat()), ...END].map((line) => `${line}\r\n`).join(''))
    const cuts = fc.array(fc.nat({ max: 2000 }), { maxLength: 8 })
    const { port } = library.server.address() as AddressInfo
    await fc.assert(
      fc.asyncProperty(script, cuts, async (bytes, at) => {
        const [ours, theirs] = await Promise.all([
          converse(test.port, bytes, at, test.mails),
          converse(port, bytes, at, libraryMails),
        ])
        assert.deepEqual(ours, theirs)
      }),
      { numRuns: 300 },
    )
  })
})
