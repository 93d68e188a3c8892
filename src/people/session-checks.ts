/**
 * Checks the sessions again of requests that wait and of streams that are open: those of one turn of the event loop
 * with one statement, so a thousand open streams cost one statement a second. PostgreSQL unavailable: all of them
 * reject.
 */
import type { Config } from '#config/load.ts'
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Queryable } from '#src/stores/db.ts'
import { findSessions, type FoundSession, type SessionLookup } from './user-sessions.ts'

/** In one statement. */
const MAX_CHECKS = 1000

export interface SessionChecks {
  /** As `findSession`, but it keeps no session alive. */
  find(lookup: SessionLookup): Promise<FoundSession | null>
}

export function createSessionChecks(db: Queryable, config: Pick<Config, 'sessionIdleHours'>): SessionChecks {
  const batcher = createBatcher<SessionLookup, FoundSession | null>((lookups) => findSessions(db, config, lookups), {
    max: MAX_CHECKS,
    concurrency: 1,
  })
  return { find: (lookup) => batcher.add(lookup) }
}
