/**
 * The operator's token: opens the endpoints below /admin, and nothing else. ADMIN_TOKEN gives it, as it is or as `sha256:` and its hash in
 * hex; else it is made and kept in DATA_DIR/admin.token. Only the hash is held in memory, and compared in constant time. A DATA_DIR that
 * cannot be written to leaves these endpoints closed, and the log says so; it is no reason not to serve.
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
    log.warn({ err: error }, 'no operator can sign in: set ADMIN_TOKEN, or let DATA_DIR be written to')
    return null
  }
}

function hashOf(text: string): Buffer {
  const hex = HASHED.exec(text)?.[1]
  return hex === undefined ? hash('sha256', text, 'buffer') : Buffer.from(hex, 'hex')
}
