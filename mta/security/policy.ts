/**
 * The TLS policy of a recipient domain. The policy belongs to the domain and is found before its mail is grouped by MX
 * hosts. Without DANE and MTA-STS enforce, it has one requirement for all hosts; otherwise the requirement for a host
 * is found when that host is tried.
 *
 *    opportunistic   by default: TLS if offered, with any certificate (RFC 7435)
 *    required        the operator's rule: TLS or no delivery
 *    sts enforce     only hosts that the policy names, with a valid certificate (RFC 8461)
 *    sts testing     as opportunistic; what enforce would have refused is reported
 *    dane            a certificate that matches the host's TLSA records; any if no record is usable (RFC 7672)
 *
 * DANE precedes MTA-STS (RFC 8461 2), and both precede the operator's `required`; the operator's `opportunistic`
 * precedes all. Mail whose policy cannot be met is deferred; it is never sent in plain text instead.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { TlsaRecord } from '#src/net/dns-answer.ts'
import { verifyByAuthorities, verifyByTlsa, type CertificateFault, type TlsPeer } from './certificate.ts'
import { lookUpHostDane, type DaneDns, type DaneHost } from './dane.ts'
import type { Sts, StsResult } from './sts.ts'
import type { StsFetchResult } from './sts-fetch.ts'
import { isMxOf, type StsPolicy } from './sts-policy.ts'
import type { TlsLevelRule } from '#src/operator/tls-rules.ts'

/** Whether DANE may apply to the domain's hosts; 'unknown' while DNS fails. */
type DaneDomain = 'yes' | 'no' | 'unknown'

export interface TlsPolicy {
  readonly domain: string
  readonly isRequired: boolean
  readonly dane: DaneDomain
  /** The MTA-STS policy is being fetched: ask again shortly. */
  readonly isPending: boolean
  /** Null for mode none as well. */
  readonly sts: StsPolicy | null
  /** Why there is no MTA-STS policy although the domain announces one. */
  readonly stsFailure: Extract<StsFetchResult, { kind: 'failed' }> | null
  /** The requirement for every host; null if it depends on the host (`requirementFor`). */
  readonly requirement: OpenRequirement | null
}

export type PolicyName = 'opportunistic' | 'required' | 'sts enforce' | 'sts testing' | 'dane'

export interface OpenRequirement {
  readonly kind: 'open'
  readonly name: PolicyName
  readonly isEncrypted: boolean
  /** Null: any certificate is accepted. */
  readonly checkCertificate: ((peer: TlsPeer) => CertificateFault | null) | null
  /** The TLSA records that apply, in the form of TLS reports. */
  readonly records?: readonly string[]
  /** Name for SNI if it differs from the host. */
  readonly tlsName?: string
}

export type TlsRequirement =
  | OpenRequirement
  /** Nothing may be sent to this host now. `code` as in RFC 8460 4.3. */
  | { readonly kind: 'barred'; readonly name: PolicyName; readonly code: string; readonly text: string }

/** The TLS properties of an open session. */
export interface SessionProtection {
  readonly host: string
  readonly isEncrypted: boolean
  /** The certificate is valid by the trusted authorities. */
  readonly isAuthorized: boolean
  /** The policy under which it was opened. */
  readonly policy: PolicyName
  /** It was opened for a domain whose MX records are DNSSEC-validated. */
  readonly wasDaneDomain: boolean
}

export interface TlsPolicies {
  /** `hosts`: the hosts of the domain's route. For hosts of the transport map only the operator's rule applies. */
  find(domain: string, hosts: readonly Pick<PolicyHost, 'isMapped'>[]): Promise<TlsPolicy>
  requirementFor(policy: TlsPolicy, host: PolicyHost): Promise<TlsRequirement>
}

export interface PolicyHost {
  readonly name: string
  readonly port: number
  /** Named by the operator (transport map). */
  readonly isMapped: boolean
}

export interface TlsPolicyDeps {
  readonly clock: Clock
  readonly ruleFor: (domain: string) => Promise<TlsLevelRule | undefined>
  /** Null in a sandbox, which fetches no policies. */
  readonly sts: Pick<Sts, 'find'> | null
  /** Null without a validating resolver. */
  readonly dane: DaneDns | null
}

/** For TLS reports, which must not wait until TLS works. It has no domain, so nothing is counted. */
export const UNENFORCED: TlsPolicy = {
  domain: '',
  isRequired: false,
  dane: 'no',
  isPending: false,
  sts: null,
  stsFailure: null,
  requirement: plainRequirement(false),
}

const NO_STS: StsResult = { policy: null, isPending: false, failure: null }

export function createTlsPolicies({ clock, ruleFor, sts, dane }: TlsPolicyDeps): TlsPolicies {
  async function find(domain: string, hosts: readonly Pick<PolicyHost, 'isMapped'>[]): Promise<TlsPolicy> {
    const rule = await ruleFor(domain)
    const isRequired = rule === 'required'
    if (rule === 'opportunistic' || hosts.every(({ isMapped }) => isMapped))
      return { ...UNENFORCED, domain, isRequired, requirement: plainRequirement(isRequired) }
    const [found, isDane] = await Promise.all([
      sts?.find(domain) ?? NO_STS,
      dane === null ? ('no' as const) : findDaneDomain(dane, domain),
    ])
    const policy = found.policy?.mode === 'none' ? null : found.policy
    const isByHost = isDane !== 'no' || policy?.mode === 'enforce' || hosts.some(({ isMapped }) => isMapped)
    return {
      domain,
      isRequired,
      dane: isDane,
      isPending: found.isPending,
      sts: policy,
      stsFailure: found.failure,
      requirement: isByHost ? null : plainRequirement(isRequired, nameWithoutRule(policy)),
    }
  }

  async function requirementFor(policy: TlsPolicy, host: PolicyHost): Promise<TlsRequirement> {
    if (host.isMapped) return plainRequirement(policy.isRequired)
    if (policy.dane === 'unknown')
      return barred('dane', 'dnssec-invalid', `the DANE lookup for ${policy.domain} failed`)
    const daneHost =
      policy.dane === 'yes' && dane !== null
        ? await lookUpHostDane(dane, host.name, host.port)
        : { kind: 'none' as const }
    return (
      daneRequirement(policy, host, daneHost, clock) ??
      stsRequirement(policy, host) ??
      plainRequirement(policy.isRequired, nameWithoutRule(policy.sts))
    )
  }

  return { find, requirementFor }
}

/** DANE applies only where DNSSEC vouches for the MX records (RFC 7672 2.2.1). */
async function findDaneDomain(dns: DaneDns, domain: string): Promise<DaneDomain> {
  const mx = await dns.mx(domain)
  if (mx.kind === 'failed') return 'unknown'
  return mx.isSecure === true ? 'yes' : 'no'
}

function daneRequirement(
  { domain }: TlsPolicy,
  host: PolicyHost,
  found: DaneHost,
  clock: Clock,
): TlsRequirement | null {
  if (found.kind === 'none') return null
  if (found.kind === 'unknown') return barred('dane', 'dnssec-invalid', found.text)
  const names = [...new Set([found.base, host.name, domain])]
  const checkCertificate = (peer: TlsPeer): CertificateFault | null =>
    verifyByTlsa(peer, found.usable, names, clock.now())
  return {
    kind: 'open',
    name: 'dane',
    isEncrypted: true,
    checkCertificate: found.usable.length === 0 ? null : checkCertificate,
    records: found.usable.map(formatTlsa),
    tlsName: found.base,
  }
}

/** Limits a record that contains a whole key. */
const MAX_RECORD = 300

/** RFC 8460 4.4: the form of a zone file. */
function formatTlsa({ usage, selector, matchingType, certificate }: TlsaRecord): string {
  return `${usage} ${selector} ${matchingType} ${certificate.toString('hex')}`.slice(0, MAX_RECORD)
}

function stsRequirement({ sts, domain }: TlsPolicy, { name }: PolicyHost): TlsRequirement | null {
  if (sts?.mode !== 'enforce') return null
  const isNamed = isMxOf(sts, name)
  if (!isNamed)
    return barred('sts enforce', 'validation-failure', `${name} is not listed in the MTA-STS policy of ${domain}`)
  return {
    kind: 'open',
    name: 'sts enforce',
    isEncrypted: true,
    checkCertificate: (peer) => verifyByAuthorities(peer, name),
  }
}

function plainRequirement(isRequired: boolean, otherwise: PolicyName = 'opportunistic'): OpenRequirement {
  return { kind: 'open', name: isRequired ? 'required' : otherwise, isEncrypted: isRequired, checkCertificate: null }
}

/** Name of a policy that requires nothing. */
function nameWithoutRule(sts: StsPolicy | null): PolicyName {
  return sts === null ? 'opportunistic' : 'sts testing'
}

function barred(name: PolicyName, code: string, text: string): TlsRequirement {
  return { kind: 'barred', name, code, text }
}

/** Whether an open session, perhaps opened for another domain on the same hosts, meets this policy. */
export function isSufficient(policy: TlsPolicy, session: SessionProtection): boolean {
  if (policy.dane === 'unknown' || (policy.dane === 'yes' && !session.wasDaneDomain)) return false
  if (policy.dane === 'yes' && session.policy === 'dane') return true
  if (policy.sts?.mode === 'enforce') return session.isAuthorized && isMxOf(policy.sts, session.host)
  return !policy.isRequired || session.isEncrypted
}

/** Name of the policy that applies to a session that meets it. */
export function policyNameFor({ dane, sts, isRequired }: TlsPolicy, session: SessionProtection): PolicyName {
  if (dane === 'yes' && session.policy === 'dane') return 'dane'
  if (sts?.mode === 'enforce') return 'sts enforce'
  if (isRequired) return 'required'
  return nameWithoutRule(sts)
}
