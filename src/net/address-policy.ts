/**
 * Decides which network addresses may be connected to when the name comes from a third party (an MX record, the host of
 * a webhook). By default only public unicast: a DNS record must not make the server connect to itself or to its private
 * network. An address with an embedded IPv4 address (mapped, 6to4, NAT64) follows the rule for that address. Text that
 * is not an address is not reachable.
 *
 * `createSafeLookup` applies the rule in the DNS lookup of a connection, so the address that is checked is the address
 * that is connected to, and DNS rebinding has no effect. It queries DNS_SERVERS if set, otherwise the system resolver.
 * A name that does not exist and a name with private addresses only fail with the same error.
 * Results, also failures, are cached for one second, so that a burst of connections to one name causes one query.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, isIPv4, type LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Network } from '#config/settings/readers.ts'
import { openResolver } from './dns-resolver.ts'

type Ip = IPv4 | IPv6

/** RFC 4291 2.4: all assigned global unicast addresses. Addresses outside are reserved, even if a table omits them. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/** The offset of the embedded IPv4 address. RFC 4291 2.5.5.2, RFC 3056 2, RFC 6052 2.1 */
const EMBEDDED_IPV4_FORMS: readonly { readonly network: Network; readonly at: number }[] = [
  { network: ipaddr.parseCIDR('::ffff:0:0/96'), at: 12 },
  { network: ipaddr.parseCIDR('2002::/16'), at: 2 },
  { network: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
]

/**
 * True for public unicast addresses and for addresses in an allowed network. Private, loopback, link-local,
 * carrier-grade NAT, documentation, multicast, reserved, unspecified, broadcast and Teredo addresses must be allowed.
 */
export function isReachable(address: string, allowed: readonly Network[]): boolean {
  if (isIP(address) === 0) return false
  const ip = ipaddr.parse(address)
  if (allowed.some((network) => isInside(ip, network))) return true
  const embedded = embeddedIpv4Of(ip)
  if (embedded !== null) return isReachable(embedded, allowed)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || isInside(ip, GLOBAL_UNICAST))
}

/** The IPv4 address embedded in an IPv6 address, or null. */
function embeddedIpv4Of(ip: Ip): string | null {
  const form = EMBEDDED_IPV4_FORMS.find(({ network }) => isInside(ip, network))
  return form === undefined
    ? null
    : ip
        .toByteArray()
        .slice(form.at, form.at + 4)
        .join('.')
}

/** Whether the address of a peer is in a network. An IPv4-mapped address of an IPv6 socket counts as IPv4. */
export function isInNetwork(address: string, network: Network): boolean {
  return ipaddr.isValid(address) && isInside(ipaddr.process(address), network)
}

/** Whether a peer is this machine. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return address.startsWith('127.')
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** The /64 that one customer of a provider has at least (RFC 6177). */
const IPV6_BYTES = 8

/** The network to count an address under: an IPv4 address itself, the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, IPV6_BYTES).join('.')
}

function isInside(ip: Ip, [network, bits]: Network): boolean {
  return ip.kind() === network.kind() && ip.match(network, bits)
}

const CACHE_MS = 1000
const MAX_CACHED = 1000
// RFC 8305 section 3: how long the first response waits for the other address family
const RESOLUTION_DELAY_MS = 50
const SERVER_TIMEOUT = { timeout: 1500, tries: 3 }

/**
 * The name does not exist, has no address, or none that may be connected to. One error for all three: customers read
 * it, and names of the operator's private network must look like names that do not exist.
 */
class NoPublicAddress extends Error {
  override readonly name = 'NoPublicAddress'
  readonly code = 'ENOTFOUND'
  constructor(host: string) {
    super(`${host} has no public address`)
  }
}

const ABSENT = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NODATA', 'EAI_NONAME'])

/** @throws NoPublicAddress in place of an error that says that the name or its addresses do not exist. */
function hideAbsence(host: string, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  throw ABSENT.has(code) ? new NoPublicAddress(host) : error
}

export interface LookupSettings {
  readonly dnsServers: readonly string[] | null
  /** The DNS server of the sandbox routes all mail to the sandbox itself; webhooks must leave it. */
  readonly isSandbox: boolean
  readonly allowPrivateTargets: readonly Network[]
}

type Resolve = (name: string) => Promise<LookupAddress[]>

/** A `lookup` function for net and tls connections that returns only reachable addresses. */
export function createSafeLookup(config: LookupSettings): LookupFunction {
  const resolve = cacheBriefly(
    config.dnsServers === null || config.isSandbox ? resolveWithSystem : resolveWithServers(config.dnsServers),
  )

  async function resolveReachable(name: string, family: number): Promise<LookupAddress[]> {
    const all = await resolve(name).catch((error: unknown) => hideAbsence(name, error))
    const reachable = all.filter(({ address }) => isReachable(address, config.allowPrivateTargets))
    if (reachable.length === 0) throw new NoPublicAddress(name)
    const ofFamily = family === 0 ? reachable : reachable.filter((one) => one.family === family)
    return ofFamily.length > 0 ? ofFamily : reachable
  }

  async function lookUp(...[name, options, callback]: Parameters<LookupFunction>): Promise<void> {
    const found = await resolveReachable(name, familyOf(options.family)).catch(asError)
    if (found instanceof Error) callback(found, '')
    else if (options.all === true) callback(null, found)
    else callback(null, found[0]?.address ?? '', found[0]?.family)
  }

  return (...question) => void lookUp(...question)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function familyOf(family: number | 'IPv4' | 'IPv6' | undefined): number {
  if (family === 'IPv4') return 4
  return family === 'IPv6' ? 6 : (family ?? 0)
}

function resolveWithSystem(name: string): Promise<LookupAddress[]> {
  return lookup(name, { all: true })
}

function resolveWithServers(servers: readonly string[]): Resolve {
  return (name) => {
    const resolver = openResolver({ servers, ...SERVER_TIMEOUT })
    return mergeFamilies([
      resolver.resolve4(name).then((found) => found.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((found) => found.map((address) => ({ address, family: 6 }))),
    ])
  }
}

/** The first of two responses, with the other if it arrives soon after. @throws the first error when both fail. */
async function mergeFamilies(answers: [Promise<LookupAddress[]>, Promise<LookupAddress[]>]): Promise<LookupAddress[]> {
  const found: LookupAddress[] = []
  const [one, two] = answers.map(async (answer) => {
    found.push(...(await answer))
  }) as [Promise<void>, Promise<void>]
  const both = Promise.allSettled([one, two])
  await Promise.any([one, two]).catch((error: unknown) => {
    throw error instanceof AggregateError ? error.errors[0] : error
  })
  await Promise.race([both, sleep(RESOLUTION_DELAY_MS)])
  return found
}

function cacheBriefly(resolve: Resolve): Resolve {
  const cache = new Map<string, { readonly until: number; readonly answer: Promise<LookupAddress[]> }>()
  return (name) => {
    const known = cache.get(name)
    if (known !== undefined && known.until > performance.now()) return known.answer
    // a running query is always shared; the second of caching starts with its response
    const entry = {
      until: Infinity,
      answer: resolve(name).finally(() => {
        entry.until = performance.now() + CACHE_MS
      }),
    }
    cache.set(name, entry)
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value ?? '')
    return entry.answer
  }
}
