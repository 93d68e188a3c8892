/**
 * Who is connected to an SMTP port. A connection from PROXY_PROTOCOL_NETWORKS must begin with a PROXY header, which
 * names the client; the address of any other connection is that of the client, and nothing is read from it. A proxy
 * that sends no header within HEADER_MS, or an invalid one, is disconnected: its clients must never count as one
 * client, or as this machine.
 */
import { isIPv4, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Network } from '#config/settings/readers.ts'
import type { Log } from '#src/platform/log.ts'
import { parseProxyHeader, type ProxiedPeer, type ProxyHeader } from './proxy-header.ts'

const HEADER_MS = 5000

export interface PeerSettings {
  readonly proxyNetworks: readonly Network[]
  readonly log: Pick<Log, 'warn'>
  readonly headerMs?: number
}

const MAPPED = '::ffff:'

/** The address without the prefix of IPv4 in IPv6. */
function plainAddress(address: string): string {
  const mapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address
  if (isIPv4(mapped)) return mapped
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
}

/** Whether the connection comes from a proxy that has to send a header. */
function isProxied({ proxyNetworks }: PeerSettings, socket: Socket): boolean {
  if (proxyNetworks.length === 0 || !ipaddr.isValid(socket.remoteAddress ?? '')) return false
  const address = ipaddr.process(socket.remoteAddress ?? '')
  return proxyNetworks.some((network) => network[0].kind() === address.kind() && address.match(network))
}

/**
 * Calls `done` with the client, at once or when its header was read. It is not called for a connection that ended, or
 * that was closed because of its header.
 */
export function findPeer(settings: PeerSettings, socket: Socket, done: (peer: ProxiedPeer) => void): void {
  const own = { address: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 }
  if (!isProxied(settings, socket)) return done(own)
  readHeader(settings, socket, (peer) =>
    done(peer === null ? own : { address: plainAddress(peer.address), port: peer.port }),
  )
}

function readHeader(
  { log, headerMs = HEADER_MS }: PeerSettings,
  socket: Socket,
  done: (peer: ProxiedPeer | null) => void,
): void {
  const proxy = socket.remoteAddress
  let received = Buffer.alloc(0)
  const refuse = (reason: string): void => {
    leave()
    log.warn({ proxy, reason }, 'closed a connection of a proxy without a valid PROXY header')
    // an error that arrives late must not end the process
    socket.on('error', () => undefined).destroy()
  }
  const late = setTimeout(() => refuse(`no header within ${headerMs} ms`), headerMs)
  const onReadable = (): void => {
    const header = readMore()
    if (header.kind === 'incomplete') return
    if (header.kind === 'invalid') return refuse(header.reason)
    leave()
    if (received.length > header.length) socket.unshift(received.subarray(header.length))
    done(header.peer)
  }
  const readMore = (): ProxyHeader => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      received = Buffer.concat([received, chunk])
      const header = parseProxyHeader(received)
      if (header.kind !== 'incomplete') return header
    }
    return parseProxyHeader(received)
  }
  const onEnd = (): void => refuse('the connection ended')
  const onError = (error: Error): void => refuse(error.message)
  const leave = (): void => {
    clearTimeout(late)
    socket.off('readable', onReadable).off('end', onEnd).off('error', onError).off('close', leave)
  }
  socket.on('readable', onReadable).on('end', onEnd).on('error', onError).on('close', leave)
}
