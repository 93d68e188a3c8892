/**
 * Erases everything that a workspace stores about a person: the contact with its memberships, suppressions, messages
 * and events, in all spellings of the mailbox. A request is a row with its progress. A worker continues it slice by
 * slice; a slice is one transaction with the progress, so a worker that dies leaves nothing to repair, and two workers
 * take different requests.
 *
 * Mail to the person that waits is cancelled first. While mail is being sent, the request waits for its result. The
 * address is stored with the request until it is done, and the audit log has only the id of the request.
 */
import { newId } from '#src/platform/id.ts'
import type { Context } from '#src/context.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { eraseContacts, eraseListed, eraseOther } from './erase-records.ts'
import { eraseEvents, eraseMessages } from './erase-messages.ts'
import type { ErasureSlice, Person, SliceResult } from './person.ts'

/** In this order: first nothing new is sent, and what other steps need is deleted last. */
const STEPS: Readonly<Record<string, ErasureSlice>> = {
  contacts: eraseContacts,
  suppressions: eraseListed,
  messages: eraseMessages,
  events: eraseEvents,
  other: eraseOther,
}
const STEP_NAMES = Object.keys(STEPS)
const FIRST = STEP_NAMES[0] ?? ''

export interface Erasure {
  readonly id: string
  readonly state: 'running' | 'done'
  /** The present step; empty once it is done. */
  readonly step: string
  /** Mail to the person is being sent; the erasure waits for the result. */
  readonly isWaiting: boolean
  /** Rows by table. */
  readonly deleted: Readonly<Record<string, number>>
  readonly createdAt: Date
  readonly endedAt: Date | null
}

const COLUMNS = sql`
  id, state, step, is_waiting AS "isWaiting", deleted, created_at AS "createdAt", ended_at AS "endedAt"
`

/** Begins an erasure, or returns the one that runs for the same mailbox. `email` is a parsed address. */
export async function beginErasure(db: Db, workspaceId: string, email: string): Promise<Erasure> {
  const { rows } = await db.query<Erasure>(
    `INSERT INTO erasures (id, workspace_id, email, step) VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`,
    [newId(), workspaceId, email, FIRST],
  )
  const [erasure] = rows
  if (erasure === undefined) throw new Error('the erasure was not stored')
  return erasure
}

/** Null: the workspace has no such erasure. */
export async function findErasure(db: Queryable, workspaceId: string, id: string): Promise<Erasure | null> {
  const { rows } = await db.query<Erasure>(`SELECT ${COLUMNS} FROM erasures WHERE workspace_id = $1 AND id = $2`, [
    workspaceId,
    id,
  ])
  return rows[0] ?? null
}

interface LockedRow {
  readonly id: string
  readonly workspace_id: string
  readonly email: string
  readonly step: string
  readonly position: string | null
  readonly is_waiting: boolean
}

const LOCK = sql`
  SELECT id, workspace_id, email, step, position, is_waiting
  FROM erasures
  WHERE state = 'running' AND due_at <= now()
  ORDER BY due_at
  LIMIT 1
  FOR UPDATE SKIP LOCKED
`
const SAVE = sql`
  UPDATE erasures
  SET step = $2, position = $3, is_waiting = $4, due_at = now() + make_interval(secs => $5), deleted = $6::jsonb || (
    SELECT coalesce(jsonb_object_agg(key, coalesce((deleted ->> key)::bigint, 0) + value::bigint), '{}')
    FROM jsonb_each_text($6)
  ) || (deleted - ARRAY(SELECT jsonb_object_keys($6)))
  WHERE id = $1
`
const END = sql`
  UPDATE erasures
  SET state = 'done', step = '', position = NULL, is_waiting = false, email = NULL, ended_at = now()
  WHERE id = $1
`

/** How long an erasure waits for mail that is being sent, in seconds. */
const WAIT_SECONDS = 5

/** Processes one slice of one erasure. False if none is due. */
export function continueErasure(ctx: Pick<Context, 'db' | 'clock'>): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const {
      rows: [row],
    } = await tx.query<LockedRow>(LOCK)
    if (row === undefined) return false
    const person: Person = { workspaceId: row.workspace_id, email: row.email }
    const slice = STEPS[row.step] ?? STEPS[FIRST]
    if (slice === undefined) return false
    const result = await slice(tx, person, { position: row.position, now: new Date(ctx.clock.now()) })
    // a walk that begins again finds out anew
    const isWaiting = (row.position !== null && row.is_waiting) || result.isWaiting === true
    const next = nextStep(row.step, result, isWaiting)
    await tx.query(SAVE, [
      row.id,
      next.step,
      result.next,
      next.isAgain ? true : isWaiting && next.step === row.step,
      next.isAgain ? WAIT_SECONDS : 0,
      JSON.stringify(result.deleted),
    ])
    if (next.step === '') await tx.query(END, [row.id])
    return true
  })
}

/** A step that left mail which was being sent begins again. */
function nextStep(
  step: string,
  { next }: SliceResult,
  isWaiting: boolean,
): { readonly step: string; readonly isAgain: boolean } {
  if (next !== null) return { step, isAgain: false }
  if (isWaiting) return { step, isAgain: true }
  return { step: STEP_NAMES[STEP_NAMES.indexOf(step) + 1] ?? '', isAgain: false }
}
