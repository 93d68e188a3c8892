/**
 * The operator's token gives access to the endpoints below /admin, and to nothing else. ADMIN_TOKEN is the token or
 * `sha256:` and its hash in hex; without it a token is generated in DATA_DIR/admin.token. Only the hash is in memory,
 * and it is compared in constant time. If DATA_DIR is not writable, these endpoints reject every token and the log says
 * so; the server starts nevertheless.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Config } from '#config/load.ts'
import { loadOrGenerateSecret } from '#src/crypto/generated-secret.ts'
import type { Log } from '#src/platform/log.ts'

export interface OperatorToken {
  matches(given: string): boolean
}

const HASHED = /^sha256:([0-9a-f]{64})$/i

interface TokenDeps {
  readonly config: Pick<Config, 'adminToken' | 'dataDir'>
  readonly log: Pick<Log, 'warn'>
}

export function loadOperatorToken(deps: TokenDeps): OperatorToken {
  const expected = loadTokenHash(deps)
  return { matches: (given) => expected !== null && timingSafeEqual(hash('sha256', given, 'buffer'), expected) }
}

function loadTokenHash({ config: { adminToken, dataDir }, log }: TokenDeps): Buffer | null {
  try {
    return hashOf(adminToken ?? loadOrGenerateSecret(dataDir, 'admin.token'))
  } catch (error) {
    log.warn({ err: error }, 'the admin endpoints are disabled: set ADMIN_TOKEN, or make DATA_DIR writable')
    return null
  }
}

function hashOf(text: string): Buffer {
  const hex = HASHED.exec(text)?.[1]
  return hex === undefined ? hash('sha256', text, 'buffer') : Buffer.from(hex, 'hex')
}
