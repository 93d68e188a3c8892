/**
 * The ports of the api besides HTTP_PORT: HTTPS_PORT with the same handlers over TLS, and HTTP_REDIRECT_PORT. The
 * certificate is chosen by the host name that the client asks for: one that was requested from an authority, or
 * TLS_CERT_FILE. Until a certificate was issued, handshakes for its name fail. A renewed one is used from the next
 * connection on.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { ConfigError } from '#config/load.ts'
import {
  type CertificateFiles,
  hasCertificateFiles,
  readCertificateFiles,
  watchCertificateFiles,
} from '#src/certificates/certificate-files.ts'
import { neededWebCertificates } from '#src/certificates/needed-names.ts'
import { serveCertificates } from '#src/certificates/served-certificates.ts'
import type { Context } from '#src/context.ts'
import { CHALLENGE_PREFIX, createChallengeResponder, createTlsDoor } from '#api/http/certificate-challenges.ts'
import { createHttpsRedirect } from '#api/http/https-redirect.ts'
import { listen, type Handlers, type HttpServer } from './server.ts'

/** What HTTPS_PORT shows. */
export interface WebCertificates {
  /** Null: there is no certificate for the name yet. */
  readonly findContext: (name: string) => SecureContext | null
  /** Calls `use` with the certificate for clients that name no host, and again when it is renewed. */
  readonly followFallback: (use: (certificate: CertificateFiles) => void) => void
  /** Whether the name has a certificate. */
  has(name: string): boolean
  stop(): Promise<void>
}

type PortContext = Pick<Context, 'config' | 'db' | 'encryption' | 'log'>

/** Null without HTTPS_PORT. @throws ConfigError if there is no source of certificates, or files cannot be read. */
export function openWebCertificates(ctx: PortContext): WebCertificates | null {
  const { config } = ctx
  if (config.httpsPort === null) return null
  if (hasCertificateFiles(config)) return useFiles(ctx)
  const needed = neededWebCertificates(config)
  if (needed.length === 0)
    throw new ConfigError(
      'HTTPS_PORT needs certificates: set ACME_CHALLENGE and an https PUBLIC_URL, or TLS_CERT_FILE and TLS_KEY_FILE',
    )
  const fallback = needed[0]?.name ?? ''
  let onFallback: (certificate: CertificateFiles) => void = () => undefined
  const served = serveCertificates(ctx, {
    needed,
    servesAll: true,
    onChange: ({ name, chain, privateKey }) => {
      if (name === fallback) onFallback({ cert: chain, key: privateKey })
    },
  })
  return {
    findContext: (name) => (served.find(name) ?? served.find(fallback))?.context ?? null,
    followFallback: (use) => {
      onFallback = use
      const known = served.find(fallback)
      if (known !== null) use({ cert: known.chain, key: known.privateKey })
    },
    has: (name) => served.find(name) !== null,
    stop: () => served.stop(),
  }
}

/** The certificate of the files serves every name. */
function useFiles(ctx: PortContext): WebCertificates {
  let files = readCertificateFiles(ctx.config)
  let context = createSecureContext(files)
  let onRenewed: (certificate: CertificateFiles) => void = () => undefined
  const watch = watchCertificateFiles(ctx, files, (renewed) => {
    files = renewed
    context = createSecureContext(renewed)
    onRenewed(renewed)
  })
  return {
    findContext: () => context,
    followFallback: (use) => {
      onRenewed = use
      use(files)
    },
    has: () => false,
    stop: () => {
      watch.stop()
      return Promise.resolve()
    },
  }
}

/** Opens both ports, where they are set. @throws ConfigError if one of them cannot be opened. */
export async function listenOnWebPorts(
  ctx: PortContext,
  handlers: Handlers,
  certificates: WebCertificates | null,
): Promise<readonly HttpServer[]> {
  const { httpsPort, httpRedirectPort, acmeChallenge } = ctx.config
  const host = ctx.config.httpsHost ?? ctx.config.httpHost
  const open: HttpServer[] = []
  try {
    if (httpsPort !== null && certificates !== null) {
      const door = acmeChallenge === 'tls-alpn-01' ? { door: createTlsDoor.bind(null, ctx) } : {}
      const tls = { ...certificates, ...door }
      open.push(await listen(handlers, { port: httpsPort, host, setting: 'HTTPS_PORT', tls }))
    }
    if (httpRedirectPort !== null) {
      const redirecting = {
        ...handlers,
        byPrefix: [[CHALLENGE_PREFIX, createChallengeResponder(ctx)]] as const,
        app: createHttpsRedirect(createOriginFinder(ctx, certificates)),
      }
      open.push(await listen(redirecting, { port: httpRedirectPort, host, setting: 'HTTP_REDIRECT_PORT' }))
    }
    return open
  } catch (error) {
    await Promise.all(open.map((server) => server.stop(0)))
    throw error
  }
}

/** The URLs of the settings, and customers' tracking names, which have the port of the shared one. */
function createOriginFinder(
  { config }: Pick<Context, 'config'>,
  certificates: WebCertificates | null,
): (host: string) => string | null {
  const urls = [config.publicUrl, config.trackingUrl, config.subscribeBaseUrl, config.hostedMailUrl]
    .filter((url) => url !== null)
    .map((url) => new URL(url))
    .filter(({ protocol }) => protocol === 'https:')
  const origins = new Map(urls.map(({ hostname, origin }) => [hostname, origin]))
  const { port } = new URL(config.trackingUrl)
  return (host) => {
    const known = origins.get(host)
    if (known !== undefined) return known
    return certificates?.has(host) === true ? `https://${host}${port === '' ? '' : `:${port}`}` : null
  }
}
