/**
 * Stores the automations of a workspace: finds, lists, writes, and deletes drafts. The steps of each version are in a
 * row of their own that never changes. Automations of other workspaces are reported as not found.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Status } from './state.ts'
import { listSteps, type Step } from './steps.ts'
import type { Trigger, TriggerType } from './triggers.ts'

export interface AutomationRow {
  readonly id: string
  readonly name: string
  readonly status: Status
  readonly triggerType: TriggerType
  readonly triggerConfig: Readonly<Record<string, unknown>>
  readonly version: number
  readonly stepCount: number
  readonly enrolledCount: number
  readonly completedCount: number
  readonly activeCount: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface Automation extends AutomationRow {
  readonly steps: readonly Step[]
}

const COUNTS = ['enrolled', 'completed', 'active']
  .map((name) => `a.${name}_count + n.${name} AS "${name}Count"`)
  .join(', ')
const COLUMNS = sql`
  a.id, a.name, a.status, a.trigger_type AS "triggerType", a.trigger_config AS "triggerConfig", a.version,
  v.step_count AS "stepCount", ${COUNTS}, a.created_at AS "createdAt", a.updated_at AS "updatedAt"
`
/** Adds the counter deltas that are not applied yet. */
const JOINS = sql`
  JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(enrolled), 0)::bigint AS enrolled, coalesce(sum(completed), 0)::bigint AS completed,
      coalesce(sum(active), 0)::bigint AS active
    FROM enrolment_changes c
    WHERE c.automation_id = a.id
  ) n
`

/** Finds an automation of any status. */
export async function findAutomation(db: Queryable, workspaceId: string, id: string): Promise<Automation | null> {
  const statement = `SELECT ${COLUMNS}, v.steps FROM automations a ${JOINS} WHERE a.workspace_id = $1 AND a.id = $2`
  const { rows } = await db.query<Automation>(statement, [workspaceId, id])
  return rows[0] ?? null
}

/** Newest first; `status: null` means any status. */
export function listAutomations(
  db: Queryable,
  workspaceId: string,
  page: PageRequest & { readonly status: Status | null },
): Promise<Page<AutomationRow>> {
  const where = 'a.workspace_id = $1 AND ($2::text IS NULL OR a.status = $2)'
  return readPage(
    db,
    {
      columns: COLUMNS,
      from: 'automations a',
      joins: JOINS,
      where,
      order: newestFirst('a.id'),
      values: [workspaceId, page.status],
    },
    page,
  )
}

/** Counts automations that are not archived. */
export async function countAutomations(db: Queryable, workspaceId: string): Promise<number> {
  const {
    rows: [counted],
  } = await db.query<{ n: number }>(
    `SELECT count(*) AS n FROM automations WHERE workspace_id = $1 AND status <> 'archived'`,
    [workspaceId],
  )
  return counted?.n ?? 0
}

/** Deletes a draft. An automation that had contacts must be archived instead. */
export async function deleteDraft(
  db: Queryable,
  workspaceId: string,
  id: string,
): Promise<'deleted' | 'not-found' | 'not-draft'> {
  const { rowCount } = await db.query(
    sql`
      WITH gone AS (
        DELETE FROM automations
        WHERE workspace_id = $1 AND id = $2 AND status = 'draft'
        RETURNING id
      ),
      contents AS (
        DELETE FROM mail_contents k
        USING automation_contents c, gone
        WHERE c.automation_id = gone.id AND k.id = c.content_id
      )
      SELECT FROM gone
    `,
    [workspaceId, id],
  )
  if (rowCount === 1) return 'deleted'
  return (await findAutomation(db, workspaceId, id)) === null ? 'not-found' : 'not-draft'
}

/** The parts of an automation that clients write. */
export interface AutomationDefinition {
  readonly name: string
  readonly status: Status
  readonly trigger: Trigger
  readonly steps: readonly Step[]
  readonly version: number
}

interface LockedRow {
  readonly name: string
  readonly status: Status
  readonly type: TriggerType
  readonly config: Readonly<Record<string, unknown>>
  readonly key: string | null
  readonly startsAt: Date | null
  readonly steps: readonly Step[]
  readonly version: number
}

/** Reads an automation and locks it until the transaction ends; null if there is none. */
export async function lockAutomation(
  tx: Queryable,
  workspaceId: string,
  id: string,
): Promise<AutomationDefinition | null> {
  // lock first, then read: a transaction that waited must see the version that the other one created
  const { rowCount } = await tx.query(
    'SELECT 1 FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE',
    [workspaceId, id],
  )
  if (rowCount === 0) return null
  const {
    rows: [row],
  } = await tx.query<LockedRow>(
    sql`
      SELECT a.name, a.status, a.trigger_type AS type, a.trigger_config AS config, a.trigger_key AS key,
        a.starts_at AS "startsAt", a.version, v.steps
      FROM automations a
      JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
      WHERE a.id = $1
    `,
    [id],
  )
  if (row === undefined) return null
  const { name, status, type, config, key, startsAt, steps, version } = row
  return { name, status, trigger: { type, config, key, startsAt }, steps, version }
}

export async function insertAutomation(
  tx: Queryable,
  workspaceId: string,
  id: string,
  next: AutomationDefinition,
): Promise<void> {
  const { name, status, trigger, version } = next
  await tx.query(
    sql`
      INSERT INTO automations (
        id, workspace_id, name, status, trigger_type, trigger_config, trigger_key, starts_at, version
      )
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    `,
    [
      id,
      workspaceId,
      name,
      status,
      trigger.type,
      JSON.stringify(trigger.config),
      trigger.key,
      trigger.startsAt,
      version,
    ],
  )
  await insertVersion(tx, id, next)
}

/** Updates an automation and inserts a row for a new version. */
export async function updateAutomation(
  tx: Queryable,
  id: string,
  before: AutomationDefinition,
  next: AutomationDefinition,
): Promise<void> {
  const { name, status, trigger, version } = next
  if (version !== before.version) await insertVersion(tx, id, next)
  await tx.query(
    sql`
      UPDATE automations
      SET name = $2,
        status = $3,
        trigger_type = $4,
        trigger_config = $5,
        trigger_key = $6,
        starts_at = $7,
        version = $8,
        enrolled_to = CASE
          WHEN (trigger_key, starts_at) IS NOT DISTINCT FROM ($6, $7::timestamptz) THEN enrolled_to
        END,
        is_enrolled = is_enrolled AND (trigger_key, starts_at) IS NOT DISTINCT FROM ($6, $7::timestamptz),
        updated_at = now()
      WHERE id = $1
    `,
    [id, name, status, trigger.type, JSON.stringify(trigger.config), trigger.key, trigger.startsAt, version],
  )
}

/** Moves enrolments that have not started to the new start time, or to now if it is null. */
export async function rescheduleEnrolments(
  tx: Queryable,
  id: string,
  { from, to, now }: { readonly from: Date; readonly to: Date | null; readonly now: Date },
): Promise<void> {
  await tx.query(
    sql`
      UPDATE enrolments
      SET due_at = greatest($3, $4::timestamptz)
      WHERE automation_id = $1 AND state = 'active' AND due_at = $2
    `,
    [id, from, to, now],
  )
}

/** Contacts in older versions continue in this version from their next step. */
export async function moveEnrolmentsToVersion(tx: Queryable, id: string, version: number): Promise<void> {
  await tx.query('UPDATE automations SET moves_below = $2 WHERE id = $1', [id, version])
}

async function insertVersion(tx: Queryable, id: string, { version, steps }: AutomationDefinition): Promise<void> {
  await tx.query(
    sql`
      INSERT INTO automation_versions (automation_id, version, steps, first_step, step_count)
      VALUES ($1, $2, $3, $4, $5)
    `,
    [id, version, JSON.stringify(steps), steps[0]?.id ?? null, listSteps(steps).length],
  )
}
