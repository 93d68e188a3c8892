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
import { type CodedText } from '#src/platform/coded-text.ts'
import {
  type CheckFinding,
  createFinding,
  type FindingText,
  joinSaid,
  type Said,
  sayAbout,
} from '#src/platform/finding-text.ts'
import { probePort, type Reachability } from './port-probe.ts'
import { sourceCheckText as text } from './source-check-texts.ts'
import type { EgressSource } from './sources.ts'
import { arpaName, reversedName, sameAddress } from './ip-address.ts'

export type SourceFinding = CheckFinding<'ok' | 'warning' | 'failed' | 'skipped'>

export type CheckedSource = Pick<EgressSource, 'name' | 'address' | 'ehloName'>

export interface CheckDeps {
  readonly dns: DomainDns
  readonly config: CheckSettings
}

export type CheckSettings = Pick<
  Config,
  'dnsServers' | 'isSandbox' | 'smtpOutPort' | 'egressCheckTarget' | 'blocklists' | 'routes'
>

const ok = (detail: Said): SourceFinding => createFinding('ok', detail)
const warning = (detail: Said, todo: Said): SourceFinding => createFinding('warning', detail, todo)
const failed = (detail: Said, todo: Said): SourceFinding => createFinding('failed', detail, todo)
const skipped = (detail: Said): SourceFinding => createFinding('skipped', detail)

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
  return deps.config.isSandbox ? skipped(text('sandbox')) : CHECKS[name](deps, source)
}

async function checkPtr({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.text)
  if (found.records.length > 0) return ok(text('ptr', { address, names: found.records.join(', ') }))
  return failed(text('ptr_missing', { address }), text('ptr_todo', { name: ehloName }))
}

/** RFC 1912 2.1: the name of the address must resolve to the address. */
async function checkForwardConfirmed({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.text)
  if (found.records.length === 0) return skipped(text('without_ptr'))
  const answers = await Promise.all(found.records.map((name) => dns.ofFamily(name, familyOf(address))))
  const name = found.records.join(', ')
  if (answers.some((answer) => hasAddress(answer, address))) return ok(text('resolves', { name, address }))
  const unanswered = answers.find((answer) => answer.kind === 'failed')
  if (unanswered?.kind === 'failed') return skipped(unanswered.text)
  const first = found.records[0] ?? ''
  const todo = text('forward_todo', { type: recordOf(address), name: first, address, ehlo: ehloName })
  return failed(text('forward_wrong', { name, address }), todo)
}

/** RFC 5321 4.1.1.1: the EHLO name should resolve to the address; receivers check it. */
async function checkEhlo({ dns }: CheckDeps, { address, ehloName }: CheckedSource): Promise<SourceFinding> {
  const found = await dns.ofFamily(ehloName, familyOf(address))
  if (found.kind === 'failed') return skipped(found.text)
  if (hasAddress(found, address)) return ok(text('resolves', { name: ehloName, address }))
  const type = recordOf(address)
  const problem =
    found.records.length === 0
      ? text('ehlo_missing', { name: ehloName, type })
      : text('ehlo_wrong', { name: ehloName, found: found.records.join(', '), address })
  return failed(problem, text('ehlo_todo', { type, name: ehloName, address }))
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

interface Probe {
  readonly address: string
  readonly port: number
  readonly target: string
}

const PORT_FINDINGS: Readonly<Record<Reachability, (probe: Probe) => SourceFinding>> = {
  yes: ({ port, target }) => ok(text('port_open', { port, target })),
  'not-here': ({ address }) => skipped(text('not_here', { address })),
  no: (probe) => failed(text('port_closed', { ...probe }), text('port_todo')),
}

async function checkPort(deps: CheckDeps, { address }: CheckedSource): Promise<SourceFinding> {
  const {
    config: { routes, egressCheckTarget, smtpOutPort },
  } = deps
  if (egressCheckTarget.toLowerCase() === 'none') return skipped(text('no_target'))
  if (routes.some(({ domain }) => domain === '*')) return skipped(text('relayed'))
  const target = await findPortTarget(deps, familyOf(address))
  if (target === null) return skipped(text('no_mail_server', { target: egressCheckTarget, type: recordOf(address) }))
  return PORT_FINDINGS[await probePort(address, target, smtpOutPort)]({ address, port: smtpOutPort, target })
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

async function checkBlocklists(
  { dns, config: { blocklists } }: CheckDeps,
  { address }: CheckedSource,
): Promise<SourceFinding> {
  const queried = blocklists.map(blocklistOf).filter(({ families }) => families.includes(familyOf(address)))
  if (queried.length === 0) return skipped(text('no_blocklist'))
  const results = await Promise.all(
    queried.map(async (list) => readBlocklistAnswer(list, await dns.ofFamily(reversedName(address, list.zone), 4))),
  )
  const listings = results.filter(({ kind }) => kind === 'listed')
  const unknown = results.filter(({ kind }) => kind === 'unknown').map(({ what }) => what)
  if (listings.length > 0) {
    const pages = listings.map(({ page }) => page).join(', ')
    return failed(joinSaid(listings.map(({ what }) => what)), text('listed_todo', { pages }))
  }
  const clean = results.length - unknown.length
  if (clean === 0) return skipped(joinSaid(unknown))
  const detail = text('not_listed', { count: clean })
  if (unknown.length === 0) return ok(detail)
  return warning(joinSaid([detail, ...unknown]), text('resolver_todo'))
}

interface BlocklistResult {
  readonly kind: 'listed' | 'clean' | 'unknown'
  readonly what: CodedText | FindingText | ''
  readonly page: string
}

/**
 * RFC 5782 2.1. 127.255.255.x means that the list refuses the resolver. An answer outside 127.0.0.0/8 does not come
 * from the list, but from a server that answers every name.
 */
export function readBlocklistAnswer({ zone, meanings, page }: Blocklist, answer: AddressResult): BlocklistResult {
  if (answer.kind === 'failed') return { kind: 'unknown', what: sayAbout(zone, answer.text), page }
  const listed = answer.records.filter((one) => one.startsWith('127.') && !one.startsWith('127.255.255.'))
  if (listed.length > 0) {
    const reasons = listed.map((one) => meanings.find(([pattern]) => pattern.test(one))?.[1] ?? one)
    return { kind: 'listed', what: text('listed', { zone, reasons: [...new Set(reasons)].join(', ') }), page }
  }
  if (answer.records.length === 0) return { kind: 'clean', what: '', page }
  return { kind: 'unknown', what: text('blocklist_silent', { zone, answer: answer.records.join(', ') }), page }
}
