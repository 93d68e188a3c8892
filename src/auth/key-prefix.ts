/**
 * The prefix of new API keys. The first start stores it in the database, so that every process and command of the
 * installation uses the same one: if KEY_PREFIX is not set, the stored one applies; another one is an error. Keys that
 * exist keep their prefix and stay valid. Two first starts at the same time agree on the prefix of one of them. A
 * database without the table has not been migrated yet: then the setting applies.
 */
import { type Config, ConfigError } from '#config/load.ts'
import { isUnmigrated, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

type PrefixSettings = Pick<Config, 'keyPrefix' | 'isKeyPrefixSet'>

const READ = 'SELECT key_prefix FROM installation'
const STORE = 'INSERT INTO installation (key_prefix) VALUES ($1) ON CONFLICT DO NOTHING'
const REPLACE = sql`
  INSERT INTO installation (key_prefix)
  VALUES ($1)
  ON CONFLICT (is_only) DO UPDATE SET key_prefix = excluded.key_prefix
`

/** At the start of a server: stores the prefix if none is stored. @throws ConfigError if another one is. */
export async function storeKeyPrefix(db: Queryable, config: PrefixSettings): Promise<string> {
  await db.query(STORE, [config.keyPrefix])
  return resolveKeyPrefix(db, config)
}

/** The prefix to use. @throws ConfigError if KEY_PREFIX is another one than the stored one. */
export async function resolveKeyPrefix(db: Queryable, config: PrefixSettings): Promise<string> {
  const stored = await readStored(db)
  if (stored === null || stored === config.keyPrefix) return config.keyPrefix
  if (!config.isKeyPrefixSet) return stored
  throw new ConfigError(
    `KEY_PREFIX is ${JSON.stringify(config.keyPrefix)}, but the API keys of this installation begin with ` +
      `${JSON.stringify(stored)}. Set KEY_PREFIX=${stored} or remove the setting. To change the prefix of new keys, ` +
      `run: mailstead key prefix ${config.keyPrefix}`,
  )
}

/** Stores another prefix for new keys. */
export async function replaceKeyPrefix(db: Queryable, prefix: string): Promise<void> {
  await db.query(REPLACE, [prefix])
}

async function readStored(db: Queryable): Promise<string | null> {
  try {
    const { rows } = await db.query<{ key_prefix: string }>(READ)
    return rows[0]?.key_prefix ?? null
  } catch (error) {
    if (isUnmigrated(error)) return null
    throw error
  }
}
