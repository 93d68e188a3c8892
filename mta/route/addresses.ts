/**
 * The addresses of one host in the order to try them: both families alternate, IPv6 first only where this machine has
 * a global IPv6 address. Addresses that must not be reached (src/net/address-policy.ts) are left out. A failed lookup
 * of one family matters only when the other family has no usable address. A host of the transport map may have any
 * address, and is also found in the system's hosts file.
 */
import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Config } from '#config/load.ts'
import { cidrs, type Network } from '#config/settings/readers.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { DnsAnswer } from '#src/net/dns-answer.ts'
import { isReachable } from '#src/net/address-policy.ts'
import type { Resolver } from './resolve.ts'
import type { Host } from './route.ts'

export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

export type Addresses =
  | { readonly kind: 'addresses'; readonly addresses: readonly HostAddress[] }
  /** The host has no address, or none that may be reached: positive evidence, so the next host is tried. */
  | { readonly kind: 'nothing' | 'blocked'; readonly status: '5.4.4'; readonly text: string }
  /** DNS did not answer: try again later. */
  | { readonly kind: 'unknown'; readonly reason: 'dns'; readonly text: string }

/** Addresses tried of one host: more would use up the time of an attempt. */
const MAX_ADDRESSES = 8

const LOOPBACK = cidrs('127.0.0.0/8,::1')

export type AddressLookup = (host: Pick<Host, 'name' | 'isMapped'>) => Promise<Addresses>

interface AddressLookupParts {
  readonly config: Pick<Config, 'allowPrivateTargets' | 'isSandbox'>
  readonly clock: Clock
  readonly resolver: Pick<Resolver, 'ipv4' | 'ipv6' | 'system'>
}

export function createAddressLookup({ config, clock, resolver }: AddressLookupParts): AddressLookup {
  const allowed = config.isSandbox ? [...config.allowPrivateTargets, ...LOOPBACK] : config.allowPrivateTargets
  const isIpv6First = watchIpv6(clock)

  async function lookUp(host: string, permitted: readonly Network[] | 'all'): Promise<Addresses> {
    const [ipv6, ipv4] = await Promise.all([resolver.ipv6(host), resolver.ipv4(host)])
    return selectAddresses({ host, ipv6, ipv4 }, isIpv6First(), permitted)
  }

  async function lookUpMapped(host: string): Promise<Addresses> {
    const found = await lookUp(host, 'all')
    if (found.kind === 'addresses') return found
    const local = selectAddresses({ host, ...splitFamilies(await resolver.system(host)) }, isIpv6First(), 'all')
    return local.kind === 'addresses' ? local : found
  }

  return async ({ name, isMapped }) =>
    isMapped ? (literalAddress(name) ?? (await lookUpMapped(name))) : await lookUp(name, allowed)
}

interface HostLookups {
  readonly host: string
  readonly ipv6: DnsAnswer<string>
  readonly ipv4: DnsAnswer<string>
}

/** Combines the lookups of both families. 'all' permits every address. */
export function selectAddresses(
  { host, ipv6, ipv4 }: HostLookups,
  isIpv6First: boolean,
  allowed: readonly Network[] | 'all',
): Addresses {
  const ordered = interleaveFamilies(recordsOf(ipv6), recordsOf(ipv4), isIpv6First)
  const failed = [ipv6, ipv4].find((lookup) => lookup.kind === 'failed')
  const reachable = allowed === 'all' ? ordered : ordered.filter((address) => isReachable(address, allowed))
  if (reachable.length > 0)
    return {
      kind: 'addresses',
      addresses: reachable.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
    }
  if (failed !== undefined)
    return { kind: 'unknown', reason: 'dns', text: `DNS lookup of the address of ${host} failed: ${failed.text}` }
  if (ordered.length === 0) return { kind: 'nothing', status: '5.4.4', text: `${host} has no public address` }
  return { kind: 'blocked', status: '5.4.4', text: `${host} has no public address` }
}

/** The result for an IP address in place of a host name (transport map); null for a name. */
export function literalAddress(host: string): Addresses | null {
  const family = isIP(host)
  return family === 4 || family === 6 ? { kind: 'addresses', addresses: [{ address: host, family }] } : null
}

/** Splits the system's answer for a name into the lookups of both families. */
export function splitFamilies(lookup: DnsAnswer<string>): { ipv6: DnsAnswer<string>; ipv4: DnsAnswer<string> } {
  if (lookup.kind !== 'found') return { ipv6: lookup, ipv4: lookup }
  const of = (wanted: boolean): DnsAnswer<string> => ({
    kind: 'found',
    records: lookup.records.filter((address) => isIPv6(address) === wanted),
  })
  return { ipv6: of(true), ipv4: of(false) }
}

const IPV6_CHECK_MS = 30_000

type Interfaces = Readonly<Record<string, readonly { readonly family: string; readonly address: string }[] | undefined>>

/** Whether this machine has a global IPv6 address, checked every half minute. */
export function watchIpv6(clock: Clock, interfaces: () => Interfaces = networkInterfaces): () => boolean {
  let checkedAt = -Infinity
  let hasIpv6 = false
  return () => {
    if (clock.now() - checkedAt >= IPV6_CHECK_MS) {
      checkedAt = clock.now()
      hasIpv6 = Object.values(interfaces())
        .flat()
        .some((one) => one?.family === 'IPv6' && isReachable(one.address, []))
    }
    return hasIpv6
  }
}

function recordsOf(lookup: DnsAnswer<string>): readonly string[] {
  return lookup.kind === 'found' ? lookup.records : []
}

/** Alternates the families where IPv6 works, so that both are tried; otherwise IPv4 comes first. */
function interleaveFamilies(ipv6: readonly string[], ipv4: readonly string[], isIpv6First: boolean): string[] {
  if (!isIpv6First) return [...ipv4, ...ipv6]
  return Array.from({ length: Math.max(ipv6.length, ipv4.length) }, (_, i) => [ipv6[i], ipv4[i]])
    .flat()
    .filter((address) => address !== undefined)
}
