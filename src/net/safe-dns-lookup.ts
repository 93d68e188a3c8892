/**
 * Names to addresses for connections that we make on somebody else's word. What is handed on has passed `isReachable`, so the address that
 * is checked is the address that is connected to: a DNS answer that changes between two questions (rebinding) gains nothing. Asks
 * DNS_SERVERS where given, else the system. A burst of connections to one name asks once; an answer, also a bad one, is used for a second.
 */
import { lookup, Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '#config/settings/readers.ts'
import { isReachable } from './address-policy.ts'

const KEEP_MS = 1000
const MAX_KEPT = 1000
// RFC 8305 section 3: how long the first answer waits for the other family
const RESOLUTION_DELAY_MS = 50
const SERVER_TIMEOUT = { timeout: 1500, tries: 3 }

/** All addresses of the name are private, loopback or reserved, and not allowed. */
class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
  readonly code = 'EFORBIDDEN'
}

export interface LookupSettings {
  readonly dnsServers: readonly string[] | null
  /** Its built-in DNS server sends all mail to itself; webhooks leave the sandbox. */
  readonly isSandbox: boolean
  readonly allowPrivateTargets: readonly Network[]
}

type Resolve = (name: string) => Promise<LookupAddress[]>

/** A `lookup` for net and tls connections that answers reachable addresses only. */
export function createLookup(config: LookupSettings): LookupFunction {
  const resolve = remembered(config.dnsServers === null || config.isSandbox ? askSystem : askServers(config.dnsServers))

  async function reachable(name: string, family: number): Promise<LookupAddress[]> {
    const all = await resolve(name)
    const open = all.filter(({ address }) => isReachable(address, config.allowPrivateTargets))
    const told = all.map(({ address }) => address).join(', ')
    if (open.length === 0) throw new ForbiddenAddress(`${name} has only private or reserved addresses (${told})`)
    const wanted = family === 0 ? open : open.filter((one) => one.family === family)
    return wanted.length > 0 ? wanted : open
  }

  async function answer(...[name, options, callback]: Parameters<LookupFunction>): Promise<void> {
    const found = await reachable(name, familyOf(options.family)).catch(asError)
    if (found instanceof Error) callback(found, '')
    else if (options.all === true) callback(null, found)
    else callback(null, found[0]?.address ?? '', found[0]?.family)
  }

  return (...question) => void answer(...question)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function familyOf(family: number | 'IPv4' | 'IPv6' | undefined): number {
  if (family === 'IPv4') return 4
  return family === 'IPv6' ? 6 : (family ?? 0)
}

function askSystem(name: string): Promise<LookupAddress[]> {
  return lookup(name, { all: true })
}

function askServers(servers: readonly string[]): Resolve {
  const resolver = new Resolver(SERVER_TIMEOUT)
  resolver.setServers(servers)
  return (name) =>
    firstAndLate([
      resolver.resolve4(name).then((found) => found.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((found) => found.map((address) => ({ address, family: 6 }))),
    ])
}

/** The first of two answers, and the other one too when it comes soon after. @throws the first error when both fail. */
async function firstAndLate(answers: [Promise<LookupAddress[]>, Promise<LookupAddress[]>]): Promise<LookupAddress[]> {
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

function remembered(resolve: Resolve): Resolve {
  const kept = new Map<string, { readonly until: number; readonly answer: Promise<LookupAddress[]> }>()
  return (name) => {
    const known = kept.get(name)
    if (known !== undefined && known.until > performance.now()) return known.answer
    // a question under way is always shared; the second begins when it is answered
    const entry = {
      until: Infinity,
      answer: resolve(name).finally(() => {
        entry.until = performance.now() + KEEP_MS
      }),
    }
    kept.set(name, entry)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value ?? '')
    return entry.answer
  }
}
