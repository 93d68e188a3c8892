/**
 * One contact, by id or by address, always with its workspace. Questions that come together are one statement (`createFinder`); one that
 * comes while a statement is under way goes with the next, so what was written before the question is seen. A ghost is not found.
 */
import { createBatcher } from '#src/concurrency/batcher.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_FACTS, type ContactFacts } from './facts.ts'
import { GHOST } from './orphaned-contacts.ts'

export type ContactName = { readonly id: string } | { readonly email: string }

export interface ContactQuestion {
  readonly workspaceId: string
  readonly contact: ContactName
  /** Whose status is asked for; null: that of the latest membership. */
  readonly audienceId: string | null
}

/** As an answer has it: moments in ISO 8601. */
export interface FoundContact extends ContactFacts {
  readonly customHeaders: Readonly<Record<string, unknown>> | null
  readonly score: number | null
  readonly verifiedAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** Null: it is in no audience, or not in the one that was asked for. */
  readonly isSubscribed: boolean | null
  /** On the suppression list. */
  readonly isBlocked: boolean
  /** Wants no mail of campaigns and automations at all. */
  readonly isOptedOut: boolean
}

export interface Finder {
  find(question: ContactQuestion): Promise<FoundContact | null>
}

const BATCH = { max: 500, lanes: 2 }
const ISO = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const findText = (type: string, condition: string): string => sql`
  SELECT q.n::int AS n, ${CONTACT_FACTS}, c.custom_headers AS "customHeaders", c.score,
    ${ISO('c.verified_at')} AS "verifiedAt", ${ISO('c.created_at')} AS "createdAt",
    ${ISO('c.updated_at')} AS "updatedAt", m.is_subscribed AS "isSubscribed",
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
  WHERE m.is_subscribed IS NOT NULL OR NOT ${GHOST}
`

const BY_ID = prepared('contacts-find-by-id', findText('uuid', 'c.id'))
const BY_EMAIL = prepared('contacts-find-by-email', findText('text', 'c.email'))

type Named = Omit<ContactQuestion, 'contact'> & { readonly name: string }

export function createFinder(db: Queryable): Finder {
  const byId = createBatcher((questions: Named[]) => ask(db, BY_ID, questions), BATCH)
  const byEmail = createBatcher((questions: Named[]) => ask(db, BY_EMAIL, questions), BATCH)
  return {
    find: ({ workspaceId, audienceId, contact }) =>
      'id' in contact
        ? byId.add({ workspaceId, audienceId, name: contact.id })
        : byEmail.add({ workspaceId, audienceId, name: contact.email }),
  }
}

async function ask(db: Queryable, statement: typeof BY_ID, questions: Named[]): Promise<(FoundContact | null)[]> {
  const columns = columnsOf(questions, [(q) => q.workspaceId, (q) => q.name, (q) => q.audienceId])
  const { rows } = await db.query<FoundContact & { n: number }>(statement, columns)
  const found = new Map(rows.map((row) => [row.n - 1, row]))
  return questions.map((_, i) => found.get(i) ?? null)
}
