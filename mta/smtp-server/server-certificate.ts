/**
 * The certificate that our own SMTP servers show: TLS_CERT_FILE and TLS_KEY_FILE, else a self-signed one that is made once and kept in
 * DATA_DIR. Servers that deliver to us do not look whose it is (RFC 7435); people who log in do, and need a real one.
 *
 * A renewed one is taken without a restart: the files are looked at every second. While they do not fit together, as between the writing
 * of the two, or cannot be used, the one before stays and the log says why.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { readSettingFile } from '#config/setting-file.ts'
import { type Config, ConfigError } from '#config/load.ts'
import { type Certificate, loadCertificate } from './self-signed-certificate.ts'
import type { Context } from '#src/context.ts'

interface Parts {
  readonly config: Pick<Config, 'tlsCertFile' | 'tlsKeyFile' | 'dataDir' | 'serverName'>
  readonly clock: Context['clock']
}

/** @throws ConfigError when one of the two files is missing or cannot be read, or they are no certificate with its key. */
export function loadServerCertificate({ config, clock }: Parts): Promise<Certificate> {
  const { tlsCertFile, tlsKeyFile } = config
  if (tlsCertFile === null && tlsKeyFile === null) {
    return loadCertificate(join(config.dataDir, 'server-tls.json'), config.serverName, clock.now())
  }
  return Promise.resolve(judge({ cert: read('TLS_CERT_FILE', tlsCertFile), key: read('TLS_KEY_FILE', tlsKeyFile) }))
}

/** Node throws where certificate and key are no pair. */
function judge(certificate: Certificate): Certificate {
  try {
    createSecureContext(certificate)
    return certificate
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`TLS_CERT_FILE and TLS_KEY_FILE cannot be used together: ${why}`, { cause: error })
  }
}

const LOOK_MS = 1000

/** Gives `take` each certificate that is another than `shown`, also one that was written while the server began. Without files there is nothing to watch. */
export function watchServerCertificate(
  ctx: Parts & Pick<Context, 'log'>,
  shown: Certificate,
  take: (certificate: Certificate) => void,
): { stop(): void } {
  const files = [ctx.config.tlsCertFile, ctx.config.tlsKeyFile].filter((file) => file !== null)
  if (files.length === 0) return { stop: () => undefined }
  let [taken, refused, current] = ['', '', shown]
  const look = async (): Promise<void> => {
    const state = stateOf(files)
    if (state === taken) return
    try {
      const certificate = await loadServerCertificate(ctx)
      taken = state
      if (certificate.cert === current.cert && certificate.key === current.key) return
      current = certificate
      take(certificate)
      ctx.log.info({ files }, 'the certificate was read again')
    } catch (error) {
      if (refused !== state)
        ctx.log.error({ err: error, files }, 'the certificate cannot be used; the one before stays')
      refused = state
    }
  }
  const timer = setInterval(() => void look(), LOOK_MS).unref()
  return { stop: () => clearInterval(timer) }
}

/** Another whenever one of them was written, or is another file. */
function stateOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      return found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeMs}`
    })
    .join(', ')
}

function read(setting: string, file: string | null): string {
  if (file === null) throw new ConfigError(`${setting} is missing: certificate and key are given together`)
  return readSettingFile(setting, file)
}
