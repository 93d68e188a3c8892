/**
 * A session with the first of a destination's hosts that gives one under the domain's TLS policy, or what the last of them had against it.
 * A host that the policy bars, or whose TLS does not meet it, is passed over like one that cannot be reached; it says nothing of the site,
 * whose other domains may ask for less.
 */
import { isIP } from 'node:net'
import type { Way } from '#mta/egress/local-endpoint.ts'
import type { Host } from '#mta/route/route.ts'
import type { BrokenTlsMemory } from '#mta/security/broken-tls.ts'
import type { Demand, TlsPolicies, TlsPolicy } from '#mta/security/policy.ts'
import { factsOf, resultOfFailure, resultOfSession, type TlsResults } from '#mta/security/tls-results.ts'
import { openWithRetries, type Opened, type SessionSettings } from '#mta/smtp/open.ts'
import type { Target } from '#mta/smtp/dial.ts'
import type { OpenFailure } from '#mta/smtp/result.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Pooled } from './session-pool.ts'

/** The addresses of a host, in the order to try them, or why there is none to try. */
export type Resolve = (
  host: Host,
) => Promise<{ readonly addresses: readonly string[]; readonly trouble: Trouble | null }>

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
  readonly results: Pick<TlsResults, 'note'>
}

export interface Destination {
  /** In the order to try them. */
  readonly hosts: readonly Host[]
  readonly tls: TlsPolicy
  /** Where it may leave from, the best first; one of each family. */
  readonly ways: readonly Way[]
  /** Whether a connection may be opened by another way than the first; left out: by all. */
  readonly mayUse?: (source: string | null) => boolean
}

export interface NotOpened {
  readonly reason: string
  readonly detail: string
  /** What the host said, where it said something. */
  readonly reply?: Reply
  /** Every host is certain to have no address that may be reached. */
  readonly isCertain?: boolean
  /** Some host failed only by what this domain demands of TLS. */
  readonly isByPolicy?: boolean
  /** The egress source that was used last. */
  readonly source?: string | null
  /** The server that was tried last. */
  readonly at?: { readonly host: string; readonly address: string }
  /** What is missing is ours: it says nothing about the site. */
  readonly isOurs?: true
}

type OpenDemand = Extract<Demand, { kind: 'open' }>

/** The reason of an attempt that another source may make good at once (source-failover.ts). */
export const SOURCE_LOST = 'source-lost'

/** Addresses tried for one message before it waits for another time. */
const MAX_ADDRESSES = 6

/** `lines`: the record of the conversation, to which it adds. */
export async function openFirst(
  parts: OpeningParts,
  { hosts, tls, ways, mayUse }: Destination,
  lines: string[],
): Promise<Pooled | NotOpened> {
  let last: NotOpened = { reason: 'dns', detail: 'the destination has no host to try' }
  let isCertain = true
  let isByPolicy = false
  let tried = 0
  for (const host of hosts) {
    const demand = await parts.demand(tls, host)
    if (demand.kind === 'barred') {
      const dane = demand.name === 'dane' ? { records: [] } : {}
      const about = factsOf([], undefined, demand.text)
      parts.results.note({ policy: tls, host: host.name, address: '', result: demand.code, about, ...dane })
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
    const targets = targetsOf(host, addresses, ways)
    if (addresses.length > 0 && targets.length === 0) {
      last = noSource(host, addresses)
      lines.push(`-- ${last.detail}`)
    }
    for (const { target, source } of targets) {
      if (tried++ >= MAX_ADDRESSES) return { ...last, isByPolicy }
      if (source !== ways[0]?.source && mayUse?.(source) === false) {
        lines.push(`-- ${source ?? "the system's address"} has no connection left for ${host.name} [${target.address}]`)
        continue
      }
      const opened = await openUnder(parts, target, demand)
      noteTls(parts, tls, { target, demand }, opened)
      if (opened.ok) return pooledOf(opened.session, { host: host.name, address: target.address, source }, demand, tls)
      lines.push(...opened.failure.transcript)
      if (isSourceLost(opened.failure, source)) return sourceLost(source)
      last = {
        ...explainFailure(opened.failure, `${host.name} [${target.address}]:${host.port}`, demand),
        source,
        at: { host: host.name, address: target.address },
      }
      isByPolicy ||= last.isByPolicy === true
    }
  }
  return { ...last, isCertain, isByPolicy }
}

interface Asked {
  readonly target: Target
  readonly demand: OpenDemand
}

function noteTls(
  { results }: OpeningParts,
  policy: TlsPolicy,
  { target: { host, address }, demand }: Asked,
  opened: Opened,
): void {
  const at = { policy, host, address, ...(demand.records !== undefined && { records: demand.records }) }
  if (opened.ok) {
    const {
      session: { tls, offers, opening, localAddress },
    } = opened
    const session = { host, isEncrypted: tls !== null, isAuthorized: tls?.authorized === true }
    const result =
      demand.records === undefined
        ? resultOfSession(policy, session, offers.starttls)
        : demand.records.length === 0
          ? 'tlsa-invalid'
          : 'success'
    results.note({ ...at, result, ...(result !== 'success' && { about: factsOf(opening, localAddress, '') }) })
  } else if (opened.failure.stage === 'tls' || opened.failure.stage === 'starttls') {
    const { loss, transcript, localAddress } = opened.failure
    results.note({
      ...at,
      result: resultOfFailure(loss?.code ?? null),
      about: factsOf(transcript, localAddress, loss?.detail ?? ''),
    })
  }
}

interface Aim {
  readonly target: Target
  readonly source: string | null
}

/** By the best source to the addresses of its family, then by that of the other family to the rest. */
function targetsOf({ name, port }: Host, addresses: readonly string[], ways: readonly Way[]): Aim[] {
  return ways.flatMap(({ source, address: localAddress, family, ehloName }) => {
    const from = localAddress === null ? {} : { localAddress, ehloName }
    const reachable = addresses.filter((address) => family === null || isIP(address) === family)
    return reachable.map((address) => ({ source, target: { host: name, address, port, ...from } }))
  })
}

function noSource({ name }: Host, addresses: readonly string[]): NotOpened {
  const detail = `${name} has only ${addresses.join(', ')}, and no source that may send now is of that family`
  return { reason: 'no-source', detail, isOurs: true }
}

/** The kernel does not know the address that we wanted to connect from. */
function isSourceLost({ stage, loss }: OpenFailure, source: string | null): source is string {
  return source !== null && stage === 'connect' && loss?.code === 'EADDRNOTAVAIL'
}

function sourceLost(source: string): NotOpened {
  return { reason: SOURCE_LOST, detail: `the address of ${source} is not on this machine`, source, isOurs: true }
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

function pooledOf(
  session: Pooled['session'],
  at: Pick<Pooled, 'host' | 'address' | 'source'>,
  demand: OpenDemand,
  { dane }: TlsPolicy,
): Pooled {
  const isVerified = demand.judge !== null || session.tls?.authorized === true
  return { session, ...at, policy: demand.name, isVerified, wasDaneDomain: dane === 'yes', idleSinceMs: 0 }
}

function explainFailure(
  { stage, reply, loss }: OpenFailure,
  where: string,
  { name, isEncrypted }: OpenDemand,
): NotOpened {
  const isByPolicy = isEncrypted && (stage === 'tls' || stage === 'starttls')
  const under = isByPolicy ? ` (TLS: ${name})` : ''
  if (reply !== null) {
    return {
      reason: `${stage}-refused`,
      detail: `${where} refused at ${stage}${under}: ${formatReply(reply)}`,
      reply,
      isByPolicy,
    }
  }
  return {
    reason: stage === 'connect' ? 'unreachable' : `${stage}-failed`,
    detail: `${where} at ${stage}${under}: ${loss?.detail ?? 'no answer'}`,
    isByPolicy,
  }
}
