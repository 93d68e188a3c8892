/**
 * Takes contacts through automations: a slice of those whose time has come, walked and carried out in one transaction, until nobody is due.
 * Any number of workers share them. Dies before the commit: all is as it was, and somebody takes it again. Dies after it: mails that Redis
 * was not told of are found by the worker. What cannot be carried out is taken alone, waits longer each time, and leaves the automation in
 * the end with its reason; it holds up nobody else.
 *
 * Mail that cannot be sent now (no verified domain, no quota) waits at its step, with the reason to see, and is tried again.
 */
import type { Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway, prepared, type Queryable } from '#src/stores/db.ts'
import { isWorthRepeating } from '#src/messages/transition.ts'
import { isOverQuota } from '#src/messages/quota.ts'
import { schedule } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { carryOut, type Outcome } from './apply-effects.ts'
import type { Taken } from './enrolment-progress.ts'
import { openBudgets, takeBudgets, type Budgets } from './budgets.ts'
import {
  audienceOf,
  holdContacts,
  loadContactsOf,
  loadMailsOf,
  loadSteps,
  takeDue,
  takeOne,
  type DueEnrolment,
  type EnrolmentName,
} from './due.ts'
import { prepareMailSteps, type MailStepOf, type Sendable } from './mail-steps.ts'
import { changesContact, compileSteps, type Program } from './step-program.ts'
import { asksForMails } from './condition.ts'
import { walk, type Traveller, type WalkRules } from './step-engine.ts'

/** What a mail waits for is mended by people. */
const PATIENCE_MS = 15 * 60_000
/** A million may wait for a quota, and each look costs a write. */
const QUOTA_PATIENCE_MS = 60 * 60_000
/** Between tries of what could not be carried out; after the last it leaves. */
const TROUBLE_WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000] as const
const MOST_REASON = 500
const USED_UP = 'the quota of the month is used up'

type Stores = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

export interface RunParts {
  readonly ctx: Stores
  readonly plans: Plans
  /** Asked between those that are taken alone. */
  readonly isStopping?: () => boolean
}

/** One slice; how many were taken further. Rejects when a store is away. */
export async function runSlice(parts: RunParts): Promise<number> {
  const { ctx } = parts
  const names: EnrolmentName[] = []
  try {
    const done = await takeFurther(parts, async (tx, now) => {
      const due = await takeDue(tx, now)
      names.push(...due)
      return due
    })
    return done
  } catch (error) {
    if (isDatabaseAway(error) || names.length === 0) throw error
    // somebody else took the last of a quota, or came across; nobody was taken further
    if (isWorthRepeating(error) || isOverQuota(error)) return names.length
    ctx.log.warn(
      { err: error, enrolments: names.length },
      'a slice of automations could not be carried out; each is taken alone',
    )
  }
  for (const name of names) {
    if (parts.isStopping?.() === true) break
    await runAlone(parts, name)
  }
  return names.length
}

async function runAlone(parts: RunParts, name: EnrolmentName): Promise<void> {
  const { ctx } = parts
  try {
    await takeFurther(parts, (tx, now) => takeOne(tx, name, now))
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    if (isWorthRepeating(error) || isOverQuota(error)) return
    ctx.log.error({ err: error, ...name }, 'a step of an automation could not be carried out')
    await postpone(ctx, name, error)
  }
}

const POSTPONE = prepared(
  'enrolments-postpone',
  sql`
    UPDATE enrolments
    SET troubles = troubles + 1,
      reason = $3,
      due_at = $4::timestamptz
        + ($5::bigint[])[least(troubles + 1, array_length($5::bigint[], 1))] * interval '1 millisecond',
      state = CASE WHEN troubles >= array_length($5::bigint[], 1) THEN 'exited' ELSE state END,
      step = CASE WHEN troubles >= array_length($5::bigint[], 1) THEN NULL ELSE step END,
      ended_at = CASE WHEN troubles >= array_length($5::bigint[], 1) THEN $4::timestamptz END
    WHERE automation_id = $1 AND id = $2 AND state = 'active' AND due_at <= $4
  `,
)

async function postpone({ db, clock }: Stores, { automationId, id }: EnrolmentName, error: unknown): Promise<void> {
  const reason = `its step could not be carried out: ${error instanceof Error ? error.message : String(error)}`.slice(
    0,
    MOST_REASON,
  )
  await db.query(POSTPONE, [automationId, id, reason, new Date(clock.now()), TROUBLE_WAITS_MS])
}

type Take = (tx: Queryable, now: Date) => Promise<DueEnrolment[]>

async function takeFurther(parts: RunParts, take: Take): Promise<number> {
  const { ctx, plans } = parts
  const now = new Date(ctx.clock.now())
  const { count, outcome } = await ctx.db.transaction(async (tx) => {
    const taken = await take(tx, now)
    const programs = await loadPrograms(tx, taken)
    const due = await holdContacts(tx, taken, (one) => changesContact(programs.get(versionName(one))))
    return { count: due.length, outcome: due.length === 0 ? null : await advance(tx, { due, programs, plans, now }) }
  })
  if (outcome !== null) schedule(ctx, outcome.due, outcome.news)
  return count
}

interface Slice {
  readonly due: readonly DueEnrolment[]
  readonly programs: Programs
  readonly plans: Plans
  readonly now: Date
}

async function advance(tx: Queryable, { due, programs, plans, now }: Slice): Promise<Outcome> {
  const [contacts, mails] = [await loadContactsOf(tx, due), await loadMailsOf(tx, asking(due, programs))]
  const sendable = await loadSendable(tx, due, programs)
  const budgets = await openBudgets(
    tx,
    due.map(({ workspaceId }) => workspaceId),
    { plans, now },
  )
  const taken = due.map((enrolment, i): Taken | null => {
    const contact = contacts.get(i)
    const program = programs.get(versionName(enrolment))
    if (contact === undefined || program === undefined) return null
    const traveller = {
      ...travellerOf(enrolment),
      contact,
      mails: mails.get(enrolment.id) ?? [],
      audienceId: audienceOf(enrolment),
      refusal: contact.refusal,
    }
    return { enrolment, contact, walked: walk(program, traveller, rulesFor(enrolment, { sendable, budgets, now })) }
  })
  await dropGone(
    tx,
    due.filter((_, i) => taken[i] === null),
    now,
  )
  const outcome = await carryOut(
    tx,
    taken.filter((one) => one !== null),
    (enrolment, stepId) => sendable(enrolment, stepId),
    now,
  )
  await takeBudgets(tx, budgets, now)
  return outcome
}

function versionName({ automationId, version }: Pick<DueEnrolment, 'automationId' | 'version'>): string {
  return `${automationId} ${version}`
}

type Programs = ReadonlyMap<string, Program>

async function loadPrograms(tx: Queryable, due: readonly DueEnrolment[]): Promise<Programs> {
  const wanted = [...new Map(due.map((one) => [versionName(one), one])).values()]
  const programs = (await loadSteps(tx, wanted)).map((one): [string, Program] => [
    versionName(one),
    compileSteps(one.steps),
  ])
  // two slices that store contents of the same automations for the first time must not cross
  return new Map(programs.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Those whose conditions ask for what became of their mails. */
function asking(due: readonly DueEnrolment[], programs: Programs): string[] {
  const names = new Set([...programs].filter(([, program]) => asksForMails(program)).map(([name]) => name))
  return due.filter((one) => names.has(versionName(one))).map(({ id }) => id)
}

function travellerOf({
  step,
  waitsFor,
  heard,
  properties,
}: DueEnrolment): Pick<Traveller, 'step' | 'hasWaited' | 'heard' | 'event'> {
  return { step, hasWaited: waitsFor !== null, heard: heard ?? [], event: properties }
}

type Sendables = (enrolment: Pick<DueEnrolment, 'automationId' | 'version'>, stepId: string) => Sendable

async function loadSendable(tx: Queryable, due: readonly DueEnrolment[], programs: Programs): Promise<Sendables> {
  const owners = new Map(due.map((one) => [versionName(one), one]))
  const steps = [...programs].flatMap(([name, program]) => {
    const owner = owners.get(name)
    return [...program.steps.values()].flatMap(({ step }): MailStepOf[] =>
      step.type === 'send_email' && owner !== undefined
        ? [{ workspaceId: owner.workspaceId, automationId: owner.automationId, version: owner.version, step }]
        : [],
    )
  })
  const found = await prepareMailSteps(tx, steps)
  const byName = new Map(steps.map((one, i) => [`${versionName(one)} ${one.step.id}`, found[i]]))
  return (enrolment, stepId) =>
    byName.get(`${versionName(enrolment)} ${stepId}`) ?? { kind: 'obstacle', reason: 'its mail is not known' }
}

interface Means {
  readonly sendable: Sendables
  readonly budgets: Budgets
  readonly now: Date
}

/** A mail that passes is counted at once: the next one of the workspace sees what is left. */
function rulesFor(enrolment: DueEnrolment, { sendable, budgets, now }: Means): WalkRules {
  return {
    nowMs: now.getTime(),
    obstacle: (step) => {
      const what = sendable(enrolment, step.id)
      if (what.kind === 'obstacle') return { reason: what.reason, waitMs: PATIENCE_MS }
      const budget = budgets.get(enrolment.workspaceId)
      if (budget === undefined) return { reason: 'its workspace is gone', waitMs: PATIENCE_MS }
      if (budget.room !== null && budget.used >= budget.room) return { reason: USED_UP, waitMs: QUOTA_PATIENCE_MS }
      budget.used++
      return null
    },
  }
}

const DROP = prepared(
  'enrolments-drop',
  sql`
    UPDATE enrolments e
    SET state = 'exited', reason = 'the contact is gone', step = NULL, ended_at = $3
    FROM unnest($1::uuid[], $2::uuid[]) AS i (automation_id, id)
    WHERE e.automation_id = i.automation_id AND e.id = i.id
  `,
)

async function dropGone(tx: Queryable, gone: readonly DueEnrolment[], now: Date): Promise<void> {
  if (gone.length > 0)
    await tx.query(DROP, [gone.map(({ automationId }) => automationId), gone.map(({ id }) => id), now])
}
