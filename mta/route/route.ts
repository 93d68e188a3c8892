/**
 * Routes a recipient domain: the hosts to try, in order, and the key of their site. The transport map comes first,
 * then DNS (RFC 5321 5.1); mail for the capture domain goes to the built-in receiver. Three results: hosts; refused,
 * on positive evidence only (a null MX, no such domain, no host); unknown while DNS does not answer, which is
 * temporary. The wait for DNS is bounded and nothing here throws.
 */
import { createHash } from 'node:crypto'
import type { MxRecord } from 'node:dns'
import { isIP } from 'node:net'
import type { Config } from '#config/load.ts'
import type { Log } from '#src/platform/log.ts'
import type { Resolver } from './resolve.ts'

export interface Host {
  readonly name: string
  readonly preference: number
  readonly port: number
  /** Named by the operator in the transport map: may have any address, also from the system's resolver. */
  readonly isMapped: boolean
}

export type RouteRefusal = 'null-mx' | 'no-such-domain' | 'no-host' | 'loop'

export type Route =
  | { readonly kind: 'hosts'; readonly site: string; readonly hosts: readonly Host[] }
  | {
      readonly kind: 'refused'
      readonly site: string
      readonly reason: RouteRefusal
      readonly status: string
      readonly text: string
    }
  | { readonly kind: 'unknown'; readonly site: string; readonly reason: 'dns'; readonly text: string }

export interface Router {
  /** `domain` in lower-case A-labels. */
  route(domain: string): Promise<Route>
}

export interface RouterOptions {
  readonly config: Pick<Config, 'captureDomain' | 'sandboxSmtpPort' | 'routes' | 'serverName' | 'smtpOutPort'>
  readonly resolver: Pick<Resolver, 'mx' | 'ipv4' | 'ipv6'>
  readonly log: Log
  readonly random?: () => number
}

/** RFC 3463, RFC 7505 4.1 */
const REFUSALS: Readonly<Record<RouteRefusal, { readonly status: string; readonly text: string }>> = {
  'null-mx': { status: '5.1.10', text: 'takes no mail (null MX)' },
  'no-such-domain': { status: '5.1.2', text: 'does not exist' },
  'no-host': { status: '5.4.4', text: 'has no host that takes mail' },
  loop: { status: '5.4.6', text: 'leads back to this server' },
}

const HASH_DIGITS = 16
/** A longer host name appears as its hash. */
const MAX_READABLE = 100

const LOCALHOST = '127.0.0.1'

export function createRouter({ config, resolver, log, random = Math.random }: RouterOptions): Router {
  async function route(domain: string): Promise<Route> {
    const mapped = mappedTo(domain)
    if (mapped !== undefined) {
      return {
        kind: 'hosts',
        site: siteOfRoute(mapped.host, mapped.port),
        hosts: [{ name: mapped.host, preference: 0, port: mapped.port, isMapped: true }],
      }
    }
    const mx = await resolver.mx(domain)
    if (mx.kind === 'failed') return unknown(domain, `MX of ${domain}: ${mx.text}`)
    if (mx.kind === 'nothing') return routeToItself(domain, mx.isName)
    return fromMx(domain, selectMxHosts(mx.records, config.serverName, random))
  }

  function mappedTo(domain: string): { readonly host: string; readonly port: number } | undefined {
    // captured mail stays on this machine, whatever the map says
    if (domain === config.captureDomain) return { host: LOCALHOST, port: config.sandboxSmtpPort }
    return config.routes.find((rule) => rule.domain === domain) ?? config.routes.find((rule) => rule.domain === '*')
  }

  function fromMx(domain: string, selection: MxSelection): Route {
    if (selection.kind === 'hosts') {
      return {
        kind: 'hosts',
        site: siteOfHosts(selection.names),
        hosts: selection.hosts.map((host) => ({ ...host, port: config.smtpOutPort, isMapped: false })),
      }
    }
    if (selection.kind === 'unusable') log.debug({ domain, skipped: selection.skipped }, 'no MX record names a host')
    return selection.kind === 'unusable'
      ? refused(domain, 'no-host', selection.skipped.join(', '))
      : refused(domain, selection.kind)
  }

  /**
   * The implicit MX: no MX records, but an address (RFC 5321 5.1). Also queried where DNS denied the name itself:
   * some servers deny a name that only lacks MX records, and a permanent refusal needs more than one witness.
   */
  async function routeToItself(domain: string, isName: boolean): Promise<Route> {
    const [ipv6, ipv4] = await Promise.all([resolver.ipv6(domain), resolver.ipv4(domain)])
    if (ipv6.kind === 'found' || ipv4.kind === 'found') {
      if (domain === config.serverName) return refused(domain, 'loop')
      return {
        kind: 'hosts',
        site: siteOfHosts([domain]),
        hosts: [{ name: domain, preference: 0, port: config.smtpOutPort, isMapped: false }],
      }
    }
    const failed = [ipv6, ipv4].find((lookup) => lookup.kind === 'failed')
    if (failed !== undefined) return unknown(domain, `address of ${domain}: ${failed.text}`)
    const isDenied = !isName && ![ipv6, ipv4].some((lookup) => lookup.kind === 'nothing' && lookup.isName)
    return refused(domain, isDenied ? 'no-such-domain' : 'no-host')
  }

  return { route }
}

function refused(domain: string, reason: RouteRefusal, detail?: string): Route {
  const { status, text } = REFUSALS[reason]
  return {
    kind: 'refused',
    site: siteOfNone(domain),
    reason,
    status,
    text: `${domain} ${text}${detail === undefined ? '' : `: ${detail}`}`,
  }
}

function unknown(domain: string, text: string): Route {
  return { kind: 'unknown', site: siteOfNone(domain), reason: 'dns', text }
}

interface MxHost {
  readonly name: string
  readonly preference: number
}

export type MxSelection =
  | {
      readonly kind: 'hosts'
      readonly hosts: readonly MxHost[]
      /** All usable names, for the site. */ readonly names: readonly string[]
    }
  | { readonly kind: 'null-mx' }
  | { readonly kind: 'loop' }
  | { readonly kind: 'unusable'; readonly skipped: readonly string[] }

const MAX_HOSTS = 20
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const LOCAL_NAME = /(^|\.)(localhost|localdomain)$/

/**
 * From a domain's MX records to the hosts to try, in order, by RFC 5321 5.1, RFC 7505 and practice. `self` is our own
 * host name; `random` returns numbers from 0 to below 1.
 *
 *   only the null MX                    the domain accepts no mail: refused permanently (5.1.10)
 *   null MX among others                ignored (RFC 7505 3)
 *   an IP address, localhost, no name   skipped: an MX names a host
 *   our own name                        it and all hosts not preferred to it are dropped; none left: a loop (5.4.6)
 *   the same preference                 in random order (a must of RFC 5321 5.1)
 *   more than 20 hosts                  the best 20
 */
export function selectMxHosts(records: readonly MxRecord[], self: string, random: () => number): MxSelection {
  const named = records
    .map(({ exchange, priority }) => ({ name: exchange.toLowerCase().replace(/\.$/, ''), preference: priority }))
    .filter(({ name }) => name !== '')
  if (named.length === 0) return { kind: 'null-mx' }
  const usable = named.filter(({ name }) => flawOf(name) === null)
  if (usable.length === 0)
    return {
      kind: 'unusable',
      skipped: named.map(({ name }) => `${JSON.stringify(name)} ${flawOf(name)}`).slice(0, MAX_HOSTS),
    }
  const own = usable.filter(({ name }) => name === self.toLowerCase()).map(({ preference }) => preference)
  const preferred = usable.filter(({ preference }) => preference < Math.min(...own))
  if (preferred.length === 0) return { kind: 'loop' }
  const hosts = withoutDuplicates(shuffle(preferred, random).toSorted((a, b) => a.preference - b.preference))
  return { kind: 'hosts', hosts: hosts.slice(0, MAX_HOSTS), names: hosts.map(({ name }) => name) }
}

/** Why a name in an MX record cannot be used, or null. */
function flawOf(name: string): string | null {
  if (isIP(name) !== 0) return 'is an IP address, not a name'
  if (LOCAL_NAME.test(name)) return 'is the local machine'
  return HOST_NAME.test(name) ? null : 'is not a host name'
}

function withoutDuplicates(hosts: readonly MxHost[]): MxHost[] {
  const seen = new Set<string>()
  return hosts.filter(({ name }) => !seen.has(name) && seen.add(name))
}

/** Fisher and Yates; a sort that follows keeps the order among equals. */
function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const shuffled = [...items]
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [a, b] = [shuffled[i] as T, shuffled[j] as T]
    shuffled[i] = b
    shuffled[j] = a
  }
  return shuffled
}

/**
 * The key of a site: one name for all domains with the same set of hosts, so that one throttle and one pool of
 * connections apply to them. Short, stable, the same in every process, and readable where possible. It has no space,
 * control character or upper case. One host: its name. Several: the common suffix of their names, and a hash of the
 * sorted set.
 */
export function siteOfHosts(names: readonly string[]): string {
  const sorted = [...new Set(names.map((name) => name.toLowerCase()))].toSorted()
  const [only] = sorted
  if (sorted.length === 1 && only !== undefined && only.length <= MAX_READABLE) return only
  const hash = createHash('sha256').update(sorted.join(',')).digest('hex').slice(0, HASH_DIGITS)
  return `${sharedSuffix(sorted)}~${hash}`
}

/** A host of the transport map: separate from MX hosts, because the operator set its port. */
export function siteOfRoute(host: string, port: number): string {
  return `route:${host.toLowerCase()}:${port}`
}

/** A domain without hosts, permanently or for now: its mail waits and fails separately. */
export function siteOfNone(domain: string): string {
  return `none:${domain.toLowerCase()}`
}

/** The labels that all names end with, or "mx" where that is only a top-level domain. */
function sharedSuffix(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split('.').toReversed())
  const differing = first.findIndex((label, i) => others.some((labels) => labels[i] !== label))
  const shared = differing < 0 ? first : first.slice(0, differing)
  const text = shared.toReversed().join('.')
  return shared.length < 2 || text.length > MAX_READABLE ? 'mx' : text
}
