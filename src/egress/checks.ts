/**
 * What receivers look at before they look at any mail: whether a source's address has a name, the name leads back, the name in EHLO is the
 * address's, port 25 is open outwards, and no blocklist has it. Each check answers a finding and, where something is wrong, one sentence
 * what to do. What DNS or the network does not tell is `skipped`, never an accusation. Nothing is asked in sandbox mode.
 */
import { isIP, isIPv6 } from 'node:net'
import { blocklistOf, type Blocklist } from '#config/settings/blocklists.ts'
import type { Config } from '#config/load.ts'
import { createDomainDns, type DomainDns } from '#src/domains/dns.ts'
import { connectFrom, type Reached } from './port-probe.ts'
import type { Source } from './sources.ts'
import { arpaName, reversedName, sameAddress } from './address.ts'

export interface Finding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  /** What to do; empty where all is well. */
  readonly todo: string
}

export type Checked = Pick<Source, 'name' | 'address' | 'ehloName'>

export interface CheckMeans {
  readonly dns: DomainDns
  readonly config: CheckSettings
}

export type CheckSettings = Pick<
  Config,
  'dnsServers' | 'isSandbox' | 'smtpOutPort' | 'egressCheckTarget' | 'blocklists' | 'routes'
>

const ok = (detail: string): Finding => ({ status: 'ok', detail, todo: '' })
const warning = (detail: string, todo: string): Finding => ({ status: 'warning', detail, todo })
const failed = (detail: string, todo: string): Finding => ({ status: 'failed', detail, todo })
const skipped = (detail: string): Finding => ({ status: 'skipped', detail, todo: '' })

export const CHECKS = {
  PTR: checkPtr,
  FCrDNS: checkReturn,
  'EHLO name': checkEhlo,
  'port 25': checkPort,
  blocklists: checkBlocklists,
} as const satisfies Record<string, (means: CheckMeans, source: Checked) => Promise<Finding>>

export type CheckName = keyof typeof CHECKS
export const CHECK_NAMES = Object.keys(CHECKS) as readonly CheckName[]

export function createCheckMeans(config: CheckSettings): CheckMeans {
  return { config, dns: createDomainDns(config) }
}

export async function checkSource(means: CheckMeans, name: CheckName, source: Checked): Promise<Finding> {
  return means.config.isSandbox ? skipped('the sandbox asks nobody') : CHECKS[name](means, source)
}

async function checkPtr({ dns }: CheckMeans, { address, ehloName }: Checked): Promise<Finding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (found.records.length > 0) return ok(`${address} is ${found.records.join(', ')}`)
  return failed(
    `${address} has no name (PTR)`,
    `ask whoever gives you the address to set its PTR record to ${ehloName}`,
  )
}

/** RFC 1912 2.1: the name that the address has must have the address. */
async function checkReturn({ dns }: CheckMeans, { address, ehloName }: Checked): Promise<Finding> {
  const found = await dns.ptr(arpaName(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (found.records.length === 0) return skipped('there is no PTR record')
  const answers = await Promise.all(found.records.map((name) => dns.ofFamily(name, familyOf(address))))
  if (answers.some((answer) => hasAddress(answer, address)))
    return ok(`${found.records.join(', ')} leads back to ${address}`)
  const silent = answers.find((answer) => answer.kind === 'failed')
  if (silent?.kind === 'failed') return skipped(silent.reason)
  const todo = `give ${found.records[0]} an ${recordOf(address)} record with ${address}, or have the PTR record set to ${ehloName}`
  return failed(`${found.records.join(', ')} does not lead back to ${address}`, todo)
}

/** RFC 5321 4.1.1.1, and what receivers make of it. */
async function checkEhlo({ dns }: CheckMeans, { address, ehloName }: Checked): Promise<Finding> {
  const found = await dns.ofFamily(ehloName, familyOf(address))
  if (found.kind === 'failed') return skipped(found.reason)
  if (hasAddress(found, address)) return ok(`${ehloName} is ${address}`)
  const said =
    found.records.length === 0 ? `has no ${recordOf(address)} record` : `is ${found.records.join(', ')}, not ${address}`
  return failed(`${ehloName} ${said}`, `add an ${recordOf(address)} record for ${ehloName} with ${address}`)
}

type Addresses = Awaited<ReturnType<DomainDns['ofFamily']>>

function hasAddress(answer: Addresses, address: string): boolean {
  return answer.kind === 'answered' && answer.records.some((one) => sameAddress(one, address))
}

function familyOf(address: string): 4 | 6 {
  return isIPv6(address) ? 6 : 4
}

function recordOf(address: string): 'A' | 'AAAA' {
  return isIPv6(address) ? 'AAAA' : 'A'
}

const BLOCKED = 'ask your provider to open outgoing port 25 for this address, or take the source out'

const PORT_FINDINGS: Readonly<Record<Reached, (from: string, where: string) => Finding>> = {
  yes: (_from, where) => ok(`${where} can be reached`),
  'not-here': (from) => skipped(`${from} is not on this machine`),
  no: (from, where) => failed(`${where} cannot be reached from ${from}`, BLOCKED),
}

async function checkPort(means: CheckMeans, { address }: Checked): Promise<Finding> {
  const {
    config: { routes, egressCheckTarget, smtpOutPort },
  } = means
  if (egressCheckTarget.toLowerCase() === 'none') return skipped('EGRESS_CHECK_TARGET is none')
  if (routes.some(({ domain }) => domain === '*')) return skipped('ROUTES sends all mail elsewhere')
  const target = await findTarget(means, familyOf(address))
  if (target === null)
    return skipped(`DNS knows no ${recordOf(address)} record of a mail server of ${egressCheckTarget}`)
  return PORT_FINDINGS[await connectFrom(address, target, smtpOutPort)](address, `port ${smtpOutPort} of ${target}`)
}

/** An address of the family at the target: itself, or its first MX that has one, or its own. */
async function findTarget(
  { dns, config: { egressCheckTarget: target } }: CheckMeans,
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

const UNSERVED = 'ask a resolver of your own (DNS_SERVERS) that the list serves, or leave the list out of BLOCKLISTS'

async function checkBlocklists({ dns, config: { blocklists } }: CheckMeans, { address }: Checked): Promise<Finding> {
  const asked = blocklists.map(blocklistOf).filter(({ families }) => families.includes(familyOf(address)))
  if (asked.length === 0) return skipped('BLOCKLISTS names none for it')
  const verdicts = await Promise.all(
    asked.map(async (list) => readAnswer(list, await dns.ofFamily(reversedName(address, list.zone), 4))),
  )
  const listings = verdicts.filter(({ kind }) => kind === 'listed')
  const unknown = verdicts.filter(({ kind }) => kind === 'unknown').map(({ text }) => text)
  if (listings.length > 0) {
    const pages = listings.map(({ page }) => page).join(', ')
    return failed(
      listings.map(({ text }) => text).join('; '),
      `find out why, mend it, then ask to be taken off: ${pages}`,
    )
  }
  const clean = verdicts.length - unknown.length
  if (clean === 0) return skipped(unknown.join('; '))
  const detail = `on none of ${clean}`
  if (unknown.length === 0) return ok(detail)
  return warning(`${detail}; ${unknown.join('; ')}`, UNSERVED)
}

interface Verdict {
  readonly kind: 'listed' | 'clean' | 'unknown'
  readonly text: string
  readonly page: string
}

/**
 * RFC 5782 2.1. 127.255.255.x: the list refuses the resolver. An answer outside 127.0.0.0/8 is no list's, but of somebody who answers for
 * all names.
 */
export function readAnswer({ zone, meanings, page }: Blocklist, answer: Addresses): Verdict {
  if (answer.kind === 'failed') return { kind: 'unknown', text: `${zone}: ${answer.reason}`, page }
  const listed = answer.records.filter((one) => one.startsWith('127.') && !one.startsWith('127.255.255.'))
  if (listed.length > 0) {
    const said = listed.map((one) => meanings.find(([pattern]) => pattern.test(one))?.[1] ?? one)
    return { kind: 'listed', text: `${zone} lists it (${[...new Set(said)].join(', ')})`, page }
  }
  if (answer.records.length === 0) return { kind: 'clean', text: '', page }
  return { kind: 'unknown', text: `${zone} does not answer this resolver (${answer.records.join(', ')})`, page }
}
