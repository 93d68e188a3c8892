/**
 * DNS lookup for connections to hosts that a third party names. It returns only addresses that pass `isReachable`, so
 * the address that is checked is the address that is connected to, and DNS rebinding has no effect. It queries
 * DNS_SERVERS if set, otherwise the system resolver. Results, also failures, are cached for one second, so that a burst
 * of connections to one name causes one query.
 */
import { lookup, Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '#config/settings/readers.ts'
import { isReachable } from './address-policy.ts'

const CACHE_MS = 1000
const MAX_CACHED = 1000
// RFC 8305 section 3: how long the first response waits for the other address family
const RESOLUTION_DELAY_MS = 50
const SERVER_TIMEOUT = { timeout: 1500, tries: 3 }

/** All addresses of the name are private, loopback or reserved, and none is allowed. */
class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
  readonly code = 'EFORBIDDEN'
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
    const all = await resolve(name)
    const reachable = all.filter(({ address }) => isReachable(address, config.allowPrivateTargets))
    const addresses = all.map(({ address }) => address).join(', ')
    if (reachable.length === 0)
      throw new ForbiddenAddress(`${name} has only private or reserved addresses (${addresses})`)
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
  const resolver = new Resolver(SERVER_TIMEOUT)
  resolver.setServers(servers)
  return (name) =>
    mergeFamilies([
      resolver.resolve4(name).then((found) => found.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((found) => found.map((address) => ({ address, family: 6 }))),
    ])
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
