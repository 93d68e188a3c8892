/**
 * The steps of the first run of a workspace, read when a page asks. What was sent and delivered is known from the
 * statistics, some seconds later.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface FirstSteps {
  readonly hasDomain: boolean
  readonly isVerified: boolean
  readonly hasKey: boolean
  readonly hasSent: boolean
  readonly isDelivered: boolean
  /** The oldest domain that is not verified. */
  readonly openDomain: { readonly id: string; readonly name: string } | null
}

const STEPS = sql`
  SELECT EXISTS (SELECT FROM domains WHERE workspace_id = $1)
      OR EXISTS (SELECT FROM connected_accounts WHERE workspace_id = $1) AS "hasDomain",
    EXISTS (
      SELECT
      FROM domains
      WHERE workspace_id = $1 AND verification_status IN ('verified', 'degraded')
    ) OR EXISTS (SELECT FROM connected_accounts WHERE workspace_id = $1 AND state = 'active') AS "isVerified",
    EXISTS (
      SELECT
      FROM api_keys
      WHERE workspace_id = $1 AND kind = 'regular' AND is_active AND (expires_at IS NULL OR expires_at > now())
    ) AS "hasKey",
    EXISTS (
      SELECT
      FROM statistics
      WHERE workspace_id = $1 AND dimension = 'all' AND accepted > 0
    ) AS "hasSent",
    EXISTS (
      SELECT
      FROM statistics
      WHERE workspace_id = $1 AND dimension = 'all' AND delivered > 0
    ) AS "isDelivered",
    (
      SELECT json_build_object('id', id, 'name', domain)
      FROM domains
      WHERE workspace_id = $1 AND verification_status NOT IN ('verified', 'degraded')
      ORDER BY id
      LIMIT 1
    ) AS "openDomain"
`

export async function readFirstSteps(db: Queryable, workspaceId: string): Promise<FirstSteps> {
  const {
    rows: [row],
  } = await db.query<FirstSteps>(STEPS, [workspaceId])
  if (row === undefined) throw new Error('the statement that reads the first steps returned no row')
  return row
}
