/**
 * One process of the installation requests certificates at a time: authorities limit requests, and two orders for one
 * name are one too many. The turn is a row that its holder renews. If the holder dies, the turn ends after
 * TURN_SECONDS and another worker begins again; the authority forgets the order that was left behind.
 */
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import type { Log } from '#src/platform/log.ts'
import { sql } from '#src/stores/sql.ts'

const TURN_SECONDS = 60
const RENEW_MS = 15_000

/** Runs `work` if no other process has the turn. False if another one has it. */
export async function withTurn(
  { db, log }: { readonly db: Queryable; readonly log: Log },
  work: (holder: string) => Promise<void>,
): Promise<boolean> {
  const holder = newId()
  if (!(await holdTurn(db, holder))) return false
  const renewal = setInterval(() => {
    holdTurn(db, holder).catch((error: unknown) =>
      log.warn({ err: error }, 'failed to renew the turn for certificates'),
    )
  }, RENEW_MS)
  try {
    await work(holder)
  } finally {
    clearInterval(renewal)
    await db.query('UPDATE acme_turn SET holder = NULL, held_until = now() WHERE holder = $1', [holder])
  }
  return true
}

async function holdTurn(db: Queryable, holder: string): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      UPDATE acme_turn
      SET holder = $1, held_until = now() + interval '${TURN_SECONDS} seconds'
      WHERE holder = $1 OR holder IS NULL OR held_until <= now()
    `,
    [holder],
  )
  return (rowCount ?? 0) > 0
}
