/**
 * Contacts as CSV, slice by slice: no transaction and no memory grows with their number, and whoever stops reading stops the asking. Cells
 * are guarded against spreadsheets that would run them (src/platform/csv.ts); the import takes the guard off again, so a file comes back as it went.
 */
import type { Queryable } from '#src/stores/db.ts'
import { writeRows } from '#src/platform/csv.ts'
import { sql } from '#src/stores/sql.ts'
import { readSlice, type Selection, type SliceOrder } from './selection.ts'

const SLICE = 1000

interface Exported {
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

const PROFILE = ['first_name', 'last_name', 'company_name', 'job_title', 'phone_number', 'linkedin', 'timezone']
const COLUMNS = sql`
  c.id, c.email, ARRAY[${PROFILE.map((column) => `c.${column}`).join(', ')}] AS names,
  m.is_subscribed AS "isSubscribed",
  EXISTS (SELECT 1 FROM suppressions s WHERE s.workspace_id = c.workspace_id AND s.address = c.email) AS "isBlocked",
  c.tags, c.custom_attributes::text AS attributes, c.score, c.verified_at AS "verifiedAt", c.created_at AS "createdAt",
  c.updated_at AS "updatedAt"
`
const HEADER = [
  'id',
  'email',
  ...PROFILE,
  'status',
  'global_status',
  'tags',
  'custom_attributes',
  'deliverability_score',
  'email_verification_date',
  'created_at',
  'updated_at',
]

/** The header, then the rows of each slice. */
export async function* exportContacts(db: Queryable, selection: Selection, nowMs: number): AsyncGenerator<string> {
  yield writeRows([HEADER])
  for (let after: string | null = null; ;) {
    const order: SliceOrder = { columns: COLUMNS, after, limit: SLICE, nowMs }
    const rows = await readSlice<Exported>(db, selection, order)
    if (rows.length > 0) yield writeRows(rows.map(cellsOf))
    if (rows.length < SLICE) return
    after = rows.at(-1)?.cursor ?? null
  }
}

function cellsOf(contact: Exported): string[] {
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
