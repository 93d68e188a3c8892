/** Stores the new position of each enrolment in a slice, and counts how often each step was passed. */
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_PATH_STEPS } from './enrolment-path.ts'
import type { DueEnrolment } from './due-enrolments.ts'
import type { StepRunResult } from './step-engine.ts'

export interface EnrolmentRun {
  readonly enrolment: DueEnrolment
  readonly contact: ContactFields
  readonly result: StepRunResult
  /** The program has a condition on opens. */
  readonly needsOpens: boolean
}

const MOVE = prepared(
  'enrolments-move',
  sql`
    UPDATE enrolments e
    SET state = i.state,
      step = i.step,
      version = i.version,
      due_at = coalesce(i.due_at, e.due_at),
      waits_for = i.waits_for,
      heard = i.heard,
      properties = coalesce(i.properties, e.properties),
      path = CASE
        WHEN i.path IS NULL OR jsonb_array_length(coalesce(e.path, '[]')) >= ${MAX_PATH_STEPS} THEN e.path
        ELSE coalesce(e.path, '[]') || i.path
      END,
      troubles = 0,
      reason = i.reason,
      ended_at = CASE WHEN i.state <> 'active' THEN $11::timestamptz END
    FROM unnest(
      $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::timestamptz[], $7::text[], $8::text[], $9::jsonb[],
      $10::jsonb[], $12::jsonb[]
    ) AS i (automation_id, id, state, step, version, due_at, waits_for, reason, heard, properties, path)
    WHERE e.automation_id = i.automation_id AND e.id = i.id
  `,
)

export async function moveEnrolments(tx: Queryable, runs: readonly EnrolmentRun[], now: Date): Promise<void> {
  const rows = runs.map(
    ({ enrolment: { automationId, id, version, properties }, result: { end, event, receivedEvents, passed } }) => ({
      automationId,
      id,
      version,
      heard: receivedEvents.length === 0 ? null : JSON.stringify(receivedEvents),
      properties: event === properties ? null : jsonOrNull(event),
      state: end.kind === 'waits' ? 'active' : end.kind,
      step: end.kind === 'waits' ? end.step : null,
      dueAt: end.kind === 'waits' ? new Date(end.dueMs) : null,
      waitsFor: end.kind === 'waits' ? end.event : null,
      reason: end.kind === 'completed' ? null : end.reason,
      path: passed.length === 0 ? null : JSON.stringify(passed.map((step) => [step.id, now.getTime(), step.answer])),
    }),
  )
  await tx.query(MOVE, [
    ...columnsOf(rows, [
      (r) => r.automationId,
      (r) => r.id,
      (r) => r.state,
      (r) => r.step,
      (r) => r.version,
      (r) => r.dueAt,
      (r) => r.waitsFor,
      (r) => r.reason,
      (r) => r.heard,
      (r) => r.properties,
    ]),
    now,
    rows.map(({ path }) => path),
  ])
}

const RECORD_PASSED = prepared(
  'automation-steps-passed',
  sql`
    INSERT INTO automation_step_changes (automation_id, step, passed, waiting)
    SELECT *, 0
    FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS i
  `,
)

export async function recordPassedSteps(tx: Queryable, runs: readonly EnrolmentRun[]): Promise<void> {
  const counts = new Map<string, number>()
  for (const {
    enrolment: { automationId },
    result: { passed },
  } of runs)
    for (const { id } of passed) counts.set(`${automationId} ${id}`, (counts.get(`${automationId} ${id}`) ?? 0) + 1)
  if (counts.size === 0) return
  const rows = [...counts].map(([key, count]) => [...key.split(' '), count] as const)
  await tx.query(
    RECORD_PASSED,
    columnsOf(rows, [([automationId]) => automationId, ([, step]) => step, ([, , count]) => count]),
  )
}
