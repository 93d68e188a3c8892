/**
 * A small DNS server on one loopback port, UDP and TCP. It owns sockets, framing and truncation; the responder supplies
 * the answers. A query that cannot be decoded gets no answer. If the responder throws, the answer is SERVFAIL. A broken
 * client does not affect others.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import {
  decode,
  encode,
  streamEncode,
  AUTHORITATIVE_ANSWER,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  type Answer,
  type DecodedPacket,
  type Packet,
} from 'dns-packet'

export type DnsTransport = 'udp' | 'tcp'

/** Answers one query, which always has one question. Null: send no answer. */
export type Responder = (query: DecodedPacket, via: DnsTransport) => Promise<Packet | null>

export interface DnsListener {
  /** The port of both UDP and TCP. */
  readonly port: number
  stop(): Promise<void>
}

/** RFC 1035 4.1.1 */
export const RCODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const
export type Rcode = keyof typeof RCODES

const HOST = '127.0.0.1'
/** RFC 1035 4.2.1: size limit of a UDP answer if the client does not offer more (RFC 6891). */
const PLAIN_UDP_BYTES = 512
const MAX_UDP_BYTES = 1232
const TCP_IDLE_MS = 10_000
const PORT_TRIES = 20

/** Starts to listen, by default on loopback; port 0 selects a free port. Rejects if the port is in use. */
export async function listenDns(port: number, respond: Responder, host = HOST): Promise<DnsListener> {
  for (let tries = PORT_TRIES; ; tries--) {
    const udp = await bindUdp(port, host, respond)
    try {
      const tcp = await bindTcp(udp.address().port, host, respond)
      return { port: udp.address().port, stop: () => stop(udp, tcp) }
    } catch (error) {
      udp.close()
      // a free UDP port may be in use for TCP: try another one if the caller allows any port
      if (port !== 0 || tries <= 1) throw error
    }
  }
}

/** Builds the answer to a query. */
export function answerTo(query: DecodedPacket, rcode: Rcode, answers: readonly Answer[] = []): Packet {
  const flags = AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | (query.flag_rd ? RECURSION_DESIRED : 0) | RCODES[rcode]
  return { type: 'response', id: query.id ?? 0, flags, questions: query.questions ?? [], answers: [...answers] }
}

async function bindUdp(port: number, host: string, respond: Responder): Promise<UdpSocket> {
  const socket = createSocket('udp4')
  socket.bind(port, host)
  await once(socket, 'listening')
  socket.on('message', (bytes, peer) => {
    void handle(bytes, 'udp', respond, (packet, query) =>
      socket.send(encodeUdp(packet, query), peer.port, peer.address, () => {}),
    )
  })
  socket.on('error', () => {})
  return socket
}

async function bindTcp(
  port: number,
  host: string,
  respond: Responder,
): Promise<Server & { readonly clients: Set<Socket> }> {
  const clients = new Set<Socket>()
  const server = createServer((socket) => {
    clients.add(socket)
    socket.on('close', () => clients.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(TCP_IDLE_MS, () => socket.destroy())
    readFrames(socket, (bytes) => void handle(bytes, 'tcp', respond, (packet) => socket.write(streamEncode(packet))))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return Object.assign(server, { clients })
}

/** RFC 1035 4.2.2: a two-byte length precedes each message. */
function readFrames(socket: Socket, receive: (bytes: Buffer) => void): void {
  let pending = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0)
      receive(pending.subarray(2, end))
      pending = pending.subarray(end)
    }
  })
}

type Send = (packet: Packet, query: DecodedPacket) => void

async function handle(bytes: Buffer, via: DnsTransport, respond: Responder, send: Send): Promise<void> {
  const query = decodeQuery(bytes)
  if (query === null) return
  const packet = await respond(query, via).catch(() => answerTo(query, 'SERVFAIL'))
  if (packet === null) return
  try {
    send(packet, query)
  } catch {
    // the socket was closed before the answer was ready
  }
}

function decodeQuery(bytes: Buffer): DecodedPacket | null {
  try {
    const query = decode(bytes)
    return query.type === 'query' && query.questions?.length === 1 ? query : null
  } catch {
    return null
  }
}

/** Encodes a UDP answer. If it is too long, the answer is empty and has the TC bit (RFC 2181 9). */
function encodeUdp(packet: Packet, query: DecodedPacket): Buffer {
  const edns = query.additionals?.find((record) => record.type === 'OPT')
  const maxBytes = edns !== undefined && 'udpPayloadSize' in edns ? edns.udpPayloadSize : PLAIN_UDP_BYTES
  const whole = encode(packet)
  if (whole.length <= Math.min(Math.max(maxBytes, PLAIN_UDP_BYTES), MAX_UDP_BYTES)) return whole
  return encode({ ...packet, answers: [], flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE })
}

async function stop(udp: UdpSocket, tcp: Server & { readonly clients: Set<Socket> }): Promise<void> {
  udp.close()
  tcp.close()
  for (const client of tcp.clients) client.destroy()
  await once(tcp, 'close')
}
