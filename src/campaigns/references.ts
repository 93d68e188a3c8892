/**
 * Checks that everything a campaign or an automation references belongs to its workspace: templates, audiences,
 * segments, sending domains. Objects of other workspaces are reported as missing. The result is a snapshot; sending
 * checks again.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { sql } from '#src/stores/sql.ts'

export interface Reference {
  readonly kind: keyof typeof REFERENCE_KINDS
  /** An id; the address for kind `sender`. */
  readonly value: string
  /** Path of the field in the request. */
  readonly path: string
}

const REFERENCE_KINDS = {
  template: {
    statement: 'SELECT id AS found FROM templates WHERE workspace_id = $1 AND id = ANY ($2::uuid[])',
    keyOf: (value: string): string => value,
    missing: 'no such template exists',
  },
  audience: {
    statement:
      'SELECT id AS found FROM audiences WHERE workspace_id = $1 AND id = ANY ($2::uuid[]) AND deleted_at IS NULL',
    keyOf: (value: string): string => value,
    missing: 'no such audience exists',
  },
  segment: {
    statement: 'SELECT id AS found FROM segments WHERE workspace_id = $1 AND id = ANY ($2::uuid[])',
    keyOf: (value: string): string => value,
    missing: 'no such segment exists',
  },
  sender: {
    statement: sql`
      SELECT domain AS found
      FROM domains
      WHERE workspace_id = $1 AND domain = ANY ($2::text[]) AND verification_status IN ('verified', 'degraded')
    `,
    keyOf: (value: string): string => value.slice(value.lastIndexOf('@') + 1),
    missing: 'must be an address of a verified domain of the workspace',
  },
} as const

/** Returns one detail for each reference that does not exist. */
export async function validateReferences(
  db: Queryable,
  workspaceId: string,
  references: readonly Reference[],
): Promise<Detail[]> {
  const details: Detail[] = []
  for (const kind of Object.keys(REFERENCE_KINDS) as Reference['kind'][]) {
    const named = references.filter((reference) => reference.kind === kind)
    if (named.length === 0) continue
    const { statement, keyOf, missing } = REFERENCE_KINDS[kind]
    const { rows } = await db.query<{ found: string }>(statement, [
      workspaceId,
      [...new Set(named.map(({ value }) => keyOf(value)))],
    ])
    const found = new Set(rows.map((row) => row.found))
    details.push(
      ...named.filter(({ value }) => !found.has(keyOf(value))).map(({ path }) => ({ path, message: missing })),
    )
  }
  return details
}
