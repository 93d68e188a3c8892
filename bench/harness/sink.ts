/**
 * A receiving SMTP server that takes everything, throws it away and keeps the
 * ledger: which numbered message came how often, when its 250 was written,
 * whether it was signed and whether the number in the envelope is the one in
 * the body. It does as little per message as can be (a few searches in bytes
 * that are there already), for it shares the cores with what is measured.
 * The number is the first one in the local part of the recipient: `m17@…`.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { BODY_MARK, NUMBER_DIGITS } from './sample-message.ts'
import { monotonicMs } from './clock.ts'

/** The messages one measurement expects: `count` numbers from `from`. */
export interface Expected {
  readonly from: number
  readonly count: number
  /** The letters are our own (`sample-message.ts`) and say their number in the body too. */
  readonly isOwnLetter: boolean
}

export interface Ledger {
  /** How many different expected messages came at least once. */
  readonly distinct: number
  /** Copies beyond the first. */
  readonly doubled: number
  /** Messages that were not expected: another number, or none. */
  readonly strays: number
  /** The body belongs to another recipient than the envelope says. */
  readonly mixedUp: number
  /** No DKIM-Signature at all. */
  readonly unsigned: number
  /** When the first and the last 250 was written (`clock.ts`); 0 when nothing came. */
  readonly firstAt: number
  readonly lastAt: number
  /** The latest message, whole, for a check of its signature. */
  readonly sample: Uint8Array
}

/** When the 250 of each number was written, by `number - from`; 0 = not yet. */
export type Arrivals = Float64Array

interface Open {
  expected: Expected
  ledger: { -readonly [K in keyof Ledger]: Ledger[K] }
  copies: Uint8Array
  arrivals: Arrivals
  delayMs: number
}

/** One SMTP connection: what came and was not understood yet, and the transaction under way. */
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
const TAKEN = '250 2.0.0 taken\r\n'
const END = Buffer.from('\r\n.\r\n')
const EMPTY = Buffer.from('.\r\n')
const SIGNATURE = Buffer.from('DKIM-Signature:')
const MARK = Buffer.from(BODY_MARK)
const NOTHING: Expected = { from: 0, count: 0, isOwnLetter: false }

/** The methods of the sink's process (`remote.ts`). */
export function createSink() {
  const open: Open = { ...fresh(NOTHING), delayMs: 0 }
  const server = createServer({ noDelay: true }, (socket) => serve(socket, open))
  return {
    listen: async (): Promise<number> => listen(server),
    /** Opens a new ledger; what came before is forgotten. */
    begin: async (expected: Expected): Promise<void> => {
      Object.assign(open, fresh(expected))
    },
    progress: async (): Promise<number> => open.ledger.distinct,
    finish: async (): Promise<Ledger> => open.ledger,
    arrivals: async (): Promise<Arrivals> => open.arrivals,
    /** How long every 250 after the final dot waits from now on. */
    slow: async (delayMs: number): Promise<void> => {
      open.delayMs = delayMs
    },
    close: async (): Promise<void> => {
      server.close()
    },
  }
}

export type SinkMethods = ReturnType<typeof createSink>

function fresh(expected: Expected): Omit<Open, 'delayMs'> {
  return {
    expected,
    copies: new Uint8Array(expected.count),
    arrivals: new Float64Array(expected.count),
    ledger: {
      distinct: 0,
      doubled: 0,
      strays: 0,
      mixedUp: 0,
      unsigned: 0,
      firstAt: 0,
      lastAt: 0,
      sample: new Uint8Array(),
    },
  }
}

async function listen(server: Server): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function serve(socket: Socket, open: Open): void {
  const session: Session = { pending: Buffer.alloc(0), isData: false, isWaiting: false, numbers: [] }
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    session.pending = session.pending.length === 0 ? chunk : Buffer.concat([session.pending, chunk])
    if (!session.isWaiting) advance(socket, session, open)
  })
  socket.write(GREETING)
}

/** Takes all that is whole in `pending` and answers it with one write. */
function advance(socket: Socket, session: Session, open: Open): void {
  let replies = ''
  for (let reply = next(session, open); reply !== null; reply = next(session, open)) {
    replies += reply
    if (reply === TAKEN && open.delayMs > 0) return answerLater(socket, session, open, replies)
    if (reply === REPLIES['QUIT']) {
      socket.end(replies)
      return
    }
  }
  if (replies !== '') socket.write(replies)
}

function answerLater(socket: Socket, session: Session, open: Open, replies: string): void {
  session.isWaiting = true
  setTimeout(() => {
    session.isWaiting = false
    enter(session, open)
    socket.write(replies)
    advance(socket, session, open)
  }, open.delayMs)
}

/** The reply to the next command or message; null when more bytes are needed. */
function next(session: Session, open: Open): string | null {
  if (session.isData) return takeMessage(session, open)
  const end = session.pending.indexOf(10)
  if (end < 0) return null
  const line = session.pending.toString('latin1', 0, end)
  session.pending = session.pending.subarray(end + 1)
  const verb = line.slice(0, 4).toUpperCase()
  if (verb === 'RCPT') session.numbers.push(numberOf(line))
  if (verb === 'MAIL' || verb === 'RSET') session.numbers = []
  if (verb === 'DATA') session.isData = true
  return REPLIES[verb] ?? '500 5.5.1 what?\r\n'
}

function takeMessage(session: Session, open: Open): string | null {
  const { pending } = session
  const isEmpty = pending.subarray(0, EMPTY.length).equals(EMPTY)
  const end = isEmpty ? 0 : pending.indexOf(END)
  if (end < 0) return null
  session.isData = false
  session.pending = pending.subarray(end + (isEmpty ? EMPTY.length : END.length))
  inspect(pending.subarray(0, end + 2), session, open)
  if (open.delayMs === 0) enter(session, open)
  return TAKEN
}

/** What the message itself shows. */
function inspect(message: Buffer, session: Session, { ledger, expected }: Open): void {
  ledger.sample = message
  if (!message.includes(SIGNATURE)) ledger.unsigned++
  if (!expected.isOwnLetter) return
  const mark = message.indexOf(MARK)
  const inBody =
    mark < 0 ? -1 : Number(message.toString('latin1', mark + MARK.length, mark + MARK.length + NUMBER_DIGITS))
  if (session.numbers.some((number) => number !== inBody)) ledger.mixedUp++
}

/** Enters the transaction's recipients as arrived now. */
function enter(session: Session, { ledger, expected, copies, arrivals }: Open): void {
  const now = monotonicMs()
  for (const number of session.numbers) {
    const index = number - expected.from
    const before = copies[index]
    if (before === undefined) {
      ledger.strays++
      continue
    }
    copies[index] = Math.min(255, before + 1)
    if (before > 0) {
      ledger.doubled++
      continue
    }
    arrivals[index] = now
    ledger.distinct++
    ledger.firstAt ||= now
    ledger.lastAt = now
  }
  session.numbers = []
}

/** The first number in the recipient's local part; -1 when there is none. */
function numberOf(line: string): number {
  const digits = /[:<]\D*?(\d+)[^@]*@/.exec(line)?.[1]
  return digits === undefined ? -1 : Number(digits)
}
