/**
 * Whether a certificate of a chain was revoked, by the revocation lists (CRL, RFC 5280 §5) that it names. A list counts
 * only if the issuer of the certificate signed it, it is current, and it covers the certificate. Everything else, such
 * as a list that cannot be fetched, makes the state unknown: it is never taken for revoked or for valid.
 *
 * The URL comes from a certificate that an authority signed. It is fetched with the guarded client, with limits of time
 * and size. A list is cached until its next update, for a day at most. OCSP is not asked: mark certificates must name
 * a list. Loaded at the first certificate, since the package is large.
 */
import type { X509Certificate } from 'node:crypto'
import type { Extension, X509Certificate as ParsedCertificate, X509Crl } from '@peculiar/x509'
import { createTtlCache } from '#src/concurrency/ttl-cache.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { fetchBrandFile } from './brand-file.ts'

export type Revocation =
  | { readonly state: 'valid' }
  | { readonly state: 'revoked'; readonly at: Date }
  /** `problem` is the end of a sentence that begins with "its revocation list". */
  | { readonly state: 'unknown'; readonly problem: string }

export interface ListSource {
  readonly http: HttpClient
  readonly nowMs: number
}

export const MAX_LIST_BYTES = 1024 * 1024
/** Of those that a certificate names. */
const MAX_LISTS = 2
const MAX_AGE_MS = 86_400_000
const MAX_SKEW_MS = 300_000
const DELTA_INDICATOR = '2.5.29.27'
const ISSUING_DISTRIBUTION_POINT = '2.5.29.28'
/** Only some reasons, certificates of other issuers, or attribute certificates. */
const PARTIAL_TAGS: readonly number[] = [0x83, 0xa3, 0x84, 0x85]

/** `chain`: each certificate is signed by the next one, and the last one is trusted. */
export async function checkRevocation(deps: ListSource, chain: readonly X509Certificate[]): Promise<Revocation> {
  const { X509Certificate: Parsed } = await import('@peculiar/x509')
  const parsed = chain.map(({ raw }) => new Parsed(raw))
  const states = await Promise.all(
    parsed.slice(0, -1).map((certificate, i) => checkOne(deps, certificate, parsed[i + 1] as ParsedCertificate)),
  )
  const worst = states.find(({ state }) => state === 'revoked') ?? states.find(({ state }) => state === 'unknown')
  return worst ?? { state: 'valid' }
}

async function checkOne(
  deps: ListSource,
  certificate: ParsedCertificate,
  issuer: ParsedCertificate,
): Promise<Revocation> {
  let result: Revocation = { state: 'unknown', problem: 'is not named in the certificate' }
  for (const url of await listUrls(certificate)) {
    result = await checkList(deps, url, { certificate, issuer })
    if (result.state !== 'unknown') return result
  }
  return result
}

/** Those of complete lists of the issuer itself. */
async function listUrls(certificate: ParsedCertificate): Promise<string[]> {
  const { CRLDistributionPointsExtension } = await import('@peculiar/x509')
  const points = certificate.getExtension(CRLDistributionPointsExtension)?.distributionPoints ?? []
  return points
    .filter(({ cRLIssuer, reasons }) => cRLIssuer === undefined && reasons === undefined)
    .flatMap(({ distributionPoint }) => distributionPoint?.fullName ?? [])
    .flatMap(({ uniformResourceIdentifier: url }) => (url !== undefined && /^https?:/i.test(url) ? [url] : []))
    .slice(0, MAX_LISTS)
}

/** By URL. */
const lists = createTtlCache<X509Crl>({ now: () => Date.now() }, { max: 8, ttlMs: MAX_AGE_MS })

interface IssuedCertificate {
  readonly certificate: ParsedCertificate
  readonly issuer: ParsedCertificate
}

async function checkList(
  { http, nowMs }: ListSource,
  url: string,
  { certificate, issuer }: IssuedCertificate,
): Promise<Revocation> {
  const known = lists.get(url)
  const isUsable = known !== undefined && (await problemOf(known, { url, issuer, nowMs })) === null
  const list = isUsable ? known : await fetchList(http, url)
  if (typeof list === 'string') return { state: 'unknown', problem: list }
  const problem = isUsable ? null : await problemOf(list, { url, issuer, nowMs })
  if (problem !== null) return { state: 'unknown', problem }
  lists.set(url, list)
  const entry = list.findRevoked(certificate.serialNumber)
  return entry === null ? { state: 'valid' } : { state: 'revoked', at: entry.revocationDate }
}

/** The list, or why there is none. */
async function fetchList(http: HttpClient, url: string): Promise<X509Crl | string> {
  const accept = 'application/pkix-crl, */*;q=0.5'
  const fetched = await fetchBrandFile(http, { url, accept, maxBytes: MAX_LIST_BYTES })
  if (!fetched.ok) return fetched.problem.replace(/^redirects:.*/, 'redirects')
  const { X509Crl: Parsed } = await import('@peculiar/x509')
  try {
    return new Parsed(fetched.bytes)
  } catch {
    return 'cannot be read'
  }
}

interface ListUse {
  readonly url: string
  readonly issuer: ParsedCertificate
  readonly nowMs: number
}

/** Why a list says nothing about the certificates of the issuer; null if it does. */
async function problemOf(list: X509Crl, { url, issuer, nowMs }: ListUse): Promise<string | null> {
  return (await problemOfIssuer(list, issuer)) ?? problemOfTime(list, nowMs) ?? problemOfScope(list, url)
}

async function problemOfIssuer(list: X509Crl, issuer: ParsedCertificate): Promise<string | null> {
  const { KeyUsageFlags, KeyUsagesExtension } = await import('@peculiar/x509')
  const usages = issuer.getExtension(KeyUsagesExtension)?.usages ?? KeyUsageFlags.cRLSign
  const isSigned =
    list.issuer === issuer.subject &&
    (usages & KeyUsageFlags.cRLSign) !== 0 &&
    (await list.verify({ publicKey: issuer }).catch(() => false))
  return isSigned ? null : 'is not signed by the issuer of the certificate'
}

function problemOfTime({ thisUpdate, nextUpdate }: X509Crl, nowMs: number): string | null {
  if (thisUpdate.getTime() > nowMs + MAX_SKEW_MS) return 'is not valid yet'
  if (nextUpdate === undefined) return 'does not say until when it is valid'
  return nextUpdate.getTime() <= nowMs ? `expired on ${nextUpdate.toISOString().slice(0, 10)}` : null
}

/** A list that covers only a part, or has unknown critical extensions, says nothing of the other certificates. */
function problemOfScope({ extensions }: X509Crl, url: string): string | null {
  const isComplete = extensions.every((one) =>
    one.type === ISSUING_DISTRIBUTION_POINT ? isOfPoint(one, url) : one.type !== DELTA_INDICATOR && !one.critical,
  )
  return isComplete ? null : 'covers only some certificates'
}

/** The list is for the certificates that name this URL, and for all reasons (RFC 5280 §5.2.5). */
function isOfPoint({ value }: Extension, url: string): boolean {
  const bytes = Buffer.from(value)
  if (bytes.length > 130) return false
  const tags: number[] = []
  for (let at = 2; at < bytes.length; at += 2 + (bytes[at + 1] ?? 0)) tags.push(bytes[at] ?? 0)
  return !tags.some((tag) => PARTIAL_TAGS.includes(tag)) && (!tags.includes(0xa0) || bytes.includes(url, 0, 'latin1'))
}
