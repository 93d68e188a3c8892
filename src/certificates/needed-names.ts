/**
 * The host names that this process needs certificates for, by the settings. Pure. A certificate has one use: a web
 * certificate is read by the api only, and an SMTP certificate by submission and inbound only, even if both have the
 * same name. So a hole in one of these roles does not give away the key of the other.
 */
import type { Config } from '#config/load.ts'

export const CERTIFICATE_USES = ['web', 'smtp'] as const
export type CertificateUse = (typeof CERTIFICATE_USES)[number]

export interface NeededCertificate {
  readonly use: CertificateUse
  readonly name: string
  /** Further names of the same certificate. */
  readonly otherNames: readonly string[]
}

type NameSettings = Pick<
  Config,
  | 'acmeChallenge'
  | 'httpsPort'
  | 'publicUrl'
  | 'trackingUrl'
  | 'subscribeBaseUrl'
  | 'hostedMailUrl'
  | 'serverName'
  | 'smtpNames'
  | 'tlsCertFile'
>

/** Whether certificates are requested from an authority. */
export function isAutomatic({ acmeChallenge }: Pick<Config, 'acmeChallenge'>): boolean {
  return acmeChallenge !== 'off'
}

/** One for each host of a URL with https that the api serves itself; that of PUBLIC_URL is the first. */
export function neededWebCertificates(config: NameSettings): readonly NeededCertificate[] {
  if (!isAutomatic(config) || config.httpsPort === null || config.tlsCertFile !== null) return []
  const urls = [config.publicUrl, config.trackingUrl, config.subscribeBaseUrl, config.hostedMailUrl]
  const hosts = urls
    .filter((url) => url !== null)
    .map((url) => new URL(url))
    .filter(({ protocol }) => protocol === 'https:')
    .map(({ hostname }) => hostname)
  return [...new Set(hosts)].map((name) => ({ use: 'web', name, otherNames: [] }))
}

/** Null if the SMTP servers use files, or a self-signed certificate. */
export function neededSmtpCertificate(config: NameSettings): NeededCertificate | null {
  if (!isAutomatic(config) || config.tlsCertFile !== null) return null
  const otherNames = config.smtpNames.filter((name) => name !== config.serverName)
  return { use: 'smtp', name: config.serverName, otherNames }
}

/** Customers' tracking names: the authority can reach them over HTTP or TLS; their DNS is not ours to change. */
export function servesTrackingNames(config: NameSettings): boolean {
  return (
    neededWebCertificates(config).length > 0 &&
    config.acmeChallenge !== 'dns-01' &&
    config.trackingUrl.startsWith('https:')
  )
}
