/**
 * The operator's token: opens the endpoints below /admin, and nothing else. ADMIN_TOKEN gives it, as it is or as `sha256:` and its hash in
 * hex; else it is made and kept in DATA_DIR/admin.token when it is first needed. Only the hash is held in memory, and compared in constant
 * time.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Config } from '#config/load.ts'
import { keptSecret } from '#src/kept-secret.ts'

export interface OperatorToken {
  matches(given: string): boolean
}

const HASHED = /^sha256:([0-9a-f]{64})$/i

export function openOperatorToken(config: Pick<Config, 'adminToken' | 'dataDir'>): OperatorToken {
  let wanted: Buffer | null = null
  return {
    matches: (given) => {
      wanted ??= hashOf(config.adminToken ?? keptSecret(config.dataDir, 'admin.token'))
      return timingSafeEqual(hash('sha256', given, 'buffer'), wanted)
    },
  }
}

function hashOf(text: string): Buffer {
  const hex = HASHED.exec(text)?.[1]
  return hex === undefined ? hash('sha256', text, 'buffer') : Buffer.from(hex, 'hex')
}
