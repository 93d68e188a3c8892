/**
 * Finds one contact by id or by address, within its workspace. Concurrent calls are batched into one statement; a call
 * that arrives while a statement runs joins the next one, so it sees everything written before the call. A contact that
 * is only in deleted audiences is not found (orphaned-contacts.ts).
 */
import { createBatcher } from '#src/concurrency/batcher.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_COLUMNS, type ContactFields } from './contact-fields.ts'
import { IS_ORPHANED } from './orphaned-contacts.ts'

export type ContactSelector = { readonly id: string } | { readonly email: string }

export interface ContactQuery {
  readonly workspaceId: string
  readonly contact: ContactSelector
  /** The audience whose subscription status is returned; null: the contact's latest membership. */
  readonly audienceId: string | null
}

/** A contact as the API returns it, with times in ISO 8601. */
export interface ContactDetails extends ContactFields {
  readonly customHeaders: Readonly<Record<string, unknown>> | null
  readonly score: number | null
  readonly verifiedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** Null if the contact is in no audience, or not in the requested one. */
  readonly isSubscribed: boolean | null
  /** On the suppression list. */
  readonly isBlocked: boolean
  /** The contact opted out of all campaigns and automations. */
  readonly isOptedOut: boolean
}

export interface ContactFinder {
  find(question: ContactQuery): Promise<ContactDetails | null>
}

const BATCH_OPTIONS = { max: 500, concurrency: 2 }
const isoText = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const findSql = (type: string, condition: string): string => sql`
  SELECT q.n::int AS n, ${CONTACT_COLUMNS}, c.custom_headers AS "customHeaders", c.score,
    ${isoText('c.verified_at')} AS "verifiedAt", ${isoText('c.created_at')} AS "createdAt",
    ${isoText('c.updated_at')} AS "updatedAt", m.is_subscribed AS "isSubscribed",
    EXISTS (SELECT 1 FROM suppressions s WHERE s.workspace_id = c.workspace_id AND s.address = c.email) AS "isBlocked",
    c.opted_out_at IS NOT NULL AS "isOptedOut"
  FROM unnest($1::uuid[], $2::${type}[], $3::uuid[]) WITH ORDINALITY AS q (workspace_id, name, audience_id, n)
  JOIN contacts c ON c.workspace_id = q.workspace_id AND ${condition} = q.name
  LEFT JOIN LATERAL (
    SELECT m.is_subscribed
    FROM memberships m
    JOIN audiences a ON a.id = m.audience_id AND a.deleted_at IS NULL
    WHERE m.contact_id = c.id AND (q.audience_id IS NULL OR m.audience_id = q.audience_id)
    ORDER BY m.created_at DESC, m.audience_id DESC
    LIMIT 1
  ) m ON true
  WHERE m.is_subscribed IS NOT NULL OR NOT ${IS_ORPHANED}
`

const BY_ID = prepared('contacts-find-by-id', findSql('uuid', 'c.id'))
const BY_EMAIL = prepared('contacts-find-by-email', findSql('text', 'c.email'))

type KeyedQuery = Omit<ContactQuery, 'contact'> & { readonly key: string }

export function createContactFinder(db: Queryable): ContactFinder {
  const byId = createBatcher((queries: KeyedQuery[]) => findBatch(db, BY_ID, queries), BATCH_OPTIONS)
  const byEmail = createBatcher((queries: KeyedQuery[]) => findBatch(db, BY_EMAIL, queries), BATCH_OPTIONS)
  return {
    find: ({ workspaceId, audienceId, contact }) =>
      'id' in contact
        ? byId.add({ workspaceId, audienceId, key: contact.id })
        : byEmail.add({ workspaceId, audienceId, key: contact.email }),
  }
}

async function findBatch(
  db: Queryable,
  statement: typeof BY_ID,
  queries: KeyedQuery[],
): Promise<(ContactDetails | null)[]> {
  const columns = columnsOf(queries, [(q) => q.workspaceId, (q) => q.key, (q) => q.audienceId])
  const { rows } = await db.query<ContactDetails & { n: number }>(statement, columns)
  const found = new Map(rows.map((row) => [row.n - 1, row]))
  return queries.map((_, i) => found.get(i) ?? null)
}
