/**
 * The client's IP address. Anyone can send X-Forwarded-For, so only the entries that trusted proxies appended (on the
 * right) count. TRUST_PROXY is the number of proxies or their networks; without it the header is ignored. An entry that
 * is not an IP address ends the search, and the last trusted address is the result.
 */
import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ProxyTrust } from '#config/settings/readers.ts'

/** Never throws. Returns '' if the connection is closed already. */
export function clientAddress(req: IncomingMessage, trust: ProxyTrust): string {
  const peer = parseAddress(req.socket.remoteAddress ?? '') ?? ''
  const isTrusted = createTrustCheck(trust)
  let trusted = peer
  let hops = 0
  for (const text of listForwardedFor(req)) {
    if (!isTrusted(trusted, hops++)) break
    const address = parseAddress(text)
    if (address === null) break
    trusted = address
  }
  return trusted
}

/** The entries of X-Forwarded-For, the nearest proxy first. */
function listForwardedFor(req: IncomingMessage): string[] {
  const header = req.headers['x-forwarded-for']
  return header === undefined ? [] : String(header).split(',').toReversed()
}

/** Whether the proxy at this address, `hops` before this server, is trusted. */
function createTrustCheck(trust: ProxyTrust): (address: string, hops: number) => boolean {
  if (typeof trust === 'number') return (_, hops) => hops < trust
  return (address) => {
    if (address === '') return false
    const ip = ipaddr.parse(address)
    return trust.some((network) => ip.kind() === network[0].kind() && ip.match(network))
  }
}

const MAPPED = '::ffff:'

/**
 * Accepts an address alone, with a port, or in brackets. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) becomes IPv4.
 */
function parseAddress(text: string): string | null {
  // most peers are one of these two, and every request has one
  if (isIPv4(text)) return text
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) return text.slice(MAPPED.length)
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
    .replace(/%.*$/, '')
  return isIP(bare) === 0 ? null : ipaddr.process(bare).toString()
}
