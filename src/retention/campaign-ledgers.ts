/**
 * Deletes the ledgers and contents of campaigns that ended longer ago than their workspace stores messages. The
 * statistics of the campaign stay: they are counters. One slice at a time; repeating it deletes the next.
 */
import type { Config } from '#config/load.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { defaultPeriods, periodParameters, periodsSql } from './periods.ts'

const SLICE = 10_000

const OVER = sql`
  SELECT k.id, k.content_id, k.content_b_id
  FROM campaigns k
  JOIN (${periodsSql(1)}) p ON p.workspace_id = k.workspace_id
  WHERE k.ended_at < now() - make_interval(days => p.messages)
`
const DELETE_LEDGERS = sql`
  DELETE FROM campaign_recipients
  WHERE (campaign_id, contact_id) IN (
    SELECT r.campaign_id, r.contact_id
    FROM (${OVER}) over
    JOIN campaign_recipients r ON r.campaign_id = over.id
    LIMIT ${SLICE}
  )
`
const DELETE_CONTENTS = sql`
  DELETE FROM mail_contents
  WHERE id IN (SELECT unnest(ARRAY[content_id, content_b_id]) FROM (${OVER}) over)
`

/** True if there may be more. */
export async function deleteOldLedgers({
  db,
  config,
}: {
  readonly db: Queryable
  readonly config: Config
}): Promise<boolean> {
  const parameters = periodParameters(defaultPeriods(config))
  const { rowCount } = await db.query(DELETE_LEDGERS, parameters)
  await db.query(DELETE_CONTENTS, parameters)
  return rowCount === SLICE
}
