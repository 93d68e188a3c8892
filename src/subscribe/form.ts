/**
 * The public form of an audience: found by the token in its URL, gone when the audience is deleted or its workspace is
 * suspended.
 */
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface SubscribeForm {
  readonly workspaceId: string
  readonly audienceId: string
  /** Name of the audience, as its owner wrote it. */
  readonly name: string
  /** Joining needs a second step: the link in a confirmation message. */
  readonly isDoubleOptIn: boolean
}

const TOKEN = /^[0-9a-f]{32}$/
const COLUMNS = 'workspace_id AS "workspaceId", id AS "audienceId", name, is_double_opt_in AS "isDoubleOptIn"'
/** The form shows texts of the workspace, so a suspension closes it. */
const IS_OPEN = `deleted_at IS NULL AND NOT ${suspendedEntirely('workspace_id')}`
const FIND = prepared(
  'subscribe-form-by-token',
  `SELECT ${COLUMNS} FROM audiences WHERE subscribe_token = $1 AND ${IS_OPEN}`,
)
const FIND_BY_ID = prepared(
  'subscribe-form-by-id',
  sql`
    SELECT ${COLUMNS}
    FROM audiences
    WHERE id = $2 AND workspace_id = $1 AND ${IS_OPEN}
  `,
)

/** Null if the token is unknown, its audience was deleted or its workspace is suspended. */
export async function findForm(db: Queryable, token: string): Promise<SubscribeForm | null> {
  if (!TOKEN.test(token)) return null
  const { rows } = await db.query<SubscribeForm>(FIND, [token])
  return rows[0] ?? null
}

export async function findFormByAudience(
  db: Queryable,
  at: Pick<SubscribeForm, 'workspaceId' | 'audienceId'>,
): Promise<SubscribeForm | null> {
  const { rows } = await db.query<SubscribeForm>(FIND_BY_ID, [at.workspaceId, at.audienceId])
  return rows[0] ?? null
}
