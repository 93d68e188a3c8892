/**
 * The operator's actions: one permanent row for each. Rows of mail actions also have their progress
 * (`actions.ts`).
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId, timeOf } from '#src/platform/id.ts'
import { mapPage, newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

export type ActionVerb = 'retry' | 'drop' | 'bounce' | 'suspend' | 'resume' | 'pool' | 'dry-run' | 'review'
/** The filter of the mail, or the suspended object. */
export type ActionSubject = Readonly<Record<string, string>>

export interface ActionRequest {
  readonly verb: ActionVerb
  readonly reason: string
  /** The operator, as far as known. */
  readonly by: string
}

export interface OperatorAction extends ActionRequest {
  readonly id: string
  readonly subject: ActionSubject
  readonly state: 'running' | 'done'
  /** Changed recipients. */
  readonly moved: number
  /** Examined recipients. */
  readonly seen: number
  readonly beganAt: Date
  readonly endedAt: Date | null
}

const MAX_REASON = 500

export async function recordAction(
  ctx: Pick<Context, 'db' | 'clock'>,
  request: ActionRequest & { readonly subject: ActionSubject },
  state: OperatorAction['state'],
): Promise<OperatorAction> {
  const id = newId(ctx.clock.now())
  const [reason, by] = [request.reason.slice(0, MAX_REASON), request.by.slice(0, MAX_REASON)]
  await ctx.db.query(
    sql`
      INSERT INTO operator_actions (id, verb, subject, reason, done_by, state, ended_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
    `,
    [
      id,
      request.verb,
      JSON.stringify(request.subject),
      reason,
      by,
      state,
      state === 'done' ? new Date(ctx.clock.now()) : null,
    ],
  )
  const beganAt = new Date(timeOf(id))
  return {
    id,
    verb: request.verb,
    subject: request.subject,
    reason,
    by,
    state,
    moved: 0,
    seen: 0,
    beganAt,
    endedAt: state === 'done' ? beganAt : null,
  }
}

const COLUMNS = `id, verb, subject, reason, done_by AS by, state, moved, seen, ended_at AS "endedAt"`

/** Null when the action does not exist. */
export async function findAction(db: Queryable, id: string): Promise<OperatorAction | null> {
  const { rows } = await db.query<Omit<OperatorAction, 'beganAt'>>(
    `SELECT ${COLUMNS} FROM operator_actions WHERE id = $1`,
    [id],
  )
  return rows[0] === undefined ? null : { ...rows[0], beganAt: new Date(timeOf(rows[0].id)) }
}

/** The newest first, before a cursor. */
export async function listActions(
  db: Queryable,
  page: Pick<PageRequest, 'limit' | 'at'> & { readonly before: string | null },
): Promise<Page<OperatorAction>> {
  const where = '($1::uuid IS NULL OR id < $1)'
  const listing = { columns: COLUMNS, from: 'operator_actions', where, order: newestFirst(), values: [page.before] }
  const found = await readUncounted<Omit<OperatorAction, 'beganAt'>>(db, listing, page)
  return mapPage(found, (row) => ({ ...row, beganAt: new Date(timeOf(row.id)) }))
}
