/**
 * Records when each API key was last used, every few seconds for all keys in one statement. A failed write is repeated
 * with the next one. A crash loses at most these seconds.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const FLUSH_MS = 5000

// A row that another process is updating is skipped: its time is just as good, and deadlocks are impossible.
const TOUCH = prepared(
  'key-touch',
  sql`
    UPDATE api_keys k
    SET last_used_at = greatest(k.last_used_at, u.at)
    FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
    WHERE k.id = u.id
      AND k.id IN (
        SELECT id
        FROM api_keys
        WHERE id = ANY ($1::uuid[])
        FOR NO KEY UPDATE SKIP LOCKED
      )
  `,
)

export interface UsageRecorder {
  record(keyId: string): void
  /** Writes the last entries and stops. */
  stop(): Promise<void>
}

export function createUsageRecorder({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): UsageRecorder {
  let used = new Map<string, number>()
  let writing = Promise.resolve()

  async function write(): Promise<void> {
    if (used.size === 0) return
    const batch = used
    used = new Map()
    try {
      await db.query(TOUCH, [[...batch.keys()], [...batch.values()].map((ms) => new Date(ms))])
    } catch (error) {
      log.debug({ err: error }, 'failed to write the last use of API keys; it is retried')
      used = new Map([...batch, ...used])
    }
  }

  const flush = (): void => {
    writing = writing.then(write)
  }
  const timer = setInterval(flush, FLUSH_MS).unref()
  return {
    record: (keyId) => {
      used.set(keyId, clock.now())
    },
    async stop() {
      clearInterval(timer)
      flush()
      await writing
    },
  }
}
