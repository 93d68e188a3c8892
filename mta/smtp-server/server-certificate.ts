/**
 * The certificate of the SMTP servers: TLS_CERT_FILE and TLS_KEY_FILE, or a self-signed one that is created once and
 * stored in DATA_DIR. Servers that deliver mail accept any certificate (RFC 7435); mail clients that log in require a
 * valid one. A renewed certificate is loaded without a restart: the files are checked every second. While they do not
 * match, as between the writing of the two, or cannot be read, the previous certificate stays in use and the log gives
 * the reason.
 */
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { readSettingFile, settingFileState } from '#config/setting-file.ts'
import { type Config, ConfigError } from '#config/load.ts'
import { type Certificate, loadSelfSignedCertificate } from './self-signed-certificate.ts'
import type { Context } from '#src/context.ts'

interface CertificateDeps {
  readonly config: Pick<Config, 'tlsCertFile' | 'tlsKeyFile' | 'dataDir' | 'serverName'>
  readonly clock: Context['clock']
}

/** @throws ConfigError if a file is missing or unreadable, or if certificate and key do not match. */
export function loadServerCertificate({ config, clock }: CertificateDeps): Promise<Certificate> {
  const { tlsCertFile, tlsKeyFile } = config
  if (tlsCertFile === null && tlsKeyFile === null) {
    return loadSelfSignedCertificate(join(config.dataDir, 'server-tls.json'), config.serverName, clock.now())
  }
  return Promise.resolve(
    validatePair({ cert: readRequired('TLS_CERT_FILE', tlsCertFile), key: readRequired('TLS_KEY_FILE', tlsKeyFile) }),
  )
}

/** createSecureContext throws if certificate and key do not match. */
function validatePair(certificate: Certificate): Certificate {
  try {
    createSecureContext(certificate)
    return certificate
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`TLS_CERT_FILE and TLS_KEY_FILE cannot be used together: ${why}`, { cause: error })
  }
}

const CHECK_INTERVAL_MS = 1000

/** Calls `onChange` with each certificate that differs from `initial`, also one written during the start. */
export function watchServerCertificate(
  ctx: CertificateDeps & Pick<Context, 'log'>,
  initial: Certificate,
  onChange: (certificate: Certificate) => void,
): { stop(): void } {
  const files = [ctx.config.tlsCertFile, ctx.config.tlsKeyFile].filter((file) => file !== null)
  if (files.length === 0) return { stop: () => undefined }
  let [loaded, refused, current] = ['', '', initial]
  const check = async (): Promise<void> => {
    const state = stateOf(files)
    if (state === loaded) return
    try {
      const certificate = await loadServerCertificate(ctx)
      loaded = state
      if (certificate.cert === current.cert && certificate.key === current.key) return
      current = certificate
      onChange(certificate)
      ctx.log.info({ files }, 'reloaded the TLS certificate')
    } catch (error) {
      if (refused !== state)
        ctx.log.error({ err: error, files }, 'failed to reload the TLS certificate; the previous one stays in use')
      refused = state
    }
  }
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS).unref()
  return { stop: () => clearInterval(timer) }
}

/** Changes whenever a file is written or replaced. */
function stateOf(files: readonly string[]): string {
  return files.map(settingFileState).join(', ')
}

function readRequired(setting: string, file: string | null): string {
  if (file === null) throw new ConfigError(`${setting} is missing: set TLS_CERT_FILE and TLS_KEY_FILE together`)
  return readSettingFile(setting, file)
}
