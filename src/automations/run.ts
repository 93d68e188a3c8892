/**
 * Runs automations: claims a slice of due enrolments, runs their steps and applies the effects in one transaction,
 * until none is due. Any number of workers share the work. A crash before the commit changes nothing, and another
 * worker claims the slice again. After the commit the worker finds the messages that were not announced in Redis.
 *
 * If a slice fails, each of its enrolments runs alone. One that fails is retried with growing delays and finally exits
 * the automation with the reason; it delays no other enrolment. A message that cannot be sent now (no verified domain,
 * no quota) waits at its step with a visible reason and is retried.
 */
import type { Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway, isTransactionConflict, prepared, type Queryable } from '#src/stores/db.ts'
import { isQuotaExceeded } from '#src/messages/quota.ts'
import { schedule } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { applyEffects, type AppliedEffects } from './apply-effects.ts'
import type { EnrolmentRun } from './enrolment-progress.ts'
import { readBudgets, consumeBudgets, type QuotaBudgets } from './quota-budgets.ts'
import {
  audienceOf,
  lockContacts,
  loadContacts,
  loadSentMails,
  loadSteps,
  claimDueEnrolments,
  claimEnrolment,
  type DueEnrolment,
  type EnrolmentKey,
} from './due-enrolments.ts'
import { prepareMailSteps, type MailStepRef, type MailStepState } from './mail-steps.ts'
import { changesContact, compileSteps, type Program } from './step-program.ts'
import { needsMailActivity, needsOpens } from './condition.ts'
import { runSteps, type StepRunInput, type StepRunRules } from './step-engine.ts'

/** Retry delay of a mail step that only a person can unblock. */
const MAIL_RETRY_MS = 15 * 60_000
/** Retry delay without quota: a million enrolments may wait, and each retry costs a write. */
const QUOTA_RETRY_MS = 60 * 60_000
/** Delays between retries of a failing enrolment; after the last one it exits. */
const FAILURE_DELAYS_MS = [60_000, 300_000, 1_800_000, 7_200_000] as const
const MAX_REASON_CHARS = 500
const QUOTA_EXCEEDED = 'the quota of the month is used up'

type RunContext = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

export interface RunDeps {
  readonly ctx: RunContext
  readonly plans: Plans
  /** Checked between enrolments that run alone. */
  readonly isStopping?: () => boolean
}

/** Runs one slice and returns the number of enrolments advanced. Rejects if a store is unavailable. */
export async function runSlice(deps: RunDeps): Promise<number> {
  const { ctx } = deps
  const claimed: EnrolmentKey[] = []
  try {
    const done = await advanceEnrolments(deps, async (tx, now) => {
      const due = await claimDueEnrolments(tx, now)
      claimed.push(...due)
      return due
    })
    return done
  } catch (error) {
    if (isDatabaseAway(error) || claimed.length === 0) throw error
    // another transaction used up the quota or conflicted; no enrolment was advanced
    if (isTransactionConflict(error) || isQuotaExceeded(error)) return claimed.length
    ctx.log.warn(
      { err: error, enrolments: claimed.length },
      'a slice of automation enrolments failed; running each enrolment alone',
    )
  }
  for (const key of claimed) {
    if (deps.isStopping?.() === true) break
    await runAlone(deps, key)
  }
  return claimed.length
}

async function runAlone(deps: RunDeps, key: EnrolmentKey): Promise<void> {
  const { ctx } = deps
  try {
    await advanceEnrolments(deps, (tx, now) => claimEnrolment(tx, key, now))
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    if (isTransactionConflict(error) || isQuotaExceeded(error)) return
    ctx.log.error({ err: error, ...key }, 'an automation step failed; the enrolment is postponed')
    await postpone(ctx, key, error)
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

async function postpone({ db, clock }: RunContext, { automationId, id }: EnrolmentKey, error: unknown): Promise<void> {
  const reason = `the step failed: ${error instanceof Error ? error.message : String(error)}`.slice(0, MAX_REASON_CHARS)
  await db.query(POSTPONE, [automationId, id, reason, new Date(clock.now()), FAILURE_DELAYS_MS])
}

type ClaimEnrolments = (tx: Queryable, now: Date) => Promise<DueEnrolment[]>

async function advanceEnrolments(deps: RunDeps, claim: ClaimEnrolments): Promise<number> {
  const { ctx, plans } = deps
  const now = new Date(ctx.clock.now())
  const { count, outcome: applied } = await ctx.db.transaction(async (tx) => {
    const claimed = await claim(tx, now)
    const programs = await loadPrograms(tx, claimed)
    const due = await lockContacts(tx, claimed, (one) => changesContact(programs.get(versionKey(one))))
    return {
      count: due.length,
      outcome: due.length === 0 ? null : await advanceSlice(tx, { due, programs, plans, now }),
    }
  })
  if (applied !== null) schedule(ctx, applied.due, applied.news)
  return count
}

interface Slice {
  readonly due: readonly DueEnrolment[]
  readonly programs: Programs
  readonly plans: Plans
  readonly now: Date
}

async function advanceSlice(tx: Queryable, { due, programs, plans, now }: Slice): Promise<AppliedEffects> {
  const [contacts, mails] = [
    await loadContacts(tx, due),
    await loadSentMails(tx, listNeedingMailActivity(due, programs)),
  ]
  const mailStepFor = await loadMailSteps(tx, due, programs)
  const budgets = await readBudgets(
    tx,
    due.map(({ workspaceId }) => workspaceId),
    { plans, now },
  )
  const runs = due.map((enrolment, i): EnrolmentRun | null => {
    const contact = contacts.get(i)
    const program = programs.get(versionKey(enrolment))
    if (contact === undefined || program === undefined) return null
    const input = {
      ...positionOf(enrolment),
      contact,
      mails: mails.get(enrolment.id) ?? [],
      audienceId: audienceOf(enrolment),
      refusal: contact.refusal,
    }
    const result = runSteps(program, input, rulesFor(enrolment, { mailStepFor, budgets, now }))
    return { enrolment, contact, result, needsOpens: needsOpens(program) }
  })
  await exitDeletedContacts(
    tx,
    due.filter((_, i) => runs[i] === null),
    now,
  )
  const applied = await applyEffects(
    tx,
    runs.filter((one) => one !== null),
    (enrolment, stepId) => mailStepFor(enrolment, stepId),
    now,
  )
  await consumeBudgets(tx, budgets, now)
  return applied
}

function versionKey({ automationId, version }: Pick<DueEnrolment, 'automationId' | 'version'>): string {
  return `${automationId} ${version}`
}

type Programs = ReadonlyMap<string, Program>

async function loadPrograms(tx: Queryable, due: readonly DueEnrolment[]): Promise<Programs> {
  const versions = [...new Map(due.map((one) => [versionKey(one), one])).values()]
  const programs = (await loadSteps(tx, versions)).map((one): [string, Program] => [
    versionKey(one),
    compileSteps(one.steps),
  ])
  // sorted, so that two slices that store contents of the same automations cannot deadlock
  return new Map(programs.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Ids of enrolments whose conditions depend on opens or clicks. */
function listNeedingMailActivity(due: readonly DueEnrolment[], programs: Programs): string[] {
  const names = new Set([...programs].filter(([, program]) => needsMailActivity(program)).map(([name]) => name))
  return due.filter((one) => names.has(versionKey(one))).map(({ id }) => id)
}

function positionOf({
  step,
  waitsFor,
  receivedEvents,
  properties,
}: DueEnrolment): Pick<StepRunInput, 'step' | 'hasWaited' | 'receivedEvents' | 'event'> {
  return { step, hasWaited: waitsFor !== null, receivedEvents: receivedEvents ?? [], event: properties }
}

type MailStepLookup = (enrolment: Pick<DueEnrolment, 'automationId' | 'version'>, stepId: string) => MailStepState

async function loadMailSteps(tx: Queryable, due: readonly DueEnrolment[], programs: Programs): Promise<MailStepLookup> {
  const owners = new Map(due.map((one) => [versionKey(one), one]))
  const steps = [...programs].flatMap(([name, program]) => {
    const owner = owners.get(name)
    return [...program.steps.values()].flatMap(({ step }): MailStepRef[] =>
      step.type === 'send_email' && owner !== undefined
        ? [{ workspaceId: owner.workspaceId, automationId: owner.automationId, version: owner.version, step }]
        : [],
    )
  })
  const found = await prepareMailSteps(tx, steps)
  const byKey = new Map(steps.map((one, i) => [`${versionKey(one)} ${one.step.id}`, found[i]]))
  return (enrolment, stepId) =>
    byKey.get(`${versionKey(enrolment)} ${stepId}`) ?? { kind: 'obstacle', reason: 'the mail step was not found' }
}

interface RuleDeps {
  readonly mailStepFor: MailStepLookup
  readonly budgets: QuotaBudgets
  readonly now: Date
}

/** Counts each allowed message at once, so the workspace's next message sees the remaining budget. */
function rulesFor(enrolment: DueEnrolment, { mailStepFor, budgets, now }: RuleDeps): StepRunRules {
  return {
    nowMs: now.getTime(),
    obstacle: (step) => {
      const mailStep = mailStepFor(enrolment, step.id)
      if (mailStep.kind === 'obstacle') return { reason: mailStep.reason, waitMs: MAIL_RETRY_MS }
      const budget = budgets.get(enrolment.workspaceId)
      if (budget === undefined) return { reason: 'the workspace was deleted', waitMs: MAIL_RETRY_MS }
      if (budget.remaining !== null && budget.used >= budget.remaining)
        return { reason: QUOTA_EXCEEDED, waitMs: QUOTA_RETRY_MS }
      budget.used++
      return null
    },
  }
}

const EXIT_DELETED = prepared(
  'enrolments-drop',
  sql`
    UPDATE enrolments e
    SET state = 'exited', reason = 'the contact is gone', step = NULL, ended_at = $3
    FROM unnest($1::uuid[], $2::uuid[]) AS i (automation_id, id)
    WHERE e.automation_id = i.automation_id AND e.id = i.id
  `,
)

async function exitDeletedContacts(tx: Queryable, enrolments: readonly DueEnrolment[], now: Date): Promise<void> {
  if (enrolments.length > 0)
    await tx.query(EXIT_DELETED, [
      enrolments.map(({ automationId }) => automationId),
      enrolments.map(({ id }) => id),
      now,
    ])
}
