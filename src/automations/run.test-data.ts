/** Automations and contacts on PostgreSQL, and what is stored of their enrolments. */
import { assert } from 'chai'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestContext } from '#test/support/context.ts'
import { createAutomation, type AutomationChange } from './change-automation.ts'
import { enrolContact, trackEvent, type EnrolmentProperties } from './enrol.ts'
import { readSteps } from './steps.ts'

export const FREE = { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true }

export const tag = (name: string): object => ({ type: 'add_tag', tag: name })

export interface RunBench {
  /** Creates an active automation; its id. */
  readonly make: (steps: readonly object[], change?: AutomationChange) => Promise<string>
  /** Adds `p0@people.example`, `p1@people.example` and so on. */
  readonly addContacts: (count: number, audienceId?: string | null) => Promise<void>
  readonly addAudience: () => Promise<string>
  /** Enrols all contacts of the workspace, due for an hour. */
  readonly enrolAll: (id: string) => Promise<unknown>
  /** Enrols `p0@people.example`. */
  readonly enrol: (id: string, properties?: EnrolmentProperties) => Promise<void>
  /** Tracks an event of `p0@people.example`; how many automations it starts. */
  readonly track: (name: string, properties?: EnrolmentProperties) => Promise<number>
  /** Counts the enrolments in this state. */
  readonly count: (id: string, state: string) => Promise<number>
  /** The tags of `p0@people.example`. */
  readonly tags: () => Promise<string[]>
  readonly dueNow: (id: string) => Promise<unknown>
  /** Verifies `sender.example` for the workspace. */
  readonly addDomain: () => Promise<void>
  /** The properties of the only enrolment. */
  readonly properties: (id: string) => Promise<unknown>
}

/** Functions of a test file, for the context and the workspace that it has at the time of the call. */
export function createRunBench(context: () => TestContext, workspace: () => string): RunBench {
  const now = (): Date => new Date(context().clock.now())
  async function make(steps: readonly object[], change: AutomationChange = {}): Promise<string> {
    const read = readSteps(steps)
    assert.ok(read.ok, JSON.stringify(read))
    const made = await createAutomation(context(), workspace(), {
      status: 'active',
      steps: read.steps,
      ...change,
      name: 'A',
    })
    return made.kind === 'done' ? made.automation.id : assert.fail(JSON.stringify(made))
  }
  async function addContacts(count: number, audienceId: string | null = null): Promise<void> {
    const rows = Array.from({ length: count }, (_, i) => ({ email: `p${i}@people.example` }))
    await context().db.transaction((tx) => saveContacts(tx, { workspaceId: workspace(), audienceId, now: now() }, rows))
  }
  async function addAudience(): Promise<string> {
    const id = newId()
    await context().db.query(
      `INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`,
      [id, workspace(), newId()],
    )
    return id
  }
  const enrolAll = (id: string): Promise<unknown> =>
    context().db.query(
      sql`
        INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, due_at, created_at)
        SELECT a.id, a.version, c.workspace_id, c.id, v.first_step, now() - interval '1 hour', now()
        FROM contacts c, automations a
        JOIN automation_versions v ON v.automation_id = a.id
        WHERE a.id = $1 AND c.workspace_id = $2
      `,
      [id, workspace()],
    )
  const enrol = async (id: string, properties: EnrolmentProperties = null): Promise<void> => {
    const order = { automationId: id, properties }
    assert.strictEqual(
      (await enrolContact(context().db, { workspaceId: workspace(), email: 'p0@people.example' }, order, now())).kind,
      'enrolled',
    )
  }
  const track = (name: string, properties: EnrolmentProperties = null): Promise<number> =>
    trackEvent(context().db, { workspaceId: workspace(), email: 'p0@people.example' }, { name, properties }, now())
  const count = async (id: string, state: string): Promise<number> => {
    const {
      rows: [row],
    } = await context().db.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM enrolments WHERE automation_id = $1 AND state = $2',
      [id, state],
    )
    return row?.n ?? assert.fail()
  }
  const tags = async (): Promise<string[]> => {
    const {
      rows: [row],
    } = await context().db.query<{ tags: string[] }>(
      `SELECT tags FROM contacts WHERE workspace_id = $1 AND email = 'p0@people.example'`,
      [workspace()],
    )
    return row?.tags ?? assert.fail()
  }
  const dueNow = (id: string): Promise<unknown> =>
    context().db.query(`UPDATE enrolments SET due_at = now() - interval '1 second' WHERE automation_id = $1`, [id])
  async function addDomain(): Promise<void> {
    await context().db.query(`DELETE FROM domains WHERE domain = 'sender.example'`)
    await context().db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'sender.example', 'verified')
      `,
      [newId(), workspace()],
    )
  }
  const properties = async (id: string): Promise<unknown> =>
    (
      await context().db.query<{ properties: unknown }>('SELECT properties FROM enrolments WHERE automation_id = $1', [
        id,
      ])
    ).rows[0]?.properties
  return { make, addContacts, addAudience, enrolAll, enrol, track, count, tags, dueNow, addDomain, properties }
}
