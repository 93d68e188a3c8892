/**
 * Exports contacts as CSV in batches: neither a transaction nor memory grows with their number, and reading stops when
 * the client disconnects. Cells that a spreadsheet could run as a formula are escaped (src/platform/csv.ts); the import
 * removes the escape, so an exported file can be imported unchanged.
 */
import type { Queryable } from '#src/stores/db.ts'
import { writeRows } from '#src/platform/csv.ts'
import { sql } from '#src/stores/sql.ts'
import { readSlice, type ContactSelection, type ContactSliceQuery } from './selection.ts'

const BATCH_SIZE = 1000

interface ExportedContact {
  readonly id: string
  readonly email: string
  readonly names: readonly (string | null)[]
  readonly isSubscribed: boolean | null
  readonly isBlocked: boolean
  readonly tags: readonly string[]
  readonly attributes: string
  readonly score: number | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const PROFILE_COLUMNS = ['first_name', 'last_name', 'company_name', 'job_title', 'phone_number', 'linkedin', 'timezone']
const COLUMNS = sql`
  c.id, c.email, ARRAY[${PROFILE_COLUMNS.map((column) => `c.${column}`).join(', ')}] AS names,
  m.is_subscribed AS "isSubscribed",
  EXISTS (SELECT 1 FROM suppressions s WHERE s.workspace_id = c.workspace_id AND s.address = c.email) AS "isBlocked",
  c.tags, c.custom_attributes::text AS attributes, c.score, c.verified_at AS "verifiedAt", c.created_at AS "createdAt",
  c.updated_at AS "updatedAt"
`
const HEADER = [
  'id',
  'email',
  ...PROFILE_COLUMNS,
  'status',
  'global_status',
  'tags',
  'custom_attributes',
  'deliverability_score',
  'email_verification_date',
  'created_at',
  'updated_at',
]

/** Yields the header line, then one text per batch. */
export async function* exportContacts(
  db: Queryable,
  selection: ContactSelection,
  nowMs: number,
): AsyncGenerator<string> {
  yield writeRows([HEADER])
  for (let after: string | null = null; ;) {
    const query: ContactSliceQuery = { columns: COLUMNS, after, limit: BATCH_SIZE, nowMs }
    const rows = await readSlice<ExportedContact>(db, selection, query)
    if (rows.length > 0) yield writeRows(rows.map(cellsOf))
    if (rows.length < BATCH_SIZE) return
    after = rows.at(-1)?.cursor ?? null
  }
}

function cellsOf(contact: ExportedContact): string[] {
  const { id, email, names, isSubscribed, isBlocked, tags, attributes, score, verifiedAt, createdAt, updatedAt } =
    contact
  return [
    id,
    email,
    ...names.map((name) => name ?? ''),
    isSubscribed === null ? '' : isSubscribed ? 'subscribed' : 'unsubscribed',
    isBlocked ? 'blocked' : 'subscribed',
    tags.join('|'),
    attributes === '{}' ? '' : attributes,
    score === null ? '' : String(score),
    verifiedAt?.toISOString() ?? '',
    createdAt.toISOString(),
    updatedAt.toISOString(),
  ]
}
