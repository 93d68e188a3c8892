/** Automations with the loops of a real worker, contacts for them, and what is stored of both. */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { startAutomations } from '#worker/automation-runs.ts'
import { startAutomationCalls } from '#worker/automation-calls.ts'
import { createAutomationMaintenanceRound } from '#worker/automations.ts'
import { startLoop, type Loop } from '#worker/loop.ts'
import { createAutomation, type AutomationChange } from '#src/automations/change-automation.ts'
import { enrolContact, listEnrolments } from '#src/automations/enrol.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { readSteps } from '#src/automations/steps.ts'
import type { Automation } from '#src/automations/store.ts'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'

const PATIENCE_MS = 15_000
export const FROM = 'shop@sender.example'

type Steps = Extract<ReturnType<typeof readSteps>, { ok: true }>['steps']

interface EnrolmentState {
  readonly state: string
  readonly step: string | null
  readonly reason: string | null
}

export interface AutomationsScene {
  readonly ctx: TestContext
  /** Each test has its own. */
  readonly workspaceId: string
  readonly make: (steps: readonly object[], change?: AutomationChange) => Promise<Automation>
  readonly addContacts: (emails: readonly string[], audienceId?: string | null) => Promise<void>
  readonly addAudience: () => Promise<string>
  readonly enrol: (automation: Automation, email?: string) => Promise<void>
  /** Subjects of all mail of the workspace, in order. */
  readonly subjects: () => Promise<string[]>
  readonly states: (automation: Automation) => Promise<EnrolmentState[]>
  readonly tagsOf: (email: string) => Promise<string[]>
  /** Waits until no contact is active in the automation. */
  readonly ended: (automation: Automation) => Promise<EnrolmentState[]>
}

export const mail = (id: string, more: object = {}): object => ({
  type: 'send_email',
  id,
  subject: `S ${id}`,
  body: `<p>${id} {{firstName}}</p>`,
  from: FROM,
  ...more,
})
export const tag = (name: string): object => ({ type: 'add_tag', tag: name })

export function stepsOf(steps: readonly object[]): Steps {
  const found = readSteps(steps)
  assert.ok(found.ok, JSON.stringify(found))
  return found.steps
}

/** Polls until the value is right; returns it. */
export async function waitFor<T>(read: () => Promise<T>, isRight: (found: T) => boolean): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
    const found = await read()
    if (isRight(found)) return found
    if (Date.now() > end) assert.fail(`not in time: ${JSON.stringify(found).slice(0, 500)}`)
  }
}

/** Adds hooks to the suite: a worker for all its tests, and a workspace with a verified domain for each. */
export function setUpAutomations(): AutomationsScene {
  let ctx: TestContext
  let loops: Loop[]
  let workspaceId = ''
  before(async () => {
    ctx = await createContext({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' })
    const round = createAutomationMaintenanceRound(ctx)
    loops = [
      startAutomations(ctx, ctx.redisUrl),
      startAutomationCalls(ctx),
      startLoop(ctx.log, { name: 'automation maintenance', everyMs: 5000, round }),
    ]
  })
  after(async () => {
    await Promise.all(loops.map((loop) => loop.stop()))
    await ctx.close()
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
    await ctx.db.query(`UPDATE domains SET verification_status = 'pending' WHERE domain = 'sender.example'`)
    await ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'sender.example', 'verified')
      `,
      [newId(), workspaceId],
    )
  })

  const now = (): Date => new Date(ctx.clock.now())
  const states: AutomationsScene['states'] = async ({ id }) =>
    (await listEnrolments(ctx.db, id, { page: 1, limit: 1000, state: null })).items.map(({ state, step, reason }) => ({
      state,
      step,
      reason,
    }))
  return {
    get ctx() {
      return ctx
    },
    get workspaceId() {
      return workspaceId
    },
    make: async (steps, change = {}) => {
      const order = { status: 'active' as const, steps: stepsOf(steps), ...change, name: 'A' }
      const made = await createAutomation(ctx, workspaceId, order)
      assert.strictEqual(made.kind, 'done', JSON.stringify(made))
      return made.automation
    },
    addContacts: async (emails, audienceId = null) => {
      const rows = emails.map((email) => ({ email, firstName: 'Ada' }))
      const to = { workspaceId, audienceId, now: now() }
      const saved = await ctx.db.transaction((tx) => saveContacts(tx, to, rows))
      assert.strictEqual(saved.kind, 'saved')
    },
    addAudience: async () => {
      const id = newId()
      const values = [id, workspaceId, newId()]
      await ctx.db.query(
        `INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`,
        values,
      )
      return id
    },
    enrol: async (automation, email = 'ada@people.example') => {
      const order = { automationId: automation.id, properties: { total: 3 } }
      assert.strictEqual((await enrolContact(ctx.db, { workspaceId, email }, order, now())).kind, 'enrolled')
      wakeAutomationWorkers(ctx)
    },
    subjects: async () => {
      const { rows } = await ctx.db.query<{ subject: string }>(
        'SELECT subject FROM messages WHERE workspace_id = $1 ORDER BY id',
        [workspaceId],
      )
      return rows.map(({ subject }) => subject)
    },
    states,
    tagsOf: async (email) => {
      const { rows } = await ctx.db.query<{ tags: string[] }>(
        'SELECT tags FROM contacts WHERE workspace_id = $1 AND email = $2',
        [workspaceId, email],
      )
      return rows[0]?.tags ?? []
    },
    ended: (automation) =>
      waitFor(
        () => states(automation),
        (all) => all.length > 0 && all.every(({ state }) => state !== 'active'),
      ),
  }
}
