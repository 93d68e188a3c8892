/**
 * An SMTP server that accepts and discards all mail and counts it: how often each
 * numbered message arrived, when its 250 was written, whether it was signed, and
 * whether envelope and body contain the same number. It does little work per
 * message, because it shares the cores with the measured server. The number is
 * the first one in the local part of the recipient: `m17@…`; in `17k300@…` of a
 * source that sends one of several kinds, 300 is added.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { BODY_MARKER, NUMBER_DIGITS } from '#bench/mails/sample-mail.ts'
import { monotonicMs } from './clock.ts'

/** The messages that a measurement expects: `count` numbers from `from` on. */
export interface ExpectedMessages {
  readonly from: number
  readonly count: number
  /** The body contains the number, too (`sample-mail.ts`). */
  readonly hasNumberedBody: boolean
}

export interface SinkLedger {
  /** Expected messages that arrived at least once. */
  readonly distinct: number
  /** Copies beyond the first. */
  readonly duplicates: number
  /** Messages with a number outside the expected range, or without one. */
  readonly unexpected: number
  /** Messages whose body has another number than the envelope. */
  readonly wrongBody: number
  /** Messages without a DKIM-Signature field. */
  readonly unsigned: number
  /** When the first and the last 250 was written (`clock.ts`); 0 when no message arrived. */
  readonly firstAt: number
  readonly lastAt: number
  /** The latest message in full, to verify its signature. */
  readonly sample: Uint8Array
}

/** When the 250 of each number was written, by `number - from`; 0 = not yet. */
export type Arrivals = Float64Array

interface SinkState {
  expected: ExpectedMessages
  ledger: { -readonly [K in keyof SinkLedger]: SinkLedger[K] }
  copies: Uint8Array
  arrivals: Arrivals
  delayMs: number
}

/** One SMTP connection: input that is not yet processed, and the current transaction. */
interface Session {
  pending: Buffer
  isData: boolean
  isWaiting: boolean
  numbers: number[]
}

const GREETING = '220 sink.example ESMTP\r\n'
const EHLO = '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE 52428800\r\n'
const REPLIES: Readonly<Record<string, string>> = {
  EHLO,
  HELO: '250 sink.example\r\n',
  MAIL: '250 2.1.0 ok\r\n',
  RCPT: '250 2.1.5 ok\r\n',
  DATA: '354 go on\r\n',
  RSET: '250 2.0.0 ok\r\n',
  NOOP: '250 2.0.0 ok\r\n',
  QUIT: '221 2.0.0 bye\r\n',
}
const ACCEPTED = '250 2.0.0 accepted\r\n'
const END = Buffer.from('\r\n.\r\n')
const EMPTY = Buffer.from('.\r\n')
const SIGNATURE = Buffer.from('DKIM-Signature:')
const MARKER = Buffer.from(BODY_MARKER)
const NO_MESSAGES: ExpectedMessages = { from: 0, count: 0, hasNumberedBody: false }

/** The methods of the sink's process (`remote.ts`). */
export function createSink() {
  const state: SinkState = { ...createState(NO_MESSAGES), delayMs: 0 }
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, state)
  })
  return {
    listen: async (port = 0): Promise<number> => listen(server, port),
    /** Closes the port and all connections, so that another sink can listen there. */
    release: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      sockets.forEach((socket) => socket.destroy())
      await closed
    },
    /** Starts with empty counters. */
    begin: async (expected: ExpectedMessages): Promise<void> => {
      Object.assign(state, createState(expected))
    },
    progress: async (): Promise<number> => state.ledger.distinct,
    finish: async (): Promise<SinkLedger> => ({ ...state.ledger, sample: withoutStuffing(state.ledger.sample) }),
    arrivals: async (): Promise<Arrivals> => state.arrivals,
    /** Delays every 250 to the final dot from now on. */
    slow: async (delayMs: number): Promise<void> => {
      state.delayMs = delayMs
    },
    close: async (): Promise<void> => {
      server.close()
    },
  }
}

export type SinkMethods = ReturnType<typeof createSink>

function createState(expected: ExpectedMessages): Omit<SinkState, 'delayMs'> {
  return {
    expected,
    copies: new Uint8Array(expected.count),
    arrivals: new Float64Array(expected.count),
    ledger: {
      distinct: 0,
      duplicates: 0,
      unexpected: 0,
      wrongBody: 0,
      unsigned: 0,
      firstAt: 0,
      lastAt: 0,
      sample: new Uint8Array(),
    },
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen({ port, host: '127.0.0.1', backlog: 1024 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function serve(socket: Socket, state: SinkState): void {
  const session: Session = { pending: Buffer.alloc(0), isData: false, isWaiting: false, numbers: [] }
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    session.pending = session.pending.length === 0 ? chunk : Buffer.concat([session.pending, chunk])
    if (!session.isWaiting) advance(socket, session, state)
  })
  socket.write(GREETING)
}

/** Processes all complete commands and messages in `pending` and writes the replies at once. */
function advance(socket: Socket, session: Session, state: SinkState): void {
  let replies = ''
  for (let reply = nextReply(session, state); reply !== null; reply = nextReply(session, state)) {
    replies += reply
    if (reply === ACCEPTED && state.delayMs > 0) return replyLater(socket, session, state, replies)
    if (reply === REPLIES['QUIT']) {
      socket.end(replies)
      return
    }
  }
  if (replies !== '') socket.write(replies)
}

function replyLater(socket: Socket, session: Session, state: SinkState, replies: string): void {
  session.isWaiting = true
  setTimeout(() => {
    session.isWaiting = false
    recordArrival(session, state)
    socket.write(replies)
    advance(socket, session, state)
  }, state.delayMs)
}

/** The reply to the next command or message; null when more bytes are needed. */
function nextReply(session: Session, state: SinkState): string | null {
  if (session.isData) return readMessage(session, state)
  const end = session.pending.indexOf(10)
  if (end < 0) return null
  const line = session.pending.toString('latin1', 0, end)
  session.pending = session.pending.subarray(end + 1)
  const verb = line.slice(0, 4).toUpperCase()
  if (verb === 'RCPT') session.numbers.push(recipientNumber(line))
  if (verb === 'MAIL' || verb === 'RSET') session.numbers = []
  if (verb === 'DATA') session.isData = true
  return REPLIES[verb] ?? '500 5.5.1 what?\r\n'
}

function readMessage(session: Session, state: SinkState): string | null {
  const { pending } = session
  const isEmpty = pending.subarray(0, EMPTY.length).equals(EMPTY)
  const end = isEmpty ? 0 : pending.indexOf(END)
  if (end < 0) return null
  session.isData = false
  session.pending = pending.subarray(end + (isEmpty ? EMPTY.length : END.length))
  inspectMessage(pending.subarray(0, end + 2), session, state)
  if (state.delayMs === 0) recordArrival(session, state)
  return ACCEPTED
}

/** The sample as it was signed, without the dots that the transfer added (RFC 5321 §4.5.2). */
function withoutStuffing(message: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(message).toString('latin1').replaceAll('\r\n..', '\r\n.'), 'latin1')
}

/** Checks the signature field and the number in the body. */
function inspectMessage(message: Buffer, session: Session, { ledger, expected }: SinkState): void {
  ledger.sample = message
  if (!message.includes(SIGNATURE)) ledger.unsigned++
  if (!expected.hasNumberedBody) return
  const marker = message.indexOf(MARKER)
  const inBody =
    marker < 0 ? -1 : Number(message.toString('latin1', marker + MARKER.length, marker + MARKER.length + NUMBER_DIGITS))
  if (session.numbers.some((number) => number !== inBody)) ledger.wrongBody++
}

/** Records the transaction's recipients as arrived now. */
function recordArrival(session: Session, { ledger, expected, copies, arrivals }: SinkState): void {
  const now = monotonicMs()
  for (const number of session.numbers) {
    const index = number - expected.from
    const before = copies[index]
    if (before === undefined) {
      ledger.unexpected++
      continue
    }
    copies[index] = Math.min(255, before + 1)
    if (before > 0) {
      ledger.duplicates++
      continue
    }
    arrivals[index] = now
    ledger.distinct++
    ledger.firstAt ||= now
    ledger.lastAt = now
  }
  session.numbers = []
}

/** The number in the recipient's local part; -1 when there is none. */
function recipientNumber(line: string): number {
  const [, digits, offset = 0] = /[:<]\D*?(\d+)(?:k(\d+))?[^@]*@/.exec(line) ?? []
  return digits === undefined ? -1 : Number(digits) + Number(offset)
}
