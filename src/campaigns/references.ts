/**
 * Do the things that a campaign or an automation names belong to its workspace: templates, audiences, segments, sending domains? Another
 * workspace's are as good as none. The answer holds for this moment; whoever sends looks again.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { sql } from '#src/stores/sql.ts'

export interface Reference {
  readonly kind: keyof typeof KINDS
  /** An id; of `sender` the address. */
  readonly value: string
  /** Where it stands in what the client wrote. */
  readonly path: string
}

const KINDS = {
  template: {
    statement: 'SELECT id AS found FROM templates WHERE workspace_id = $1 AND id = ANY ($2::uuid[])',
    keyOf: (value: string): string => value,
    missing: 'there is no such template',
  },
  audience: {
    statement:
      'SELECT id AS found FROM audiences WHERE workspace_id = $1 AND id = ANY ($2::uuid[]) AND deleted_at IS NULL',
    keyOf: (value: string): string => value,
    missing: 'there is no such audience',
  },
  segment: {
    statement: 'SELECT id AS found FROM segments WHERE workspace_id = $1 AND id = ANY ($2::uuid[])',
    keyOf: (value: string): string => value,
    missing: 'there is no such segment',
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

/** A detail for each that is not there. */
export async function judgeReferences(
  db: Queryable,
  workspaceId: string,
  references: readonly Reference[],
): Promise<Detail[]> {
  const details: Detail[] = []
  for (const kind of Object.keys(KINDS) as Reference['kind'][]) {
    const named = references.filter((reference) => reference.kind === kind)
    if (named.length === 0) continue
    const { statement, keyOf, missing } = KINDS[kind]
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
