/**
 * The certificates that others see: those of the public URLs, read from outside over TLS, and that of SMTP, read from
 * TLS_CERT_FILE, or what was requested from an authority. Only a certificate that was shown is evidence; a host that
 * does not answer from here, or refuses, may answer others: many routers do not lead their public address back inside.
 */
import { X509Certificate } from 'node:crypto'
import { connect, rootCertificates, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { Config } from '#config/load.ts'
import { readAuthorities, readSettingText } from '#config/setting-file.ts'
import type { CertificateStatus } from '#src/certificates/certificate-store.ts'
import { type CertificateUse, neededSmtpCertificate, neededWebCertificates } from '#src/certificates/needed-names.ts'
import type { DomainDns } from '#src/domains/domain-dns.ts'
import type { CodedText } from '#src/platform/coded-text.ts'
import { detailOf, joinSaid, sayAbout } from '#src/platform/finding-text.ts'
import { combineFindings, failed, type LiveFinding, ok, skipped, unknown, warning } from './finding.ts'
import { publicUrlsOf, type UrlSettings } from './public-urls.ts'
import { liveCheckText } from './live-check-texts.ts'

const TIMEOUT_MS = 5000
const DAY_MS = 86_400_000
/** Let's Encrypt renews 30 days before the end; later than this, renewal does not work. */
const SOON_DAYS = 14
const RENEW = liveCheckText('certificate_todo')

type CertificateSettings = UrlSettings & Pick<Config, 'extraCaFile'>

export async function checkWebCertificates(
  config: CertificateSettings,
  dns: DomainDns,
  now: number,
): Promise<LiveFinding> {
  const urls = publicUrlsOf(config).filter(([, url]) => url.protocol === 'https:')
  if (urls.length === 0) return skipped(liveCheckText('no_https'))
  return combineFindings(await Promise.all(urls.map(([, url]) => checkUrl(config, dns, url, now))))
}

async function checkUrl(config: CertificateSettings, dns: DomainDns, url: URL, now: number): Promise<LiveFinding> {
  const host = url.hostname
  const found = await dns.addresses(host)
  if (found.kind === 'failed') return unknown(sayAbout(host, found.text))
  const [address] = found.records
  if (address === undefined)
    return failed(
      liveCheckText('no_address', { name: host }),
      liveCheckText('url_no_address_todo', { name: host, url: url.origin }),
    )
  const shown = await readCertificate(config, { host, address, port: Number(url.port || 443) })
  if (shown.kind === 'silent')
    return unknown(liveCheckText('url_silent', { host: url.host, address, reason: shown.reason }))
  if (shown.kind === 'refused')
    return warning(
      liveCheckText('url_refuses', { host: url.host, address }),
      liveCheckText('url_refuses_todo', { name: host }),
    )
  if (shown.problem !== null)
    return failed(
      liveCheckText('certificate_not_accepted', { host: url.host, problem: shown.problem }),
      liveCheckText('certificate_not_accepted_todo', { name: host }),
    )
  return findingOf(url.host, shown.validTo, now)
}

function findingOf(name: string, validTo: number, now: number): LiveFinding {
  const days = Math.floor((validTo - now) / DAY_MS)
  const date = new Date(validTo).toISOString().slice(0, 10)
  if (validTo <= now) return failed(liveCheckText('certificate_expired', { name, days: -days }), RENEW)
  return days < SOON_DAYS
    ? warning(liveCheckText('certificate_ends', { name, date, days }), RENEW)
    : ok(liveCheckText('certificate_valid', { name, date }))
}

type ShownCertificate =
  | { readonly kind: 'shown'; readonly validTo: number; readonly problem: string | null }
  | { readonly kind: 'refused' }
  | { readonly kind: 'silent'; readonly reason: string }

interface TlsTarget {
  readonly host: string
  readonly address: string
  readonly port: number
}

function readCertificate({ extraCaFile }: CertificateSettings, target: TlsTarget): Promise<ShownCertificate> {
  const { host, address, port } = target
  const own = extraCaFile === null ? [] : [readAuthorities('EXTRA_CA_FILE', extraCaFile)]
  const { promise, resolve } = Promise.withResolvers<ShownCertificate>()
  const socket: TLSSocket = connect({
    host: address,
    port,
    servername: host,
    ca: [...rootCertificates, ...own],
    rejectUnauthorized: false,
    timeout: TIMEOUT_MS,
  })
  socket.once('secureConnect', () => {
    const certificate: PeerCertificate = socket.getPeerCertificate()
    // set by Node if rejectUnauthorized is false, although its type says Error
    const problem = socket.authorized ? null : String(socket.authorizationError)
    resolve({ kind: 'shown', validTo: Date.parse(certificate.valid_to), problem })
  })
  socket.once('timeout', () => resolve({ kind: 'silent', reason: 'timeout' }))
  socket.once('error', (error: NodeJS.ErrnoException) =>
    resolve(error.code === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'silent', reason: error.message }),
  )
  return promise.finally(() => socket.destroy())
}

/** Null if the certificates of the URLs are not requested automatically, or each was issued. */
export function checkRequestedCertificates(
  config: Parameters<typeof neededWebCertificates>[0],
  certificates: readonly CertificateStatus[],
): LiveFinding | null {
  const missing = neededWebCertificates(config).filter(({ use, name }) => {
    const expiresAt = find(certificates, use, name)?.expiresAt ?? null
    return expiresAt === null
  })
  if (missing.length === 0) return null
  return failed(
    joinSaid(missing.map(({ name }) => whyMissing(name, find(certificates, 'web', name)))),
    liveCheckText('certificate_missing_todo'),
  )
}

function find(
  certificates: readonly CertificateStatus[],
  wantedUse: CertificateUse,
  wantedName: string,
): CertificateStatus | undefined {
  return certificates.find(({ use, name }) => use === wantedUse && name === wantedName)
}

function whyMissing(name: string, found: CertificateStatus | undefined): CodedText {
  const reason = found?.lastError ?? null
  return reason === null
    ? liveCheckText('certificate_requested', { name })
    : liveCheckText('certificate_missing', { name, reason })
}

type SmtpSettings = Parameters<typeof neededSmtpCertificate>[0]

export interface CertificateExpiry {
  /** Host and port of a public URL, `smtp`, or `tracking` for the earliest of customers' tracking names. */
  readonly host: string
  /** Epoch ms. */
  readonly expiresAt: number
}

interface ExpirySources {
  readonly config: CertificateSettings & SmtpSettings
  readonly dns: DomainDns
  /** The certificates that are requested automatically. */
  readonly readRequested: () => Promise<readonly CertificateStatus[]>
}

/** For metrics. A certificate that cannot be read is left out. */
export async function readCertificateExpiries({
  config,
  dns,
  readRequested,
}: ExpirySources): Promise<readonly CertificateExpiry[]> {
  const urls = publicUrlsOf(config).filter(([, url]) => url.protocol === 'https:')
  const web = await Promise.all(
    urls.map(async ([, { host, hostname, port }]): Promise<CertificateExpiry[]> => {
      const found = await dns.addresses(hostname)
      const [address] = found.kind === 'failed' ? [] : found.records
      if (address === undefined) return []
      const shown = await readCertificate(config, { host: hostname, address, port: Number(port || 443) })
      return shown.kind === 'shown' ? [{ host, expiresAt: shown.validTo }] : []
    }),
  )
  const smtp = smtpExpiry(config)
  const files = smtp === null ? [] : [{ host: 'smtp', expiresAt: smtp }]
  const requested = await readRequested()
  return [
    ...web.flat(),
    ...files,
    ...earliestOf('smtp', files.length > 0 ? [] : requested.filter(({ use }) => use === 'smtp')),
    ...earliestOf(
      'tracking',
      requested.filter(({ origin }) => origin === 'tracking'),
    ),
  ]
}

function earliestOf(host: string, certificates: readonly CertificateStatus[]): CertificateExpiry[] {
  const times = certificates
    .filter(({ state }) => state !== 'unused')
    .flatMap(({ expiresAt }) => (expiresAt === null ? [] : [expiresAt.getTime()]))
  return times.length === 0 ? [] : [{ host, expiresAt: Math.min(...times) }]
}

function smtpExpiry({ tlsCertFile }: SmtpSettings): number | null {
  try {
    return tlsCertFile === null ? null : Date.parse(new X509Certificate(readSettingText(tlsCertFile)).validTo)
  } catch {
    return null
  }
}

/** A self-signed certificate still encrypts; programs that submit mail refuse it. */
export function checkSmtpCertificate(
  config: SmtpSettings,
  certificates: readonly CertificateStatus[],
  now: number,
): LiveFinding {
  if (neededSmtpCertificate(config) !== null) return checkRequestedSmtp(config, certificates, now)
  const { tlsCertFile, serverName } = config
  const todo = liveCheckText('smtp_todo', { name: serverName })
  if (tlsCertFile === null) return warning(liveCheckText('smtp_self_signed'), todo)
  try {
    const certificate = new X509Certificate(readSettingText(tlsCertFile))
    const names = certificate.subjectAltName ?? certificate.subject
    if (certificate.checkHost(serverName) === undefined)
      return warning(liveCheckText('smtp_other_name', { names, name: serverName }), todo)
    return findingOf('SMTP', Date.parse(certificate.validTo), now)
  } catch (error) {
    return unknown(`TLS_CERT_FILE: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function checkRequestedSmtp(
  { serverName }: SmtpSettings,
  certificates: readonly CertificateStatus[],
  now: number,
): LiveFinding {
  const found = find(certificates, 'smtp', serverName)
  if (found?.expiresAt === undefined || found.expiresAt === null)
    return warning(
      joinSaid([whyMissing(serverName, found), liveCheckText('smtp_meanwhile')]),
      liveCheckText('certificate_missing_todo'),
    )
  const finding = findingOf('SMTP', found.expiresAt.getTime(), now)
  if (finding.status !== 'ok' || found.lastError === null) return finding
  return ok(joinSaid([detailOf(finding), liveCheckText('renewal_failed', { reason: found.lastError })]))
}
