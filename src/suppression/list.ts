/**
 * Reads the suppression list of a workspace: pages, newest first; single entries with their complete cause; or all of
 * it in slices by address, so that an export of any length holds one slice in memory.
 */
import type { Queryable } from '#src/stores/db.ts'
import { mapPage, readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { CauseKind, CauseReply } from './cause.ts'

export interface Suppression {
  readonly address: string
  readonly kind: CauseKind
  /** For people. */
  readonly cause: string
  readonly reply: CauseReply | null
  readonly rule: string | null
  readonly eventId: string | null
  readonly messageId: string | null
  readonly apiKeyId: string | null
  /** When it was added to the list. */
  readonly createdAt: Date
  /** When it got its current cause. */
  readonly updatedAt: Date
}

export interface SuppressionFilter {
  /** Prefix of the address, case-insensitive. */
  readonly prefix: string | null
  readonly kind: CauseKind | null
  /** Added at or after this time. */
  readonly after: Date | null
  readonly before: Date | null
}

interface SuppressionRow {
  readonly address: string
  readonly kind: CauseKind
  readonly cause: string
  readonly reply_code: number | null
  readonly reply_status: string | null
  readonly reply_text: string | null
  readonly rule: string | null
  readonly event_id: string | null
  readonly message_id: string | null
  readonly api_key_id: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

const COLUMNS = sql`
  address, kind, cause, reply_code, reply_status, reply_text, rule, event_id, message_id, api_key_id, created_at,
  updated_at
`
const WHERE = sql`
  workspace_id = $1
  AND ($2::text IS NULL OR address ^@ lower($2))
  AND ($3::text IS NULL OR kind = $3)
  AND ($4::timestamptz IS NULL OR created_at >= $4)
  AND ($5::timestamptz IS NULL OR created_at < $5)
`

const NEWEST_FIRST: ListOrder = {
  by: [
    { sql: 'created_at', type: 'timestamptz' },
    { sql: 'address', type: 'text' },
  ],
  direction: 'DESC',
}

export async function listSuppressions(
  db: Queryable,
  workspaceId: string,
  filter: SuppressionFilter,
  wish: PageRequest,
): Promise<Page<Suppression>> {
  const values = [workspaceId, filter.prefix, filter.kind, filter.after, filter.before]
  const listing = {
    columns: COLUMNS,
    from: 'suppressions',
    where: WHERE,
    order: NEWEST_FIRST,
    values,
  }
  return mapPage(await readPage<SuppressionRow>(db, listing, wish), suppressionOf)
}

/** The suppressions of these addresses, ordered by address. */
export async function findSuppressions(
  db: Queryable,
  workspaceId: string,
  addresses: readonly string[],
): Promise<Suppression[]> {
  const { rows } = await db.query<SuppressionRow>(
    sql`
      SELECT ${COLUMNS}
      FROM suppressions
      WHERE workspace_id = $1 AND address = ANY (ARRAY(SELECT lower(a) FROM unnest($2::text[]) AS a))
      ORDER BY address
    `,
    [workspaceId, addresses],
  )
  return rows.map(suppressionOf)
}

const SLICE = 1000

/** All matching suppressions by address. Those added or removed meanwhile may or may not be included. */
export async function* readSuppressions(
  db: Queryable,
  workspaceId: string,
  filter: SuppressionFilter,
): AsyncGenerator<readonly Suppression[]> {
  const which = [workspaceId, filter.prefix, filter.kind, filter.after, filter.before]
  for (let last = ''; ;) {
    const { rows } = await db.query<SuppressionRow>(
      `SELECT ${COLUMNS} FROM suppressions WHERE ${WHERE} AND address > $6 ORDER BY address LIMIT $7`,
      [...which, last, SLICE],
    )
    if (rows.length > 0) yield rows.map(suppressionOf)
    if (rows.length < SLICE) return
    last = rows.at(-1)?.address ?? last
  }
}

function suppressionOf(row: SuppressionRow): Suppression {
  return {
    address: row.address,
    kind: row.kind,
    cause: row.cause,
    rule: row.rule,
    eventId: row.event_id,
    messageId: row.message_id,
    apiKeyId: row.api_key_id,
    reply: row.reply_text === null ? null : { code: row.reply_code, status: row.reply_status, text: row.reply_text },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
