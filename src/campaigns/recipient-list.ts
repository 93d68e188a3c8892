/**
 * Lists the recipients of a campaign with the outcome of each: pages with a cursor, ordered by contact id, or CSV. A
 * page costs at most one scan of the ledger, and memory use is constant. CSV cells are escaped against formula
 * injection in spreadsheets (src/platform/csv.ts).
 */
import { writeRows } from '#src/platform/csv.ts'
import type { Queryable } from '#src/stores/db.ts'
import { hexOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { LEDGER_STATES, type LedgerState } from './ledger-states.ts'

const STATE_FILTERS = Object.fromEntries(LEDGER_STATES.map((state) => [state, `state = '${state}'`])) as Record<
  LedgerState,
  string
>
/** The available filters, by name. */
const FILTERS = {
  ...STATE_FILTERS,
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

/** A ledger row as the API returns it; the times are named after their columns. */
export type LedgerRow = Readonly<Record<keyof typeof TIMES, Date | null>> & {
  readonly contact_id: string
  readonly email: string
  readonly state: LedgerState
  readonly reason: string | null
  readonly bounce_type: 'hard' | 'soft' | null
  readonly variant: 'a' | 'b' | null
  readonly message_id: string | null
}

interface LedgerQuery {
  readonly workspaceId: string
  readonly campaignId: string
  readonly filter: LedgerFilter | null
  /** The last contact id of the previous page; null for the first page. */
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
/** CSV header; `message_id` is called `email_id`, as everywhere in the API. */
const HEADER = COLUMNS.map((column) => (column === 'message_id' ? 'email_id' : column))

export async function readLedger(
  db: Queryable,
  { workspaceId, campaignId, filter, after, limit }: LedgerQuery,
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

/** Yields the CSV header, then the rows in slices. */
export async function* exportLedger(
  db: Queryable,
  query: Pick<LedgerQuery, 'workspaceId' | 'campaignId' | 'filter'>,
): AsyncGenerator<string> {
  yield writeRows([HEADER])
  for (let after: string | null = null; ;) {
    const rows: LedgerRow[] = await readLedger(db, { ...query, after, limit: SLICE })
    if (rows.length > 0)
      yield writeRows(
        rows.map((row) =>
          COLUMNS.map((column) => (column === 'message_id' ? (toEmailId(row.message_id) ?? '') : toCell(row[column]))),
        ),
      )
    if (rows.length < SLICE) return
    after = rows.at(-1)?.contact_id ?? null
  }
}

/** `em_…`; null if no message was created. */
export function toEmailId(messageId: string | null): string | null {
  return messageId === null ? null : `em_${hexOf(messageId)}`
}

function toCell(value: string | Date | null): string {
  return value instanceof Date ? value.toISOString() : (value ?? '')
}
