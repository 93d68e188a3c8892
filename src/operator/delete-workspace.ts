/**
 * Deletes a workspace with everything in it: first nothing new can enter, then its queued mail is dropped, then its
 * objects are deleted in slices, and the workspace last. Each step can be repeated. If the process dies, mail of the
 * workspace stays suspended and its keys stay off; deleting it again continues.
 *
 * Its messages, attempts and events are deleted a week later (src/retention/row-deletion.ts), and until then no key can
 * read them. A request that was authorised before may still be accepted; its domain is gone, so it fails.
 */
import type { Context } from '#src/context.ts'
import { listDomains } from '#src/domains/domains.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { markGone } from '#src/retention/row-deletion.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { beginAction, continueAction } from './actions.ts'

export interface DeletionOptions {
  /** Who deletes it, for the record of the dropped mail. */
  readonly by: string
  /** Is called after each slice with the number of rows deleted so far. */
  readonly onProgress: (step: string, deleted: number) => void
}

export interface Deletion {
  /** Recipients whose mail was still to be sent. */
  readonly dropped: number
  /** Rows of contacts, memberships, campaigns and so on. */
  readonly deleted: number
}

type DeletionDeps = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

const REASON = 'the workspace is deleted'
const SLICE = 2000

/** Statements that delete at most $2 rows of workspace $1, in this order; each is repeated until it finds none. */
const STEPS: readonly (readonly [step: string, statement: string])[] = [
  [
    'automation runs',
    sql`
      WITH slice AS (
        SELECT e.automation_id, e.id
        FROM automations a
        JOIN enrolments e ON e.automation_id = a.id
        WHERE a.workspace_id = $1
        LIMIT $2
      ),
      deleted AS (
        DELETE FROM enrolments e
        USING slice s
        WHERE e.automation_id = s.automation_id AND e.id = s.id
        RETURNING e.id
      ),
      mails AS (
        DELETE FROM automation_mails m
        USING deleted d
        WHERE m.enrolment_id = d.id
      )
      SELECT id
      FROM deleted
    `,
  ],
  [
    'webhook calls',
    sql`
      DELETE FROM automation_calls
      WHERE id IN (
        SELECT c.id
        FROM automations a
        JOIN automation_calls c ON c.automation_id = a.id
        WHERE a.workspace_id = $1
        LIMIT $2
      )
    `,
  ],
  [
    'campaign recipients',
    sql`
      DELETE FROM campaign_recipients
      WHERE (campaign_id, contact_id) IN (
        SELECT r.campaign_id, r.contact_id
        FROM campaigns c
        JOIN campaign_recipients r ON r.campaign_id = c.id
        WHERE c.workspace_id = $1
        LIMIT $2
      )
    `,
  ],
  [
    'memberships',
    sql`
      DELETE FROM memberships
      WHERE (audience_id, contact_id) IN (
        SELECT m.audience_id, m.contact_id
        FROM audiences a
        JOIN memberships m ON m.audience_id = a.id
        WHERE a.workspace_id = $1
        LIMIT $2
      )
    `,
  ],
  ['contacts', sliceOf('contacts', 'id')],
  ['suppressions', sliceOf('suppressions', 'workspace_id, address')],
  ['captured mail', sliceOf('sandbox_inbox', 'id')],
  ['idempotency keys', sliceOf('idempotency_keys', 'workspace_id, key')],
  ['imports', sliceOf('imports', 'id')],
  // what is counted from now on: src/statistics/roll-up.ts
  ['statistics', sliceOf('statistics', 'workspace_id, dimension, at, resolution, value')],
  ['replies of receivers', sliceOf('receiver_replies', 'workspace_id, receiver, class')],
  ['clicks', sliceOf('link_clicks', 'workspace_id, content, day, url')],
]

function sliceOf(table: string, key: string): string {
  return sql`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE workspace_id = $1 LIMIT $2)`
}

/** Ends what creates mail by itself. */
const STOPS = [
  'UPDATE api_keys SET is_active = false WHERE workspace_id = $1 AND is_active',
  `UPDATE automations SET status = 'archived' WHERE workspace_id = $1 AND status <> 'archived'`,
] as const

export async function deleteWorkspace(
  ctx: DeletionDeps,
  workspaceId: string,
  { by, onProgress }: DeletionOptions,
): Promise<Deletion> {
  for (const statement of STOPS) await ctx.db.query(statement, [workspaceId])
  await suspend(ctx, { kind: 'workspace', subject: workspaceId }, REASON)
  for (const { id } of await listDomains(ctx.db, workspaceId, Number.MAX_SAFE_INTEGER))
    await removeDomain(ctx, workspaceId, id)
  let dropped = await dropMail(ctx, workspaceId, by)
  let deleted = 0
  for (const [step, statement] of STEPS) {
    for (let rows = SLICE; rows > 0;) {
      rows = await deleteSlice(ctx.db, statement, workspaceId)
      deleted += rows
      onProgress(step, deleted)
    }
  }
  await markGone(ctx.db, workspaceId)
  await ctx.db.query('DELETE FROM workspaces WHERE id = $1', [workspaceId])
  // a campaign or an automation may have been in the middle of a slice
  dropped += await dropMail(ctx, workspaceId, by)
  await resume(ctx, { kind: 'workspace', subject: workspaceId })
  return { dropped, deleted }
}

async function deleteSlice(db: Queryable, statement: string, workspaceId: string): Promise<number> {
  return (await db.query(statement, [workspaceId, SLICE])).rowCount ?? 0
}

async function dropMail(ctx: DeletionDeps, workspaceId: string, by: string): Promise<number> {
  const { id } = await beginAction(ctx, { verb: 'drop', filter: { workspace: workspaceId }, reason: REASON, by })
  let dropped = 0
  await continueAction(ctx, id, Infinity, (_, moved) => {
    dropped += moved
  })
  return dropped
}
