/**
 * A certificate and its key from TLS_CERT_FILE and TLS_KEY_FILE. A renewed certificate is loaded without a restart: the
 * files are checked every second. While they do not match, as between the writing of the two, or cannot be read, the
 * previous certificate stays in use and the log gives the reason.
 */
import { createSecureContext } from 'node:tls'
import { type Config, ConfigError } from '#config/load.ts'
import { readSettingFile, settingFileState } from '#config/setting-file.ts'
import type { Log } from '#src/platform/log.ts'

/** PEM. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

type FileSettings = Pick<Config, 'tlsCertFile' | 'tlsKeyFile'>

/** Whether one of the settings names a file. */
export function hasCertificateFiles({ tlsCertFile, tlsKeyFile }: FileSettings): boolean {
  return tlsCertFile !== null || tlsKeyFile !== null
}

/** @throws ConfigError if a file is missing or unreadable, or if certificate and key do not match. */
export function readCertificateFiles({ tlsCertFile, tlsKeyFile }: FileSettings): CertificateFiles {
  return validatePair({
    cert: readRequired('TLS_CERT_FILE', tlsCertFile),
    key: readRequired('TLS_KEY_FILE', tlsKeyFile),
  })
}

/** createSecureContext throws if certificate and key do not match. */
function validatePair(certificate: CertificateFiles): CertificateFiles {
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
export function watchCertificateFiles(
  { config, log }: { readonly config: FileSettings; readonly log: Log },
  initial: CertificateFiles,
  onChange: (certificate: CertificateFiles) => void,
): { stop(): void } {
  const files = [config.tlsCertFile, config.tlsKeyFile].filter((file) => file !== null)
  let [loaded, refused, current] = ['', '', initial]
  const check = (): void => {
    const state = stateOf(files)
    if (state === loaded) return
    try {
      const certificate = readCertificateFiles(config)
      loaded = state
      if (certificate.cert === current.cert && certificate.key === current.key) return
      current = certificate
      onChange(certificate)
      log.info({ files }, 'reloaded the TLS certificate')
    } catch (error) {
      if (refused !== state)
        log.error({ err: error, files }, 'failed to reload the TLS certificate; the previous one stays in use')
      refused = state
    }
  }
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref()
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
