/**
 * Inspects a running automation: how many contacts passed each step and wait at it, the calls of its webhook steps, and
 * a dry run with a contact.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { audienceOf, loadContacts } from './due-enrolments.ts'
import { findObstacles, type MailStepRef } from './mail-steps.ts'
import { compileSteps } from './step-program.ts'
import { dryRun, type DryRunAssumptions, type AutomationDryRun } from './dry-run.ts'
import { listSteps } from './steps.ts'
import type { Automation } from './store.ts'

export interface StepCount {
  readonly step: string
  readonly passed: number
  readonly waiting: number
}

/**
 * Counts for every step that contacts reached, including steps of older versions. Includes deltas that are not applied
 * yet.
 */
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

export interface WebhookCallRow {
  readonly id: string
  readonly step: string
  readonly url: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly tries: number
  readonly dueAt: Date
  readonly answer: string | null
  readonly createdAt: Date
}

/** The calls of its webhook steps, newest first. */
export function listCalls(db: Queryable, automationId: string, page: PageRequest): Promise<Page<WebhookCallRow>> {
  return readPage(
    db,
    {
      columns: 'id, step, url, state, tries, due_at AS "dueAt", answer, created_at AS "createdAt"',
      from: 'automation_calls',
      where: 'automation_id = $1',
      order: newestFirst(),
      values: [automationId],
    },
    page,
  )
}

interface ContactDryRunRequest {
  readonly workspaceId: string
  readonly email: string
  readonly event: Readonly<Record<string, unknown>> | null
  readonly assumptions: DryRunAssumptions
  readonly nowMs: number
}

/** Dry run with one contact; nothing is stored. Null if the workspace has no such contact. */
export async function dryRunForContact(
  db: Queryable,
  automation: Automation,
  request: ContactDryRunRequest,
): Promise<AutomationDryRun | null> {
  const { workspaceId, email, event, assumptions, nowMs } = request
  const { id: automationId, version, triggerType, triggerConfig, steps } = automation
  const {
    rows: [contactRow],
  } = await db.query<{ id: string }>('SELECT id FROM contacts WHERE workspace_id = $1 AND email = $2', [
    workspaceId,
    email,
  ])
  if (contactRow === undefined) return null
  const key = triggerConfig['audience_id']
  const lookup = {
    workspaceId,
    contactId: contactRow.id,
    triggerType,
    triggerKey: typeof key === 'string' ? key : null,
  }
  const contact = (await loadContacts(db, [lookup])).get(0)
  if (contact === undefined) return null
  const mails = listSteps(steps).flatMap(({ step }): MailStepRef[] =>
    step.type === 'send_email' ? [{ workspaceId, automationId, version, step }] : [],
  )
  const found = await findObstacles(db, mails)
  const obstacles = new Map(mails.map(({ step }, i) => [step.id, found[i] ?? null]))
  const obstacle = ({ id }: { readonly id: string }): string | null => obstacles.get(id) ?? null
  return dryRun(
    compileSteps(steps),
    { contact, event, refusal: contact.refusal, audienceId: audienceOf(lookup), nowMs, obstacle },
    assumptions,
  )
}
