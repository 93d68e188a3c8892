/**
 * Deletes the ledgers and contents of campaigns that ended longer ago than their workspace stores messages. The
 * statistics of the campaign stay: they are counters. Each call deletes a slice of one campaign in a transaction, so
 * another worker continues after a crash. The contents go last: until then the campaign can be retried, which ends the
 * deletion. A campaign without content is finished here.
 */
import type { Config } from '#config/load.ts'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { defaultPeriods, periodParameters, periodsSql } from './periods.ts'

const SLICE = 10_000

/** A retry waits for the lock; another worker has the next campaign. */
const LOCK_ONE = sql`
  SELECT k.id, k.content_id AS "contentId", k.content_b_id AS "contentBId"
  FROM campaigns k
  JOIN (${periodsSql(1)}) p ON p.workspace_id = k.workspace_id
  WHERE k.content_id IS NOT NULL AND k.ended_at < now() - make_interval(days => p.messages)
  LIMIT 1
  FOR UPDATE OF k SKIP LOCKED
`
const DELETE_SLICE = sql`
  DELETE FROM campaign_recipients
  WHERE campaign_id = $1
    AND contact_id = ANY (ARRAY(SELECT contact_id FROM campaign_recipients WHERE campaign_id = $1 LIMIT ${SLICE}))
`
const FINISH = sql`
  UPDATE campaigns
  SET content_id = NULL, content_b_id = NULL
  WHERE id = $1
`

interface EndedCampaign {
  readonly id: string
  readonly contentId: string
  readonly contentBId: string | null
}

/** True if there may be more. */
export function deleteOldLedgers({
  db,
  config,
}: {
  readonly db: Pick<Db, 'transaction'>
  readonly config: Config
}): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<EndedCampaign>(LOCK_ONE, periodParameters(defaultPeriods(config)))
    const [campaign] = rows
    if (campaign === undefined) return false
    const { id, contentId, contentBId } = campaign
    const { rowCount } = await tx.query(DELETE_SLICE, [id])
    if (rowCount === SLICE) return true
    await tx.query('DELETE FROM mail_contents WHERE id = ANY ($1::uuid[])', [[contentId, contentBId]])
    await tx.query(FINISH, [id])
    return true
  })
}
