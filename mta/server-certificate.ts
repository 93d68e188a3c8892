/**
 * The certificate that our own SMTP servers show: TLS_CERT_FILE and TLS_KEY_FILE, else a self-signed one that is made once and kept in
 * DATA_DIR. Servers that deliver to us do not look whose it is (RFC 7435); people who log in do, and need a real one.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '#config/load.ts'
import { type Certificate, loadCertificate } from '#mta/sandbox/certificate.ts'
import type { Context } from '#src/context.ts'

interface Parts {
  readonly config: Pick<Config, 'tlsCertFile' | 'tlsKeyFile' | 'dataDir' | 'serverName'>
  readonly clock: Context['clock']
}

/** @throws ConfigError when one of the two files is missing or cannot be read. */
export function loadServerCertificate({ config, clock }: Parts): Promise<Certificate> {
  const { tlsCertFile, tlsKeyFile } = config
  if (tlsCertFile === null && tlsKeyFile === null) {
    return loadCertificate(join(config.dataDir, 'server-tls.json'), config.serverName, clock.now())
  }
  return Promise.resolve({ cert: read('TLS_CERT_FILE', tlsCertFile), key: read('TLS_KEY_FILE', tlsKeyFile) })
}

function read(setting: string, file: string | null): string {
  if (file === null) throw new ConfigError(`${setting} is missing: certificate and key are given together`)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${setting} cannot be read: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
