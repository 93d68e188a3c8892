/**
 * Parses the header of the PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt), with which a proxy says
 * whose connection it passes on. Pure. A header that is not complete, not valid, or too long is never guessed at. Only
 * the source address is used; TLVs are skipped.
 */
import { isIP } from 'node:net'

export interface ProxiedPeer {
  readonly address: string
  readonly port: number
}

export type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid'; readonly reason: string }
  /** `peer` is null if the proxy speaks for itself (LOCAL, as in its health checks) or does not know the client. */
  | { readonly kind: 'header'; readonly peer: ProxiedPeer | null; readonly length: number }

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' }
const V1_START = Buffer.from('PROXY ')
/** With CRLF. */
const V1_MAX_BYTES = 107
const V2_START = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V2_FIXED_BYTES = 16
/** The addresses need 36 bytes at most; the rest is for TLVs, such as the name of a certificate. */
const V2_MAX_BYTES = V2_FIXED_BYTES + 4096

/** `bytes`: what the proxy has sent so far. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsAs(bytes, V2_START)) return bytes.length < V2_FIXED_BYTES ? INCOMPLETE : parseBinary(bytes)
  if (startsAs(bytes, V1_START)) return parseText(bytes)
  return invalid('it does not begin with a PROXY header')
}

/** Also while only a part of the start is there. */
function startsAs(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}

function invalid(reason: string): ProxyHeader {
  return { kind: 'invalid', reason }
}

const V1_FAMILIES: Readonly<Record<string, number>> = { TCP4: 4, TCP6: 6 }

function parseText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n')
  if (end < 0) return bytes.length < V1_MAX_BYTES ? INCOMPLETE : invalid('version 1: no end of line')
  const length = end + 2
  const [, protocol = '', ...words] = bytes.toString('latin1', 0, end).split(' ')
  if (protocol === 'UNKNOWN') return { kind: 'header', peer: null, length }
  const family = V1_FAMILIES[protocol]
  if (family === undefined) return invalid(`version 1: protocol ${JSON.stringify(protocol)}`)
  const [source = '', destination = '', sourcePort = '', destinationPort = '', ...others] = words
  const port = parsePort(sourcePort)
  if (others.length > 0 || isIP(source) !== family || isIP(destination) !== family)
    return invalid('version 1: the addresses are not valid')
  if (port === null || parsePort(destinationPort) === null) return invalid('version 1: the ports are not valid')
  return { kind: 'header', peer: { address: source, port }, length }
}

function parsePort(text: string): number | null {
  const port = Number(text)
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && port <= 65_535 ? port : null
}

const VERSION_2 = 2
const LOCAL = 0
const PROXY = 1
/** By family and transport; only TCP over IP is used here. */
const V2_ADDRESSES: Readonly<Record<number, { readonly bytes: number; read(block: Buffer): string }>> = {
  0x11: { bytes: 4, read: (block) => block.join('.') },
  0x21: { bytes: 16, read: (block) => formatIpv6(block) },
}
const PORTS_BYTES = 4

function parseBinary(bytes: Buffer): ProxyHeader {
  const [version, command] = [(bytes[12] ?? 0) >> 4, (bytes[12] ?? 0) & 0xf]
  if (version !== VERSION_2 || command > PROXY) return invalid('version 2: version or command is not known')
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14)
  if (length > V2_MAX_BYTES) return invalid('version 2: it is too long')
  if (bytes.length < length) return INCOMPLETE
  const addresses = V2_ADDRESSES[bytes[13] ?? 0]
  // a family that is not IP, such as a local socket, names no address that could be used
  if (command === LOCAL || addresses === undefined) return { kind: 'header', peer: null, length }
  const block = bytes.subarray(V2_FIXED_BYTES, length)
  if (block.length < 2 * addresses.bytes + PORTS_BYTES) return invalid('version 2: the addresses are missing')
  const address = addresses.read(block.subarray(0, addresses.bytes))
  return { kind: 'header', peer: { address, port: block.readUInt16BE(2 * addresses.bytes) }, length }
}

function formatIpv6(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':')
}
