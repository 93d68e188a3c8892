/**
 * Who got a campaign, who did not, and why: its ledger in pages behind a cursor, in the order of contact ids, or as CSV. No page costs more
 * than a walk of the ledger, and no memory grows with it. Cells of the CSV are guarded against spreadsheets that would run them (src/platform/csv.ts).
 */
import { writeRows } from '#src/platform/csv.ts'
import type { Queryable } from '#src/stores/db.ts'
import { hexOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { LEDGER_STATES, type LedgerState } from './ledger-states.ts'

const BY_STATE = Object.fromEntries(LEDGER_STATES.map((state) => [state, `state = '${state}'`])) as Record<
  LedgerState,
  string
>
/** What may be asked for, by name. */
const FILTERS = {
  ...BY_STATE,
  opened: 'opened_at IS NOT NULL',
  'not-opened': `state IN ('delivered', 'sent') AND opened_at IS NULL AND clicked_at IS NULL`,
  clicked: 'clicked_at IS NOT NULL',
  complained: 'complained_at IS NOT NULL',
  unsubscribed: 'unsubscribed_at IS NOT NULL',
  'not-sent': `state IN ('failed', 'suppressed', 'skipped', 'cancelled')`,
} as const satisfies Record<string, string>
export type LedgerFilter = keyof typeof FILTERS
export const LEDGER_FILTERS = Object.keys(FILTERS) as [LedgerFilter, ...LedgerFilter[]]

const TIMES = {
  sends_at: 'sendsAt',
  dispatched_at: 'dispatchedAt',
  delivered_at: 'deliveredAt',
  opened_at: 'openedAt',
  clicked_at: 'clickedAt',
  bounced_at: 'bouncedAt',
  failed_at: 'failedAt',
  complained_at: 'complainedAt',
  unsubscribed_at: 'unsubscribedAt',
  machine_opened_at: 'machineOpenedAt',
  machine_clicked_at: 'machineClickedAt',
} as const
export const TIME_COLUMNS = Object.keys(TIMES) as (keyof typeof TIMES)[]

/** A row as it is told: the times by their columns, in ISO 8601. */
export type LedgerRow = Readonly<Record<keyof typeof TIMES, Date | null>> & {
  readonly contact_id: string
  readonly email: string
  readonly state: LedgerState
  readonly reason: string | null
  readonly bounce_type: 'hard' | 'soft' | null
  readonly variant: 'a' | 'b' | null
  readonly message_id: string | null
}

interface Ask {
  readonly workspaceId: string
  readonly campaignId: string
  readonly filter: LedgerFilter | null
  /** A contact's id; null from the beginning. */
  readonly after: string | null
  readonly limit: number
}

const COLUMNS = [
  'contact_id',
  'email',
  'state',
  'reason',
  'bounce_type',
  'variant',
  'message_id',
  ...TIME_COLUMNS,
] as const
/** Of the CSV: the mail by the name that it has everywhere else. */
const HEADER = COLUMNS.map((column) => (column === 'message_id' ? 'email_id' : column))

export async function readLedger(
  db: Queryable,
  { workspaceId, campaignId, filter, after, limit }: Ask,
): Promise<LedgerRow[]> {
  const { rows } = await db.query<LedgerRow>(
    sql`
      SELECT ${COLUMNS.join(', ')}
      FROM campaign_recipients
      WHERE campaign_id = $1
        AND workspace_id = $2
        AND ($3::uuid IS NULL OR contact_id > $3)
        ${filter === null ? '' : `AND ${FILTERS[filter]}`}
      ORDER BY contact_id
      LIMIT $4
    `,
    [campaignId, workspaceId, after, limit],
  )
  return rows
}

const SLICE = 1000

/** The header, then the rows of each slice. */
export async function* exportLedger(
  db: Queryable,
  ask: Pick<Ask, 'workspaceId' | 'campaignId' | 'filter'>,
): AsyncGenerator<string> {
  yield writeRows([HEADER])
  for (let after: string | null = null; ;) {
    const rows: LedgerRow[] = await readLedger(db, { ...ask, after, limit: SLICE })
    if (rows.length > 0)
      yield writeRows(
        rows.map((row) =>
          COLUMNS.map((column) => (column === 'message_id' ? (emailIdOf(row.message_id) ?? '') : cellOf(row[column]))),
        ),
      )
    if (rows.length < SLICE) return
    after = rows.at(-1)?.contact_id ?? null
  }
}

/** `em_…`; null where none was made. */
export function emailIdOf(messageId: string | null): string | null {
  return messageId === null ? null : `em_${hexOf(messageId)}`
}

function cellOf(value: string | Date | null): string {
  return value instanceof Date ? value.toISOString() : (value ?? '')
}
