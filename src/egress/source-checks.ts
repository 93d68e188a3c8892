/**
 * Checks what receivers check before they accept mail from a source: the address has a name (PTR), the name resolves
 * back to it, the EHLO name resolves to it, outgoing port 25 is open, and no blocklist lists it. Each check returns a
 * finding and, if something is wrong, one sentence that says what to do. A check that DNS or the network cannot answer
 * is `skipped`, never failed. In sandbox mode nothing is queried.
 */
import { isIP, isIPv6 } from 'node:net'
import { blocklistOf, type Blocklist } from '#config/settings/blocklists.ts'
import type { Config } from '#config/load.ts'
import { createDomainDns, type DomainDns } from '#src/domains/domain-dns.ts'
import { probePort, type Reachability } from './port-probe.ts'
import type { EgressSource } from './sources.ts'
import { arpaName, reversedName, sameAddress } from './ip-address.ts'

export interface SourceFinding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  /** What to do; empty if nothing is wrong. */
  readonly todo: string
}

export type CheckedSource = Pick<EgressSource, 'name' | 'address' | 'ehloName'>

export interface CheckDeps {
  readonly dns: DomainDns
  readonly config: CheckSettings
}

export type CheckSettings = Pick<
  Config,
  'dnsServers' | 'isSandbox' | 'smtpOutPort' | 'egressCheckTarget' | 'blocklists' | 'routes'
>

const ok = (detail: string): SourceFinding => ({ status: 'ok', detail, todo: '' })
const warning = (detail: string, todo: string): SourceFinding => ({ status: 'warning', detail, todo })
const failed = (detail: string, todo: string): SourceFinding => ({ status: 'failed', detail, todo })
const skipped = (detail: string): SourceFinding => ({ status: 'skipped', detail, todo: '' })

export const CHECKS = {
  PTR: checkPtr,
  FCrDNS: checkForwardConfirmed,
  'EHLO name': checkEhlo,
  'port 25': checkPort,
  blocklists: checkBlocklists,
} as const satisfies Record<string, (deps: CheckDeps, source: CheckedSource) => Promise<SourceFinding>>

export type CheckName = keyof typeof CHECKS
export const CHECK_NAMES = Object.keys(CHECKS) as readonly CheckName[]

export function createCheckDeps(config: CheckSettings): CheckDeps {
  return { config, dns: createDomainDns(config) }
}

export async function checkSource(deps: CheckDeps, name: CheckName, source: CheckedSource): Promise<SourceFinding> {
  return deps.config.isSandbox ? skipped('not checked in sandbox mode') : CHECKS[name](deps, source)
}

async function checkPtr({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (found.records.length > 0) return ok(`${address} has the name ${found.records.join(', ')}`)
  return failed(`${address} has no name (PTR)`, `ask the provider of the address to set its PTR record to ${ehloName}`)
}

/** RFC 1912 2.1: the name of the address must resolve to the address. */
async function checkForwardConfirmed({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (found.records.length === 0) return skipped('there is no PTR record')
  const answers = await Promise.all(found.records.map((name) => dns.ofFamily(name, familyOf(address))))
  if (answers.some((answer) => hasAddress(answer, address)))
    return ok(`${found.records.join(', ')} resolves to ${address}`)
  const unanswered = answers.find((answer) => answer.kind === 'failed')
  if (unanswered?.kind === 'failed') return skipped(unanswered.reason)
  const todo =
    `add an ${recordOf(address)} record for ${found.records[0]} with ${address}, ` +
    `or have the PTR record set to ${ehloName}`
  return failed(`${found.records.join(', ')} does not resolve to ${address}`, todo)
}

/** RFC 5321 4.1.1.1: the EHLO name should resolve to the address; receivers check it. */
async function checkEhlo({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ofFamily(ehloName, familyOf(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (hasAddress(found, address)) return ok(`${ehloName} resolves to ${address}`)
  const problem =
    found.records.length === 0
      ? `has no ${recordOf(address)} record`
      : `resolves to ${found.records.join(', ')}, not ${address}`
  return failed(`${ehloName} ${problem}`, `add an ${recordOf(address)} record for ${ehloName} with ${address}`)
}

type AddressResult = Awaited<ReturnType<DomainDns['ofFamily']>>

function hasAddress(result: AddressResult, address: string): boolean {
  return result.kind === 'answered' && result.records.some((one) => sameAddress(one, address))
}

function familyOf(address: string): 4 | 6 {
  return isIPv6(address) ? 6 : 4
}

function recordOf(address: string): 'A' | 'AAAA' {
  return isIPv6(address) ? 'AAAA' : 'A'
}

const PORT_BLOCKED_ADVICE = 'ask your provider to open outgoing port 25 for this address, or remove the source'

const PORT_FINDINGS: Readonly<Record<Reachability, (from: string, where: string) => SourceFinding>> = {
  yes: (_from, where) => ok(`${where} can be reached`),
  'not-here': (from) => skipped(`${from} is not on this machine`),
  no: (from, where) => failed(`${where} cannot be reached from ${from}`, PORT_BLOCKED_ADVICE),
}

async function checkPort(deps: CheckDeps, { address }: CheckedSource): Promise<SourceFinding> {
  const {
    config: { routes, egressCheckTarget, smtpOutPort },
  } = deps
  if (egressCheckTarget.toLowerCase() === 'none') return skipped('EGRESS_CHECK_TARGET is none')
  if (routes.some(({ domain }) => domain === '*')) return skipped('ROUTES sends all mail to another server')
  const target = await findPortTarget(deps, familyOf(address))
  if (target === null) return skipped(`no mail server of ${egressCheckTarget} has an ${recordOf(address)} record`)
  return PORT_FINDINGS[await probePort(address, target, smtpOutPort)](address, `port ${smtpOutPort} of ${target}`)
}

/**
 * An address of this family at the target: the target itself, its first MX with such an address, or the host of that
 * name.
 */
export async function findPortTarget(
  { dns, config: { egressCheckTarget: target } }: CheckDeps,
  family: 4 | 6,
): Promise<string | null> {
  if (isIP(target) !== 0) return isIP(target) === family ? target : null
  const mx = await dns.mx(target)
  const hosts =
    mx.kind === 'answered' ? mx.records.toSorted((a, b) => a.priority - b.priority).map(({ exchange }) => exchange) : []
  for (const host of [...hosts, target]) {
    const found = await dns.ofFamily(host, family)
    if (found.kind === 'answered' && found.records[0] !== undefined) return found.records[0]
  }
  return null
}

const RESOLVER_ADVICE =
  'set DNS_SERVERS to a resolver of your own that the list answers, or remove the list from BLOCKLISTS'

async function checkBlocklists(
  { dns, config: { blocklists } }: CheckDeps,
  { address }: CheckedSource,
): Promise<SourceFinding> {
  const queried = blocklists.map(blocklistOf).filter(({ families }) => families.includes(familyOf(address)))
  if (queried.length === 0) return skipped('BLOCKLISTS has no list for this address family')
  const results = await Promise.all(
    queried.map(async (list) => readBlocklistAnswer(list, await dns.ofFamily(reversedName(address, list.zone), 4))),
  )
  const listings = results.filter(({ kind }) => kind === 'listed')
  const unknown = results.filter(({ kind }) => kind === 'unknown').map(({ text }) => text)
  if (listings.length > 0) {
    const pages = listings.map(({ page }) => page).join(', ')
    return failed(listings.map(({ text }) => text).join('; '), `find and fix the cause, then request removal: ${pages}`)
  }
  const clean = results.length - unknown.length
  if (clean === 0) return skipped(unknown.join('; '))
  const detail = `listed on none of ${clean}`
  if (unknown.length === 0) return ok(detail)
  return warning(`${detail}; ${unknown.join('; ')}`, RESOLVER_ADVICE)
}

interface BlocklistResult {
  readonly kind: 'listed' | 'clean' | 'unknown'
  readonly text: string
  readonly page: string
}

/**
 * RFC 5782 2.1. 127.255.255.x means that the list refuses the resolver. An answer outside 127.0.0.0/8 does not come
 * from the list, but from a server that answers every name.
 */
export function readBlocklistAnswer({ zone, meanings, page }: Blocklist, answer: AddressResult): BlocklistResult {
  if (answer.kind === 'failed') return { kind: 'unknown', text: `${zone}: ${answer.reason}`, page }
  const listed = answer.records.filter((one) => one.startsWith('127.') && !one.startsWith('127.255.255.'))
  if (listed.length > 0) {
    const reasons = listed.map((one) => meanings.find(([pattern]) => pattern.test(one))?.[1] ?? one)
    return { kind: 'listed', text: `${zone} lists the address (${[...new Set(reasons)].join(', ')})`, page }
  }
  if (answer.records.length === 0) return { kind: 'clean', text: '', page }
  return { kind: 'unknown', text: `${zone} does not answer this resolver (${answer.records.join(', ')})`, page }
}
