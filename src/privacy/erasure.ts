/**
 * Erases everything that a workspace stores about a person: the contact with its memberships, suppressions, messages
 * and events, in all spellings of the mailbox. A request is a row with its progress. A worker continues it slice by
 * slice; a slice is one transaction with the progress, so a worker that dies leaves nothing to repair, and two workers
 * take different requests.
 *
 * Mail to the person that waits is cancelled first. While a message is being sent, also to its other recipients, the
 * request waits for its result. Another process, such as an import, may store the person again meanwhile, so the steps
 * are repeated until all of them found nothing. A slice that fails is rolled back, and the request waits, for longer
 * each time, with the problem in its row; the others continue. The address is stored with the request until it is done,
 * and the audit log has only the id of the request.
 */
import { canonicalMailbox } from '#src/mail/canonical-mailbox.ts'
import { newId } from '#src/platform/id.ts'
import type { Context } from '#src/context.ts'
import { type Db, isDatabaseAway, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import {
  eraseAudited,
  eraseCaptured,
  eraseContacts,
  eraseFromLedgers,
  eraseImportErrors,
  eraseListed,
  eraseLost,
} from './erase-records.ts'
import { eraseReceived } from './erase-received.ts'
import { eraseEvents, eraseMessages } from './erase-messages.ts'
import { eraseCalls, eraseReports } from './erase-unlinked.ts'
import type { ErasureSlice, Person, SliceResult } from './person.ts'

/** In this order: first nothing new is sent, and what other steps need is deleted last. */
const STEPS: Readonly<Record<string, ErasureSlice>> = {
  contacts: eraseContacts,
  suppressions: eraseListed,
  messages: eraseMessages,
  events: eraseEvents,
  ledgers: eraseFromLedgers,
  calls: eraseCalls,
  reports: eraseReports,
  captured: eraseCaptured,
  received: eraseReceived,
  lost: eraseLost,
  imports: eraseImportErrors,
  audit: eraseAudited,
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
  /** Why the last slice failed; null once one succeeds. */
  readonly problem: string | null
  /** Rows by table. */
  readonly deleted: Readonly<Record<string, number>>
  readonly createdAt: Date
  readonly endedAt: Date | null
}

const COLUMNS = sql`
  id, state, step, is_waiting AS "isWaiting", problem, deleted, created_at AS "createdAt", ended_at AS "endedAt"
`

/** Begins an erasure, or returns the one that runs for the same mailbox. `email` is a parsed address. */
export async function beginErasure(db: Db, workspaceId: string, email: string): Promise<Erasure> {
  const { rows } = await db.query<Erasure>(
    sql`
      INSERT INTO erasures (id, workspace_id, email, mailbox, step)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (workspace_id, mailbox) WHERE state = 'running'
      -- what was stored since its pass began must not be missed
      DO UPDATE SET is_pass_empty = false, due_at = now()
      RETURNING ${COLUMNS}
    `,
    [newId(), workspaceId, email, canonicalMailbox(email), FIRST],
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

/** How long an erasure waits after a failure, or for mail that is being sent, in seconds: at first, and at most. */
const WAIT_SECONDS = 5
const LONGEST_PAUSE_SECONDS = 3600
/** Mail to other recipients may be open for days: a wait is this share of the age. */
const WAIT_SHARE = 0.02

interface LockedRow {
  readonly id: string
  readonly workspace_id: string
  readonly email: string
  readonly step: string
  readonly position: string | null
  readonly is_waiting: boolean
  readonly is_pass_empty: boolean
  readonly seconds: number
}

const LOCK = sql`
  SELECT id, workspace_id, email, step, position, is_waiting, is_pass_empty,
    extract(epoch FROM now() - created_at)::float8 AS seconds
  FROM erasures
  WHERE state = 'running' AND due_at <= now()
  ORDER BY due_at
  LIMIT 1
  FOR UPDATE SKIP LOCKED
`
const SAVE = sql`
  UPDATE erasures
  SET step = $2, position = $3, is_waiting = $4, due_at = now() + make_interval(secs => $5),
    deleted = $6::jsonb || (
      SELECT coalesce(jsonb_object_agg(key, coalesce((deleted ->> key)::bigint, 0) + value::bigint), '{}')
      FROM jsonb_each_text($6)
    ) || (deleted - ARRAY(SELECT jsonb_object_keys($6))),
    is_pass_empty = $7, failures = 0, problem = NULL
  WHERE id = $1
`
const END = sql`
  UPDATE erasures
  SET state = 'done', step = '', position = NULL, is_waiting = false, email = NULL, mailbox = NULL, ended_at = now()
  WHERE id = $1
`
const FAIL = sql`
  UPDATE erasures
  SET failures = failures + 1, problem = $2,
    due_at = now() + make_interval(secs => least(${LONGEST_PAUSE_SECONDS}, ${WAIT_SECONDS} * 2 ^ least(failures, 20)))
  WHERE id = $1 AND state = 'running'
`

/** Processes one slice of one erasure. False if none is due. */
export async function continueErasure({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): Promise<boolean> {
  let id: string | undefined
  try {
    return await db.bulk.transaction(async (tx) => {
      const {
        rows: [row],
      } = await tx.query<LockedRow>(LOCK)
      if (row === undefined) return false
      id = row.id
      await eraseSlice(tx, row, new Date(clock.now()))
      return true
    })
  } catch (error) {
    if (id === undefined || isDatabaseAway(error)) throw error
    log.error({ err: error, erasure: id }, 'a slice of an erasure failed; it is tried again later')
    await db.query(FAIL, [id, error instanceof Error ? error.message : String(error)])
    return true
  }
}

async function eraseSlice(tx: Queryable, row: LockedRow, now: Date): Promise<void> {
  const person: Person = { workspaceId: row.workspace_id, email: row.email }
  const { step, slice } = stepOf(row.step)
  const result = await slice(tx, person, { position: row.position, now })
  // a walk that begins again finds out anew
  const isWaiting = (row.position !== null && row.is_waiting) || result.isWaiting === true
  const isPassEmpty = row.is_pass_empty && Object.values(result.deleted).every((count) => count === 0)
  const next = nextStep(step, result, { isWaiting, isPassEmpty })
  await tx.query(SAVE, [
    row.id,
    next.step,
    result.next,
    next.isAgain ? true : isWaiting && next.step === step,
    next.isAgain ? Math.min(LONGEST_PAUSE_SECONDS, Math.max(WAIT_SECONDS, row.seconds * WAIT_SHARE)) : 0,
    JSON.stringify(result.deleted),
    next.isNewPass || isPassEmpty,
  ])
  if (next.step === '') await tx.query(END, [row.id])
}

/** A step that another version of the program knew begins the pass again. */
function stepOf(name: string): { readonly step: string; readonly slice: ErasureSlice } {
  const slice = STEPS[name]
  return slice === undefined ? { step: FIRST, slice: eraseContacts } : { step: name, slice }
}

interface NextStep {
  readonly step: string
  /** It left mail which was being sent, so it begins again later. */
  readonly isAgain: boolean
  readonly isNewPass: boolean
}

interface StepEnd {
  readonly isWaiting: boolean
  readonly isPassEmpty: boolean
}

function nextStep(step: string, { next }: SliceResult, { isWaiting, isPassEmpty }: StepEnd): NextStep {
  if (next !== null) return { step, isAgain: false, isNewPass: false }
  if (isWaiting) return { step, isAgain: true, isNewPass: false }
  const following = STEP_NAMES[STEP_NAMES.indexOf(step) + 1]
  if (following !== undefined) return { step: following, isAgain: false, isNewPass: false }
  return isPassEmpty ? { step: '', isAgain: false, isNewPass: false } : { step: FIRST, isAgain: false, isNewPass: true }
}
