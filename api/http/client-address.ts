/**
 * Whose address a request comes from. X-Forwarded-For is what anybody may have written: only what our own proxies added to it is believed,
 * and they add at the right. TRUST_PROXY says how many proxies stand in front, or in which networks they are; without it nothing of the
 * header is read. What is not an address ends the walk: the last one that was believed stands.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ProxyTrust } from '#config/settings/readers.ts'

/** Never throws; '' for a connection that is gone already. */
export function clientAddress(req: IncomingMessage, trust: ProxyTrust): string {
  const peer = readAddress(req.socket.remoteAddress ?? '') ?? ''
  const isTrusted = trustOf(trust)
  let believed = peer
  let hops = 0
  for (const text of forwardedFor(req)) {
    if (!isTrusted(believed, hops++)) break
    const address = readAddress(text)
    if (address === null) break
    believed = address
  }
  return believed
}

/** The nearest first. */
function forwardedFor(req: IncomingMessage): string[] {
  const header = req.headers['x-forwarded-for']
  return header === undefined ? [] : String(header).split(',').toReversed()
}

/** May the word of this address be taken, which is the `hops`th before us? */
function trustOf(trust: ProxyTrust): (address: string, hops: number) => boolean {
  if (typeof trust === 'number') return (_, hops) => hops < trust
  return (address) => {
    if (address === '') return false
    const ip = ipaddr.parse(address)
    return trust.some((network) => ip.kind() === network[0].kind() && ip.match(network))
  }
}

/** As proxies write it: bare, with a port, in brackets. An IPv4 address inside an IPv6 one (RFC 4291 2.5.5.2) is told as IPv4. */
function readAddress(text: string): string | null {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
    .replace(/%.*$/, '')
  return isIP(bare) === 0 ? null : ipaddr.process(bare).toString()
}
