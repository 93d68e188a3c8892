/**
 * Looking at an automation that runs: how many passed each step and wait at it, what its webhook steps told, and a rehearsal with a
 * contact.
 */
import type { Queryable } from '#src/stores/db.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { audienceOf, loadContactsOf } from './due.ts'
import { findObstacles, type MailStepOf } from './mail-steps.ts'
import { compileSteps } from './step-program.ts'
import { rehearse, type Assumed, type Rehearsal } from './dry-run.ts'
import { placedSteps } from './steps.ts'
import type { Automation } from './store.ts'

export interface StepCount {
  readonly step: string
  readonly passed: number
  readonly waiting: number
}

/** Of every step that anybody was at, those of older versions too. What is not folded yet belongs to it. */
export async function readStepCounts(db: Queryable, automationId: string): Promise<StepCount[]> {
  const { rows } = await db.query<StepCount>(
    sql`
      SELECT step, sum(passed)::bigint AS passed, sum(waiting)::bigint AS waiting
      FROM (
        SELECT step, passed, waiting
        FROM automation_steps
        WHERE automation_id = $1
        UNION ALL
        SELECT step, passed, waiting
        FROM automation_step_changes
        WHERE automation_id = $1
      ) both_sides
      GROUP BY step
      ORDER BY step
    `,
    [automationId],
  )
  return rows
}

export interface CallLine {
  readonly id: string
  readonly step: string
  readonly url: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly tries: number
  readonly dueAt: Date
  readonly answer: string | null
  readonly createdAt: Date
}

/** What its webhook steps had to tell, the newest first. */
export function listCalls(db: Queryable, automationId: string, wish: PageWish): Promise<Page<CallLine>> {
  return readPage(
    db,
    {
      columns: 'id, step, url, state, tries, due_at AS "dueAt", answer, created_at AS "createdAt"',
      from: 'automation_calls',
      where: 'automation_id = $1',
      order: 'id DESC',
      values: [automationId],
    },
    wish,
  )
}

interface Order {
  readonly workspaceId: string
  readonly email: string
  readonly event: Readonly<Record<string, unknown>> | null
  readonly assumed: Assumed
  readonly nowMs: number
}

/** Null: the workspace has no such contact. Nothing is stored. */
export async function rehearseWith(db: Queryable, automation: Automation, order: Order): Promise<Rehearsal | null> {
  const { workspaceId, email, event, assumed, nowMs } = order
  const { id: automationId, version, triggerType, triggerConfig, steps } = automation
  const {
    rows: [person],
  } = await db.query<{ id: string }>('SELECT id FROM contacts WHERE workspace_id = $1 AND email = $2', [
    workspaceId,
    email,
  ])
  if (person === undefined) return null
  const key = triggerConfig['audience_id']
  const whose = { workspaceId, contactId: person.id, triggerType, triggerKey: typeof key === 'string' ? key : null }
  const contact = (await loadContactsOf(db, [whose])).get(0)
  if (contact === undefined) return null
  const mails = placedSteps(steps).flatMap(({ step }): MailStepOf[] =>
    step.type === 'send_email' ? [{ workspaceId, automationId, version, step }] : [],
  )
  const found = await findObstacles(db, mails)
  const obstacles = new Map(mails.map(({ step }, i) => [step.id, found[i] ?? null]))
  const obstacle = ({ id }: { readonly id: string }): string | null => obstacles.get(id) ?? null
  return rehearse(
    compileSteps(steps),
    { contact, event, refusal: contact.refusal, audienceId: audienceOf(whose), nowMs, obstacle },
    assumed,
  )
}
