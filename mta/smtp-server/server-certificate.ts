/**
 * The certificate of the SMTP servers: TLS_CERT_FILE and TLS_KEY_FILE; else the one that a worker requested from an
 * authority (src/certificates); else a self-signed one that is created once and stored in DATA_DIR, also until the
 * first certificate was issued. Servers that deliver mail accept any certificate (RFC 7435); mail clients that log in
 * require a valid one. A renewed certificate is used from the next connection on, without a restart.
 */
import { join } from 'node:path'
import type { Config } from '#config/load.ts'
import {
  hasCertificateFiles,
  readCertificateFiles,
  watchCertificateFiles,
} from '#src/certificates/certificate-files.ts'
import { neededSmtpCertificate } from '#src/certificates/needed-names.ts'
import { serveCertificates } from '#src/certificates/served-certificates.ts'
import type { Context } from '#src/context.ts'
import { type Certificate, loadSelfSignedCertificate } from './self-signed-certificate.ts'

interface CertificateDeps {
  readonly config: Pick<Config, 'tlsCertFile' | 'tlsKeyFile' | 'dataDir' | 'serverName'>
  readonly clock: Context['clock']
}

/** @throws ConfigError if a file is missing or unreadable, or if certificate and key do not match. */
export async function loadServerCertificate({ config, clock }: CertificateDeps): Promise<Certificate> {
  if (hasCertificateFiles(config)) return readCertificateFiles(config)
  return loadSelfSignedCertificate(join(config.dataDir, 'server-tls.json'), config.serverName, clock.now())
}

interface WatchDeps {
  readonly ctx: Pick<Context, 'config' | 'db' | 'encryption' | 'log'>
  readonly initial: Certificate
  /** Called with each certificate that differs from `initial`. */
  readonly onChange: (certificate: Certificate) => void
}

export interface CertificateWatch {
  /** Resolves when a certificate that was issued before is in use; at once if there is none to wait for. */
  readonly loaded: Promise<void>
  stop(): Promise<void>
}

/** Follows the files, or what is issued. */
export function watchServerCertificate({ ctx, initial, onChange: use }: WatchDeps): CertificateWatch {
  const needed = neededSmtpCertificate(ctx.config)
  if (needed !== null)
    return serveCertificates(ctx, {
      needed: [needed],
      servesAll: false,
      onChange: ({ chain, privateKey }) => use({ cert: chain, key: privateKey }),
    })
  if (!hasCertificateFiles(ctx.config)) return { loaded: Promise.resolve(), stop: () => Promise.resolve() }
  const watch = watchCertificateFiles(ctx, initial, use)
  return {
    loaded: Promise.resolve(),
    stop: () => {
      watch.stop()
      return Promise.resolve()
    },
  }
}
