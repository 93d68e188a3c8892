/**
 * A Context on real stores for tests without processes: a cloned database, its own Redis, and a clock that tests can
 * move.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, type Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { openRedis } from '#src/stores/redis.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createDatabase, startRedis, type TestServer } from './stores.ts'

export interface TestContext extends Context {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly redisServer: TestServer
  /** Moves the clock. */
  advance(ms: number): void
  newWorkspace(plan?: string): Promise<string>
  close(): Promise<void>
}

/** `databaseUrl`: a migrated database that the test drops itself. */
export async function createContext(env: Record<string, string> = {}, databaseUrl?: string): Promise<TestContext> {
  const given = databaseUrl === undefined ? null : { url: databaseUrl, drop: () => Promise.resolve() }
  const [database, redisServer] = await Promise.all([given ?? createDatabase(), startRedis()])
  const config: Config = loadConfig({
    DATABASE_URL: database.url,
    REDIS_URL: redisServer.url,
    LOG_LEVEL: 'silent',
    DATA_DIR: join(tmpdir(), 'mailstead-test-no-data'),
    ...env,
  })
  const log = openLog(config, 'test')
  const db = openDb(database.url, log, 4)
  const redis = openRedis(redisServer.url, log)
  await new Promise((resolve) => redis.once('ready', resolve))
  let offset = 0
  return {
    config,
    db,
    redis,
    log,
    encryption: createEncryption(Buffer.alloc(32, 7)),
    tracer: null,
    clock: { now: () => Date.now() + offset },
    databaseUrl: database.url,
    redisUrl: redisServer.url,
    redisServer,
    advance: (ms) => {
      offset += ms
    },
    newWorkspace: async (plan = 'enterprise') => {
      const id = newId()
      await db.query('INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, $4)', [
        id,
        id.replaceAll('-', ''),
        'test',
        plan,
      ])
      return id
    },
    close: async () => {
      redis.disconnect()
      await db.close()
      await Promise.all([database.drop(), redisServer.stop()])
    },
  }
}
