/**
 * What automations leave to be done behind them, a slice at a time: notes folded into the counts, enrolments of archived automations
 * ended, and those that ended long ago forgotten with what is known of their mails; the counts keep them. A slice that fails is taken
 * again. Two workers may do it at once: they take the notes in the same order, so one waits for the other, and pass over each other's
 * enrolments.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const SLICE = 5000
/** Days that is known who was in an automation, after the end. */
const KEPT_DAYS = 90

const FOLD = prepared(
  'enrolments-fold',
  sql`
    WITH taken AS (
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
    folded AS (
      UPDATE automations a
      SET enrolled_count = enrolled_count + n.enrolled,
        completed_count = completed_count + n.completed,
        active_count = active_count + n.active
      FROM (
        SELECT automation_id, sum(enrolled) AS enrolled, sum(completed) AS completed, sum(active) AS active
        FROM taken
        GROUP BY automation_id
      ) n
      WHERE a.id = n.automation_id
    )
    SELECT count(*) AS n
    FROM taken
  `,
)

const FOLD_STEPS = prepared(
  'automation-steps-fold',
  sql`
    WITH taken AS (
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
    folded AS (
      INSERT INTO automation_steps AS s (automation_id, step, passed, waiting)
      SELECT automation_id, step, sum(passed), sum(waiting)
      FROM taken t
      WHERE EXISTS (SELECT FROM automations a WHERE a.id = t.automation_id)
      GROUP BY automation_id, step
      ORDER BY automation_id, step
      ON CONFLICT (automation_id, step)
      DO UPDATE SET passed = s.passed + excluded.passed, waiting = s.waiting + excluded.waiting
    )
    SELECT count(*) AS n
    FROM taken
  `,
)

/** Those of the steps. True when there may be more. */
export async function foldSteps(db: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(FOLD_STEPS)
  return row?.n === SLICE
}

/** True when there may be more. */
export async function foldCounts(db: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(FOLD)
  return row?.n === SLICE
}

// by the folded count, so that automations which nobody is in cost nothing
const END_ARCHIVED = prepared(
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

/** True when there may be more. */
export async function endArchived(db: Queryable, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(END_ARCHIVED, [now])
  return rowCount === SLICE
}

const CLEAR_ENDED = prepared(
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
    gone AS (
      DELETE FROM enrolments e
      USING old o
      WHERE e.automation_id = o.automation_id AND e.id = o.id
      RETURNING e.id
    ),
    mails AS (
      DELETE FROM automation_mails k
      USING gone g
      WHERE k.enrolment_id = g.id
    )
    SELECT count(*) AS n
    FROM gone
  `,
)

/** True when there may be more. */
export async function clearEnded(db: Queryable, now: Date): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ n: number }>(CLEAR_ENDED, [new Date(now.getTime() - KEPT_DAYS * 86_400_000)])
  return row?.n === SLICE
}
