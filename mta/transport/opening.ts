/**
 * A session with the first of a destination's hosts that gives one under the domain's TLS policy, or what the last of them had against it.
 * A host that the policy bars, or whose TLS does not meet it, is passed over like one that cannot be reached; it says nothing of the site,
 * whose other domains may ask for less.
 */
import type { Host } from '#mta/route/route.ts'
import type { BrokenTlsMemory } from '#mta/security/broken-tls.ts'
import type { Demand, TlsPolicies, TlsPolicy } from '#mta/security/policy.ts'
import { openWithRetries, type Opened, type SessionSettings } from '#mta/smtp/open.ts'
import type { Target } from '#mta/smtp/dial.ts'
import type { OpenFailure } from '#mta/smtp/result.ts'
import { formatReply } from '#src/mail/reply.ts'
import type { Pooled } from './session-pool.ts'

/** The addresses of a host, in the order to try them, or why there is none to try. */
export type Resolve = (host: Host) => Promise<{ readonly addresses: readonly string[]; readonly trouble: Trouble | null }>

export interface Trouble {
  readonly text: string
  /** DNS answered, and there is nothing to connect to: not a matter of time. */
  readonly isCertain: boolean
}

export interface OpeningParts {
  readonly settings: SessionSettings
  readonly resolve: Resolve
  readonly demand: TlsPolicies['demand']
  readonly brokenTls: BrokenTlsMemory
}

export interface Destination {
  /** In the order to try them. */
  readonly hosts: readonly Host[]
  readonly tls: TlsPolicy
}

export interface NotOpened {
  readonly reason: string
  readonly detail: string
  /** Every host is certain to have no address that may be reached. */
  readonly isCertain?: boolean
  /** Some host failed only by what this domain demands of TLS. */
  readonly isByPolicy?: boolean
}

type OpenDemand = Extract<Demand, { kind: 'open' }>

/** Addresses tried for one message before it waits for another time. */
const MAX_ADDRESSES = 6

/** `lines`: the record of the conversation, to which it adds. */
export async function openFirst(parts: OpeningParts, { hosts, tls }: Destination, lines: string[]): Promise<Pooled | NotOpened> {
  let last: NotOpened = { reason: 'dns', detail: 'the destination has no host to try' }
  let isCertain = true
  let isByPolicy = false
  let tried = 0
  for (const host of hosts) {
    const demand = await parts.demand(tls, host)
    if (demand.kind === 'barred') {
      last = { reason: 'tls-policy', detail: demand.text }
      lines.push(`-- ${demand.text}`)
      isCertain = false
      isByPolicy = true
      continue
    }
    const { addresses, trouble } = await parts.resolve(host)
    if (trouble !== null) {
      last = { reason: 'dns', detail: `${host.name}: ${trouble.text}` }
      lines.push(`-- ${last.detail}`)
    }
    isCertain &&= trouble?.isCertain === true
    for (const address of addresses) {
      if (tried++ >= MAX_ADDRESSES) return { ...last, isByPolicy }
      const opened = await openUnder(parts, { host: host.name, address, port: host.port }, demand)
      if (opened.ok) return pooledOf(opened.session, { host: host.name, address }, demand, tls)
      lines.push(...opened.failure.transcript)
      last = explainFailure(opened.failure, `${host.name} [${address}]:${host.port}`, demand)
      isByPolicy ||= last.isByPolicy === true
    }
  }
  return { ...last, isCertain, isByPolicy }
}

/** Where any TLS will do, it begins with what this host could do lately, and what it could do now is remembered. */
async function openUnder({ settings, brokenTls }: OpeningParts, target: Target, demand: OpenDemand): Promise<Opened> {
  const { isEncrypted, judge, tlsName } = demand
  if (isEncrypted) {
    const strict = { ...settings, tls: 'required' as const, ...(judge !== null && { judge }) }
    return openWithRetries({ ...target, ...(tlsName !== undefined && { tlsName }) }, strict, 'modern')
  }
  const known = await brokenTls.find(target.host)
  const opened = await openWithRetries(target, settings, known ?? 'modern')
  if (opened.ok && opened.level !== 'modern' && opened.level !== known) void brokenTls.note(target.host, opened.level)
  return opened
}

function pooledOf(session: Pooled['session'], at: Pick<Pooled, 'host' | 'address'>, demand: OpenDemand, { dane }: TlsPolicy): Pooled {
  const isVerified = demand.judge !== null || session.tls?.authorized === true
  return { session, ...at, source: null, policy: demand.name, isVerified, wasDaneDomain: dane === 'yes', idleSinceMs: 0 }
}

function explainFailure({ stage, reply, loss }: OpenFailure, where: string, { name, isEncrypted }: OpenDemand): NotOpened {
  const isByPolicy = isEncrypted && (stage === 'tls' || stage === 'starttls')
  const under = isByPolicy ? ` (TLS: ${name})` : ''
  if (reply !== null) {
    return { reason: `${stage}-refused`, detail: `${where} refused at ${stage}${under}: ${formatReply(reply)}`, isByPolicy }
  }
  return { reason: stage === 'connect' ? 'unreachable' : `${stage}-failed`, detail: `${where} at ${stage}${under}: ${loss?.detail ?? 'no answer'}`, isByPolicy }
}
