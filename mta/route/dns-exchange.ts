/**
 * One query to one DNS server, over UDP and, if the answer was truncated, again over TCP (RFC 7766). Written here
 * because node's resolver returns neither the AD bit, TLSA records nor the TTL of MX records, and does not wait the
 * whole time-out while other answers are fast.
 *
 * Accepts only an answer with the id and question of the query, from the queried address; everything else is ignored
 * until the timeout. Each query has its own socket, and so its own source port.
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { AUTHENTIC_DATA, decode, encode, RECURSION_DESIRED, streamEncode } from 'dns-packet'
import type { Answer, DecodedPacket, Packet, RecordType } from 'dns-packet'

export interface DnsServer {
  readonly host: string
  readonly port: number
}
export interface DnsQuestion {
  readonly name: string
  readonly type: RecordType
}

/** The answer, or a text that says why there is none. */
export type ExchangeResult = DecodedPacket | string

/** RFC 6891; 1232 bytes pass any network in one piece. */
const EDNS = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  flags: 0,
  extendedRcode: 0,
  ednsVersion: 0,
  flag_do: false,
  options: [],
} as const satisfies Answer
const NO_ANSWER = 'no answer in time'

/** From `ip`, `ip:port` or `[ip]:port`. */
export function parseServer(server: string): DnsServer {
  const [, host = server, port = '53'] =
    /^\[?([0-9a-f:.]+?)\]?(?::(\d+))?$/i.exec(isIPv6(server) ? `[${server}]` : server) ?? []
  return { host, port: Number(port) }
}

/** Functions that end a running exchange. */
export type PendingExchanges = Set<() => void>

export interface ExchangeOptions {
  /** For UDP, and again for TCP. */
  readonly timeoutMs: number
  /** Contains this exchange while it runs. */
  readonly pending: PendingExchanges
}

export async function exchange(
  question: DnsQuestion,
  server: DnsServer,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  const query = queryFor(question)
  const answer = await overUdp(query, server, options)
  return typeof answer !== 'string' && answer.flag_tc ? overTcp(query, server, options) : answer
}

/** Resolves with what `start` settles, at the latest after the time-out. */
async function withinLimits(
  { timeoutMs, pending }: ExchangeOptions,
  start: (settle: (answer: ExchangeResult) => void) => void,
): Promise<ExchangeResult> {
  const { promise, resolve } = Promise.withResolvers<ExchangeResult>()
  const cancel = (): void => resolve('stopped')
  // after a blocked event loop the timer is due before the answer was read: read once more
  const timer = setTimeout(() => setImmediate(() => resolve(NO_ANSWER)), timeoutMs)
  pending.add(cancel)
  try {
    start(resolve)
    return await promise
  } finally {
    clearTimeout(timer)
    pending.delete(cancel)
  }
}

/** The AD bit in a query requests the AD bit in the answer (RFC 6840 5.7). */
function queryFor({ name, type }: DnsQuestion): Packet {
  return {
    type: 'query',
    id: randomInt(65_536),
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ name, type }],
    additionals: [EDNS],
  }
}

async function overUdp(query: Packet, { host, port }: DnsServer, options: ExchangeOptions): Promise<ExchangeResult> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  try {
    return await withinLimits(options, (settle) => {
      socket.on('error', () => settle('no DNS server there'))
      socket.on('message', (bytes) => {
        const answer = parseAnswer(bytes, query)
        if (answer !== null) settle(answer)
      })
      const packet = encode(query)
      // connected: the kernel drops packets from other addresses
      socket.connect(port, host, () => socket.send(packet))
    })
  } finally {
    socket.close()
  }
}

async function overTcp(query: Packet, { host, port }: DnsServer, options: ExchangeOptions): Promise<ExchangeResult> {
  const socket = connect({ host, port })
  let pending = Buffer.alloc(0)
  try {
    return await withinLimits(options, (settle) => {
      socket.on('connect', () => socket.write(streamEncode(query)))
      socket.on('error', () => settle('no DNS server there'))
      socket.on('close', () => settle('the connection was closed'))
      socket.on('data', (chunk: Buffer) => {
        pending = Buffer.concat([pending, chunk])
        const end = pending.length < 2 ? Infinity : 2 + pending.readUInt16BE(0)
        if (pending.length >= end) settle(parseAnswer(pending.subarray(2, end), query) ?? 'the answer cannot be read')
      })
    })
  } finally {
    socket.destroy()
  }
}

/** Null when the packet does not answer this query. */
function parseAnswer(bytes: Buffer, query: Packet): DecodedPacket | null {
  try {
    const answer = decode(bytes)
    const [asked, answered] = [query.questions?.[0], answer.questions?.[0]]
    const isOurs =
      answer.type === 'response' &&
      answer.id === query.id &&
      answered?.type === asked?.type &&
      answered?.name.toLowerCase() === asked?.name.toLowerCase()
    return isOurs ? answer : null
  } catch {
    return null
  }
}
