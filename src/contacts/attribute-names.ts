/**
 * The names of custom attributes that the contacts of a workspace have. Names are not stored apart from the contacts:
 * they are collected from some contacts, and a name that those do not have is searched in all of them, for a limited
 * time. What could not be decided in that time counts as known, so that no warning is wrong.
 */
import { nearestName } from '#src/platform/nearest-name.ts'
import { isStatementTimeout, type Db, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const SAMPLED_CONTACTS = 5000
const SEARCH_MS = 2000

const SAMPLE = sql`
  SELECT DISTINCT jsonb_object_keys(custom_attributes) AS name
  FROM (
    SELECT custom_attributes
    FROM contacts
    WHERE workspace_id = $1
    ORDER BY email
    LIMIT ${SAMPLED_CONTACTS}
  ) sampled
  ORDER BY name
`
const SEARCH = sql`
  SELECT wanted.name
  FROM unnest($2::text[]) AS wanted (name)
  WHERE EXISTS (SELECT FROM contacts c WHERE c.workspace_id = $1 AND c.custom_attributes ? wanted.name)
`

/** Names of attributes of some contacts. */
export async function listAttributes(db: Queryable, workspaceId: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(SAMPLE, [workspaceId])
  return rows.map(({ name }) => name)
}

export interface UnknownAttribute {
  readonly name: string
  /** An attribute that contacts have, and that was probably meant. */
  readonly nearest: string | null
}

/** Those of `names` that no contact of the workspace has. */
export async function findUnknownAttributes(
  db: Db,
  workspaceId: string,
  names: readonly string[],
): Promise<UnknownAttribute[]> {
  const wanted = [...new Set(names)]
  if (wanted.length === 0) return []
  const known = await listAttributes(db, workspaceId)
  const unsampled = wanted.filter((name) => !known.includes(name))
  const unknown = unsampled.length === 0 ? [] : await searchMissing(db, workspaceId, unsampled)
  return unknown.map((name) => ({ name, nearest: nearestName(name, known) }))
}

/** The names that no contact has; none if the search takes too long. */
async function searchMissing(db: Db, workspaceId: string, names: readonly string[]): Promise<readonly string[]> {
  try {
    return await db.snapshot(async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = ${SEARCH_MS}`)
      const found = await tx.query<{ name: string }>(SEARCH, [workspaceId, names])
      const existing = new Set(found.rows.map(({ name }) => name))
      return names.filter((name) => !existing.has(name))
    })
  } catch (error) {
    if (isStatementTimeout(error)) return []
    throw error
  }
}

/** A sentence for the person who wrote the name. */
export function describeUnknown({ name, nearest }: UnknownAttribute): string {
  return `No contact has the attribute "${name}".${nearest === null ? '' : ` Did you mean "${nearest}"?`}`
}
