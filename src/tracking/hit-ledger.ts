/**
 * Writes opens and clicks into the ledgers of campaigns, in the transaction of the caller. Hits may arrive in any
 * order: the earliest of each kind counts.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { ClassifiedHit } from './hit-classifier.ts'

interface LedgerHit extends ClassifiedHit {
  readonly row: { readonly message_id: string; readonly campaign_id: string | null }
}

/** Stores the first hit of each kind; a click also counts as an open, even if the pixel was not loaded. */
const LEDGER = prepared(
  'tracking-ledger',
  sql`
    UPDATE campaign_recipients l
    SET opened_at = least(l.opened_at, i.opened_at),
      clicked_at = least(l.clicked_at, i.clicked_at),
      machine_opened_at = least(l.machine_opened_at, i.machine_opened_at),
      machine_clicked_at = least(l.machine_clicked_at, i.machine_clicked_at)
    FROM (
      SELECT message_id, campaign_id, min(at) FILTER (WHERE NOT is_machine) AS opened_at,
        min(at) FILTER (WHERE is_click AND NOT is_machine) AS clicked_at,
        min(at) FILTER (WHERE is_machine AND NOT is_click) AS machine_opened_at,
        min(at) FILTER (WHERE is_machine AND is_click) AS machine_clicked_at
      FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::boolean[], $5::boolean[]) AS t (
        message_id, campaign_id, at, is_click, is_machine
      )
      GROUP BY message_id, campaign_id
    ) i
    WHERE l.message_id = i.message_id
      AND l.campaign_id = i.campaign_id
      AND (
        i.opened_at < coalesce(l.opened_at, 'infinity')
        OR i.clicked_at < coalesce(l.clicked_at, 'infinity')
        OR i.machine_opened_at < coalesce(l.machine_opened_at, 'infinity')
        OR i.machine_clicked_at < coalesce(l.machine_clicked_at, 'infinity')
      )
  `,
)

export async function updateHitLedger(tx: Queryable, recorded: readonly LedgerHit[]): Promise<void> {
  if (recorded.length === 0) return
  await tx.query(
    LEDGER,
    columnsOf(recorded, [
      (t) => t.row.message_id,
      (t) => t.row.campaign_id,
      (t) => new Date(t.atMs),
      (t) => t.url !== null,
      (t) => t.machine !== null,
    ]),
  )
}
