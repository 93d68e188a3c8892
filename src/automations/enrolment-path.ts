/**
 * The path of one contact through an automation: the steps that it passed, with the answers of conditions, and what
 * they sent or called. A loop must not fill the row: the first MAX_PATH_STEPS steps are stored.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Enrolment } from './enrol.ts'

/** A path that has as many gets no more. */
export const MAX_PATH_STEPS = 200

export interface PassedStep {
  readonly step: string
  readonly at: Date
  /** Of a condition, or of a wait for an event; null for other steps. */
  readonly answer: boolean | null
}

export interface EnrolmentPath extends Enrolment {
  readonly passed: readonly PassedStep[]
  readonly mails: readonly { readonly step: string; readonly messageId: string }[]
  readonly calls: readonly { readonly step: string; readonly id: string; readonly state: string }[]
}

interface PathRow extends Enrolment {
  readonly path: readonly (readonly [step: string, atMs: number, answer: boolean | null])[] | null
  readonly mails: readonly (readonly [step: string, messageId: string])[]
  readonly calls: EnrolmentPath['calls']
}

const FIND = sql`
  SELECT e.id, e.contact_id AS "contactId", c.email, e.state, e.version, e.step, e.due_at AS "dueAt", e.reason,
    e.created_at AS "createdAt", e.ended_at AS "endedAt", e.path,
    (
      SELECT coalesce(json_agg(json_build_array(k.step, k.message_id) ORDER BY k.message_id), '[]')
      FROM automation_mails k
      WHERE k.enrolment_id = e.id
    ) AS mails,
    (
      SELECT coalesce(json_agg(json_build_object('step', k.step, 'id', k.id, 'state', k.state) ORDER BY k.id), '[]')
      FROM automation_calls k
      WHERE k.automation_id = e.automation_id AND k.enrolment_id = e.id
    ) AS calls
  FROM enrolments e
  JOIN contacts c ON c.id = e.contact_id
  WHERE e.automation_id = $1 AND e.id = $2
`

/** Null: the automation has no such enrolment. */
export async function findEnrolmentPath(
  db: Queryable,
  automationId: string,
  id: string,
): Promise<EnrolmentPath | null> {
  const {
    rows: [row],
  } = await db.query<PathRow>(FIND, [automationId, id])
  if (row === undefined) return null
  const { path, mails, ...rest } = row
  return {
    ...rest,
    passed: (path ?? []).map(([step, atMs, answer]) => ({ step, at: new Date(atMs), answer })),
    mails: mails.map(([step, messageId]) => ({ step, messageId })),
  }
}
