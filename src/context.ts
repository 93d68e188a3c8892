/** What every part is given: built once in a main, handed down as the first parameter. */
import type { Config } from '#config/load.ts'
import type { Clock } from './clock.ts'
import type { Db } from './db.ts'
import type { Log } from './log.ts'
import type { Redis } from './redis.ts'
import type { Vault } from './vault.ts'

export interface Context {
  readonly config: Config
  readonly db: Db
  readonly redis: Redis
  readonly clock: Clock
  readonly log: Log
  readonly vault: Vault
}
