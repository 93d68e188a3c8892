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
import { combineFindings, failed, type LiveFinding, ok, skipped, unknown, warning } from './finding.ts'
import { publicUrlsOf, type UrlSettings } from './public-urls.ts'

const TIMEOUT_MS = 5000
const DAY_MS = 86_400_000
/** Let's Encrypt renews 30 days before the end; later than this, renewal does not work. */
const SOON_DAYS = 14
const RENEW = 'renew the certificate, and check what renews it'

type CertificateSettings = UrlSettings & Pick<Config, 'extraCaFile'>

export async function checkWebCertificates(
  config: CertificateSettings,
  dns: DomainDns,
  now: number,
): Promise<LiveFinding> {
  const urls = publicUrlsOf(config).filter(([, url]) => url.protocol === 'https:')
  if (urls.length === 0) return skipped('no URL has https')
  return combineFindings(await Promise.all(urls.map(([, url]) => checkUrl(config, dns, url, now))))
}

async function checkUrl(config: CertificateSettings, dns: DomainDns, url: URL, now: number): Promise<LiveFinding> {
  const host = url.hostname
  const found = await dns.addresses(host)
  if (found.kind === 'failed') return unknown(`${host}: ${found.reason}`)
  const [address] = found.records
  if (address === undefined)
    return failed(`${host} has no address record`, `add an A or AAAA record for ${host}, the host of ${url.origin}`)
  const shown = await readCertificate(config, { host, address, port: Number(url.port || 443) })
  if (shown.kind === 'silent') return unknown(`${url.host} (${address}) does not answer from here: ${shown.reason}`)
  if (shown.kind === 'refused')
    return warning(
      `${url.host} (${address}) refuses connections from here`,
      `if it also refuses from outside, run a proxy with a certificate for ${host} in front of the API`,
    )
  if (shown.problem !== null)
    return failed(
      `the certificate of ${url.host} is not accepted: ${shown.problem}`,
      `install a certificate for ${host} from an authority that browsers accept`,
    )
  return findingOf(url.host, shown.validTo, now)
}

function findingOf(what: string, validTo: number, now: number): LiveFinding {
  const days = Math.floor((validTo - now) / DAY_MS)
  const detail = `the certificate of ${what} is valid until ${new Date(validTo).toISOString().slice(0, 10)}`
  if (validTo <= now) return failed(`the certificate of ${what} expired ${-days} ${daysText(-days)} ago`, RENEW)
  return days < SOON_DAYS ? warning(`${detail}, in ${days} ${daysText(days)}`, RENEW) : ok(detail)
}

function daysText(days: number): string {
  return days === 1 ? 'day' : 'days'
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
    missing.map(({ name }) => whyMissing(name, find(certificates, 'web', name))).join('; '),
    'wait a minute; if it stays so, mailstead certificate list gives the reason',
  )
}

function find(
  certificates: readonly CertificateStatus[],
  wantedUse: CertificateUse,
  wantedName: string,
): CertificateStatus | undefined {
  return certificates.find(({ use, name }) => use === wantedUse && name === wantedName)
}

function whyMissing(name: string, found: CertificateStatus | undefined): string {
  const reason = found?.lastError ?? 'it is requested'
  return `there is no certificate for ${name} yet: ${reason}`
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
  const todo = `set TLS_CERT_FILE and TLS_KEY_FILE to a certificate for ${serverName}, or ACME_CHALLENGE`
  if (tlsCertFile === null) return warning('SMTP has a self-signed certificate: programs that check it refuse it', todo)
  try {
    const certificate = new X509Certificate(readSettingText(tlsCertFile))
    const names = certificate.subjectAltName ?? certificate.subject
    if (certificate.checkHost(serverName) === undefined)
      return warning(`the certificate of SMTP is for ${names}, not ${serverName}`, todo)
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
      `${whyMissing(serverName, found)}; SMTP has a self-signed one meanwhile`,
      'wait a minute; if it stays so, mailstead certificate list gives the reason',
    )
  const finding = findingOf('SMTP', found.expiresAt.getTime(), now)
  if (finding.status !== 'ok' || found.lastError === null) return finding
  return ok(`${finding.detail}; its renewal failed and is repeated: ${found.lastError}`)
}
