/**
 * Opens a session with the first host of a destination that meets the domain's TLS policy, or returns the failure of
 * the last host tried. A host that the policy bars, or whose TLS does not meet it, is skipped like an unreachable one.
 * Such a failure says nothing about the site: other domains on the same hosts may demand less.
 */
import { isIP } from 'node:net'
import type { LocalEndpoint } from '#mta/egress/local-endpoint.ts'
import type { AddressLookup } from '#mta/route/addresses.ts'
import type { Host } from '#mta/route/route.ts'
import type { BrokenTlsMemory } from '#mta/security/broken-tls.ts'
import type { OpenRequirement, TlsRequirement, TlsPolicies, TlsPolicy } from '#mta/security/policy.ts'
import { failureFactsOf, resultOfFailure, resultOfSession, type TlsResults } from '#mta/security/tls-results.ts'
import { openWithRetries, type OpenResult, type SessionSettings } from '#mta/smtp/open.ts'
import type { DialTarget } from '#mta/smtp/dial.ts'
import type { OpenFailure } from '#mta/smtp/result.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { PooledSession } from './connection-slots.ts'

export interface ConnectDeps {
  readonly settings: SessionSettings
  readonly findAddresses: AddressLookup
  readonly requirementFor: TlsPolicies['requirementFor']
  readonly brokenTls: BrokenTlsMemory
  readonly results: Pick<TlsResults, 'record'>
}

export interface DestinationHosts {
  /** In the order to try. */
  readonly hosts: readonly Host[]
  readonly tls: TlsPolicy
  /** Local addresses to send from, the best first; one of each address family. */
  readonly endpoints: readonly LocalEndpoint[]
  /** Whether a connection may use a source other than the first; omitted: every source may be used. */
  readonly mayUse?: (source: string | null) => boolean
}

export interface ConnectFailure {
  readonly reason: string
  readonly detail: string
  /** The reply of the host, if it sent one. */
  readonly reply?: Reply
  /** DNS confirms that no host has a usable address. */
  readonly isCertain?: boolean
  /** A host failed only because of this domain's TLS policy. */
  readonly isByPolicy?: boolean
  /** The source that was used last. */
  readonly source?: string | null
  /** The host that was tried last. */
  readonly at?: { readonly host: string; readonly address: string }
  /** The cause is on our side and says nothing about the site. */
  readonly isLocalFault?: true
}

/** Reason of an attempt that another source may replace at once (direct.ts). */
export const SOURCE_LOST = 'source-lost'

/** Addresses tried in one attempt. */
const MAX_ADDRESSES = 6

/** Appends the conversation to `lines`. */
export async function connectFirst(
  deps: ConnectDeps,
  destination: DestinationHosts,
  lines: string[],
): Promise<PooledSession | ConnectFailure> {
  const failures: ConnectFailure[] = []
  let tried = 0
  for await (const candidate of listCandidates(deps, destination)) {
    if ('reason' in candidate) {
      failures.push(candidate)
      lines.push(`-- ${candidate.detail}`)
      continue
    }
    if (tried++ >= MAX_ADDRESSES) break
    if (!hasFreeSlot(destination, candidate)) {
      lines.push(noSlotRemark(candidate))
      continue
    }
    const opened = await openWithRequirement(deps, candidate)
    recordTls(deps, destination.tls, candidate, opened)
    if (opened.ok) return pooledOf(opened.session, candidate, destination.tls)
    lines.push(...opened.failure.transcript)
    if (isSourceLost(opened.failure, candidate.source)) return sourceLostFailure(candidate.source)
    failures.push(explainFailure(opened.failure, candidate))
  }
  const last = failures.at(-1) ?? { reason: 'dns', detail: 'the destination has no host to try' }
  return {
    ...last,
    isCertain: tried === 0 && failures.every(({ isCertain }) => isCertain === true),
    isByPolicy: failures.some(({ isByPolicy }) => isByPolicy === true),
  }
}

/** One connection that may be tried. */
interface Candidate {
  readonly target: DialTarget
  readonly source: string | null
  readonly requirement: OpenRequirement
}

/** The connections to try, in order, or why a host has none. Looks a host up only when the hosts before it failed. */
async function* listCandidates(
  deps: ConnectDeps,
  { hosts, tls, endpoints }: DestinationHosts,
): AsyncGenerator<Candidate | ConnectFailure> {
  for (const host of hosts) {
    const requirement = tls.requirement ?? (await deps.requirementFor(tls, host))
    if (requirement.kind === 'barred') {
      recordBarred(deps, tls, host, requirement)
      yield { reason: 'tls-policy', detail: requirement.text, isByPolicy: true }
      continue
    }
    const found = await deps.findAddresses(host)
    if (found.kind !== 'addresses') {
      yield { reason: 'dns', detail: `${host.name}: ${found.text}`, isCertain: found.kind !== 'unknown' }
      continue
    }
    const addresses = found.addresses.map(({ address }) => address)
    const targets = targetsOf(host, addresses, endpoints)
    if (targets.length === 0) yield noSourceFailure(host, addresses)
    for (const target of targets) yield { ...target, requirement }
  }
}

function hasFreeSlot({ endpoints, mayUse }: DestinationHosts, { source }: Candidate): boolean {
  return source === endpoints[0]?.source || mayUse?.(source) !== false
}

function noSlotRemark({ source, target: { host, address } }: Candidate): string {
  return `-- ${source ?? "the system's address"} has no free connection slot for ${host} [${address}]`
}

function recordBarred(
  { results }: ConnectDeps,
  policy: TlsPolicy,
  { name: host }: Host,
  { name, code, text }: Extract<TlsRequirement, { kind: 'barred' }>,
): void {
  const dane = name === 'dane' ? { records: [] } : {}
  results.record({ policy, host, address: '', result: code, about: failureFactsOf([], undefined, text), ...dane })
}

function recordTls(
  { results }: ConnectDeps,
  policy: TlsPolicy,
  { target: { host, address }, requirement }: Candidate,
  opened: OpenResult,
): void {
  const at = { policy, host, address, ...(requirement.records !== undefined && { records: requirement.records }) }
  if (opened.ok) {
    const {
      session: { tls, offers, opening, localAddress },
    } = opened
    const session = { host, isEncrypted: tls !== null, isAuthorized: tls?.authorized === true }
    const result =
      requirement.records === undefined
        ? resultOfSession(policy, session, offers.starttls)
        : requirement.records.length === 0
          ? 'tlsa-invalid'
          : 'success'
    results.record({ ...at, result, ...(result !== 'success' && { about: failureFactsOf(opening, localAddress, '') }) })
  } else if (opened.failure.stage === 'tls' || opened.failure.stage === 'starttls') {
    const { loss, transcript, localAddress } = opened.failure
    results.record({
      ...at,
      result: resultOfFailure(loss?.code ?? null),
      about: failureFactsOf(transcript, localAddress, loss?.detail ?? ''),
    })
  }
}

/** The best source with the addresses of its family, then the source of the other family with the rest. */
function targetsOf(
  { name, port }: Host,
  addresses: readonly string[],
  endpoints: readonly LocalEndpoint[],
): Omit<Candidate, 'requirement'>[] {
  return endpoints.flatMap(({ source, address: localAddress, family, ehloName }) => {
    const from = localAddress === null ? {} : { localAddress, ehloName }
    const reachable = addresses.filter((address) => family === null || isIP(address) === family)
    return reachable.map((address) => ({ source, target: { host: name, address, port, ...from } }))
  })
}

function noSourceFailure({ name }: Host, addresses: readonly string[]): ConnectFailure {
  const detail = `${name} has only ${addresses.join(', ')}, and no available source has that address family`
  return { reason: 'no-source', detail, isLocalFault: true }
}

/** The kernel does not have the local address that the connection should use. */
function isSourceLost({ stage, loss }: OpenFailure, source: string | null): source is string {
  return source !== null && stage === 'connect' && loss?.code === 'EADDRNOTAVAIL'
}

function sourceLostFailure(source: string): ConnectFailure {
  return { reason: SOURCE_LOST, detail: `the address of ${source} is not on this machine`, source, isLocalFault: true }
}

/** With opportunistic TLS, starts at the TLS level that worked for this host recently, and remembers the level. */
async function openWithRequirement(
  { settings, brokenTls }: ConnectDeps,
  { target, requirement }: Candidate,
): Promise<OpenResult> {
  const { isEncrypted, checkCertificate, tlsName } = requirement
  if (isEncrypted) {
    const strict: SessionSettings = {
      ...settings,
      tls: 'required',
      ...(checkCertificate !== null && { checkCertificate }),
    }
    return openWithRetries({ ...target, ...(tlsName !== undefined && { tlsName }) }, strict, 'modern')
  }
  const known = await brokenTls.find(target.host)
  const opened = await openWithRetries(target, settings, known ?? 'modern')
  if (opened.ok && opened.level !== 'modern' && opened.level !== known) void brokenTls.record(target.host, opened.level)
  return opened
}

function pooledOf(
  session: PooledSession['session'],
  { target: { host, address }, source, requirement }: Candidate,
  { dane }: TlsPolicy,
): PooledSession {
  return {
    session,
    host,
    address,
    source,
    policy: requirement.name,
    isVerified: requirement.checkCertificate !== null || session.tls?.authorized === true,
    wasDaneDomain: dane === 'yes',
    idleSinceMs: 0,
  }
}

function explainFailure(
  { stage, reply, loss }: OpenFailure,
  { target: { host, address, port }, source, requirement: { name, isEncrypted } }: Candidate,
): ConnectFailure {
  const where = `${host} [${address}]:${port}`
  const isByPolicy = isEncrypted && (stage === 'tls' || stage === 'starttls')
  const under = isByPolicy ? ` (TLS: ${name})` : ''
  const about = { isByPolicy, source, at: { host, address } }
  if (reply !== null) {
    const detail = `${where} refused at ${stage}${under}: ${formatReply(reply)}`
    return { reason: `${stage}-refused`, detail, reply, ...about }
  }
  return {
    reason: stage === 'connect' ? 'unreachable' : `${stage}-failed`,
    detail: `${where} at ${stage}${under}: ${loss?.detail ?? 'no answer'}`,
    ...about,
  }
}
