/**
 * The networks that a key may be used from, in CIDR notation. A key without networks may be used from everywhere. The
 * text comes from customers: only the plain notations of RFC 4632 and RFC 4291 are accepted, because other programs
 * read forms such as `010.0.0.1` or `0x7f.1` as another address.
 */
import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isInNetwork } from '#src/net/address-policy.ts'

export type KeyNetwork = Parameters<typeof isInNetwork>[1]

export const MAX_NETWORKS = 50

export type ParsedNetwork =
  | { readonly ok: true; readonly network: KeyNetwork; readonly text: string }
  | { readonly ok: false; readonly reason: string }

const NOT_A_NETWORK = 'is no network such as 192.0.2.0/24 or 2001:db8::/32'

/** An address stands for itself. Returns the canonical text: without host bits, IPv6 in its shortest form. */
export function parseNetwork(text: string): ParsedNetwork {
  const [address = '', bits, ...rest] = text.trim().split('/')
  const isV4 = isIPv4(address)
  const isV6 = isIPv6(address) && !address.includes('%')
  if ((!isV4 && !isV6) || rest.length > 0) return { ok: false, reason: NOT_A_NETWORK }
  const max = isV4 ? 32 : 128
  if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > max))
    return { ok: false, reason: `has a prefix length that is not 1 to ${max}` }
  const length = bits === undefined ? max : Number(bits)
  if (length === 0) return { ok: false, reason: 'is the whole internet: leave the list empty instead' }
  const ip = ipaddr.parse(address)
  if (ip.kind() === 'ipv6' && 'isIPv4MappedAddress' in ip && ip.isIPv4MappedAddress())
    return { ok: false, reason: 'is an IPv4 network in the form of IPv6: write it as IPv4' }
  const cidr = `${address}/${length}`
  const first = isV4 ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
  return { ok: true, network: [first, length], text: `${first.toString()}/${length}` }
}

/** Reads stored networks. One that cannot be read matches no address, so that a damaged list opens nothing. */
export function readNetworks(texts: readonly string[]): readonly KeyNetwork[] {
  return texts.map((text) => {
    const parsed = parseNetwork(text)
    return parsed.ok ? parsed.network : NOWHERE
  })
}

/** RFC 6666: the discard prefix, from which no packet comes. */
const NOWHERE: KeyNetwork = [ipaddr.parse('100::'), 128]

/** An IPv4 address of an IPv6 socket (`::ffff:192.0.2.1`) counts as IPv4. */
export function isAllowedFrom(networks: readonly KeyNetwork[], address: string): boolean {
  return networks.length === 0 || networks.some((network) => isInNetwork(address, network))
}
