/**
 * Background maintenance of automations, in slices: applies counter deltas, ends enrolments of archived automations,
 * and deletes enrolments that ended long ago together with their message links; the counters keep them. A failed slice
 * runs again. Two workers may run at once: they lock deltas in the same order, so one waits for the other, and they
 * skip each other's enrolments.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const SLICE = 5000
/** Days that an ended enrolment is retained. */
const RETENTION_DAYS = 90

const APPLY_DELTAS = prepared(
  'enrolments-apply-deltas',
  sql`
    WITH deltas AS (
      DELETE FROM enrolment_changes
      WHERE id IN (
        SELECT id
        FROM enrolment_changes
        ORDER BY id
        LIMIT ${SLICE}
        FOR UPDATE
      )
      RETURNING automation_id, enrolled, completed, active
    ),
    applied AS (
      UPDATE automations a
      SET enrolled_count = enrolled_count + n.enrolled,
        completed_count = completed_count + n.completed,
        active_count = active_count + n.active
      FROM (
        SELECT automation_id, sum(enrolled) AS enrolled, sum(completed) AS completed, sum(active) AS active
        FROM deltas
        GROUP BY automation_id
      ) n
      WHERE a.id = n.automation_id
    )
    SELECT count(*) AS n
    FROM deltas
  `,
)

const APPLY_STEP_DELTAS = prepared(
  'automation-steps-apply-deltas',
  sql`
    WITH deltas AS (
      DELETE FROM automation_step_changes
      WHERE id IN (
        SELECT id
        FROM automation_step_changes
        ORDER BY id
        LIMIT ${SLICE}
        FOR UPDATE
      )
      RETURNING automation_id, step, passed, waiting
    ),
    applied AS (
      INSERT INTO automation_steps AS s (automation_id, step, passed, waiting)
      SELECT automation_id, step, sum(passed), sum(waiting)
      FROM deltas t
      WHERE EXISTS (SELECT FROM automations a WHERE a.id = t.automation_id)
      GROUP BY automation_id, step
      ORDER BY automation_id, step
      ON CONFLICT (automation_id, step)
      DO UPDATE SET passed = s.passed + excluded.passed, waiting = s.waiting + excluded.waiting
    )
    SELECT count(*) AS n
    FROM deltas
  `,
)

/** Applies one batch of step counter deltas. Returns true if there may be more. */
export async function applyStepCounterDeltas(db: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(APPLY_STEP_DELTAS)
  return row?.n === SLICE
}

/** Processes one slice. Returns true if there may be more. */
export async function applyCounterDeltas(db: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(APPLY_DELTAS)
  return row?.n === SLICE
}

// Filters by the applied counter, so that automations without contacts cost nothing.
const EXIT_ARCHIVED = prepared(
  'enrolments-end-archived',
  sql`
    UPDATE enrolments
    SET state = 'exited', reason = 'the automation was archived', ended_at = $1, step = NULL
    WHERE (automation_id, id) IN (
        SELECT a.id, e.id
        FROM automations a,
          LATERAL (
            SELECT id
            FROM enrolments
            WHERE automation_id = a.id AND state = 'active'
            LIMIT ${SLICE}
            FOR UPDATE SKIP LOCKED
          ) e
        WHERE a.status = 'archived' AND a.active_count > 0
        LIMIT ${SLICE}
      )
      AND state = 'active'
  `,
)

/** Processes one slice. Returns true if there may be more. */
export async function exitArchived(db: Queryable, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(EXIT_ARCHIVED, [now])
  return rowCount === SLICE
}

const DELETE_ENDED = prepared(
  'enrolments-clear-ended',
  sql`
    WITH old AS MATERIALIZED (
      SELECT automation_id, id
      FROM enrolments
      WHERE state <> 'active' AND ended_at < $1
      ORDER BY ended_at
      LIMIT ${SLICE}
      FOR UPDATE SKIP LOCKED
    ),
    deleted AS (
      DELETE FROM enrolments e
      USING old o
      WHERE e.automation_id = o.automation_id AND e.id = o.id
      RETURNING e.id
    ),
    mails AS (
      DELETE FROM automation_mails k
      USING deleted g
      WHERE k.enrolment_id = g.id
    )
    SELECT count(*) AS n
    FROM deleted
  `,
)

/** Processes one slice. Returns true if there may be more. */
export async function deleteEnded(db: Queryable, now: Date): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(DELETE_ENDED, [new Date(now.getTime() - RETENTION_DAYS * 86_400_000)])
  return row?.n === SLICE
}
