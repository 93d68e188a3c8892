/**
 * Creates and changes automations. A change locks the row first, so concurrent changes run one after the other and each
 * validates the result of the one before. New steps create a new version; contacts in an older version finish it, or
 * move to the new one when next due if the change asks for it. Only an active automation must be valid; a draft may
 * reference objects that do not exist yet.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '#config/settings/readers.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { validateStartTime, validateRunnable } from './validate-automation.ts'
import { storeStepBodies } from './mail-steps.ts'
import type { StepContent } from './step-bodies.ts'
import { mayMove, type Status } from './state.ts'
import type { Step } from './steps.ts'
import {
  countAutomations,
  findAutomation,
  insertAutomation,
  lockAutomation,
  moveEnrolmentsToVersion,
  rescheduleEnrolments,
  updateAutomation,
  type Automation,
  type AutomationDefinition,
} from './store.ts'
import { readTrigger, type Trigger, type TriggerType } from './triggers.ts'

/** Every event is matched against the automations of its workspace; archived ones cost nothing. */
const MAX_AUTOMATIONS = 1000

/** Omitted fields stay unchanged. A new automation starts as a manual draft without steps. */
export interface AutomationChange {
  readonly name?: string | undefined
  readonly status?: Status | undefined
  readonly triggerType?: TriggerType | undefined
  /** The raw value from the client; its trigger type may be known only from the stored automation. */
  readonly triggerConfig?: unknown
  readonly steps?: readonly Step[] | undefined
  /** Compiled bodies of mail steps (step-bodies.ts). */
  readonly contents?: readonly StepContent[] | undefined
  /** Move contacts from older versions to the new one. */
  readonly movesEnrolled?: boolean | undefined
}

export type ChangeAutomationResult =
  | { readonly kind: 'done'; readonly automation: Automation }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly details: readonly Detail[] }
  /** The status does not allow this change, or the workspace has reached its limit. */
  | { readonly kind: 'conflict'; readonly reason: string }

export interface AutomationDeps {
  readonly db: Db
  readonly clock: Clock
  readonly config: { readonly allowPrivateTargets: readonly Network[] }
}

/** Creates an automation; it may be active from the start. */
export function createAutomation(
  ctx: AutomationDeps,
  workspaceId: string,
  fields: AutomationChange & { readonly name: string },
): Promise<ChangeAutomationResult> {
  return ctx.db.transaction(async (tx) => {
    // locking the workspace row serialises creations, so the limit is exact
    await tx.query('SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId])
    if ((await countAutomations(tx, workspaceId)) >= MAX_AUTOMATIONS)
      return {
        kind: 'conflict',
        reason: `A workspace can have at most ${MAX_AUTOMATIONS} automations that are not archived.`,
      }
    const merged = mergeChange(NEW_AUTOMATION, fields)
    if (!merged.ok) return { kind: 'invalid', details: merged.details }
    if (!mayMove(NEW_AUTOMATION.status, merged.next.status))
      return {
        kind: 'invalid',
        details: [{ path: 'status', message: `a new automation cannot be ${merged.next.status}` }],
      }
    const problems = await validateChange(ctx, { tx, workspaceId }, NEW_AUTOMATION, merged.next)
    if (problems.length > 0) return { kind: 'invalid', details: problems }
    const id = newId(ctx.clock.now())
    await insertAutomation(tx, workspaceId, id, merged.next)
    await storeStepBodies(tx, { workspaceId, automationId: id, version: merged.next.version }, fields.contents ?? [])
    return readBack(tx, workspaceId, id)
  })
}

export function changeAutomation(
  ctx: AutomationDeps,
  workspaceId: string,
  id: string,
  change: AutomationChange,
): Promise<ChangeAutomationResult> {
  return ctx.db.transaction(async (tx): Promise<ChangeAutomationResult> => {
    const before = await lockAutomation(tx, workspaceId, id)
    if (before === null) return { kind: 'not-found' }
    if (before.status === 'archived') return { kind: 'conflict', reason: 'An archived automation cannot be changed.' }
    const merged = mergeChange(before, change)
    if (!merged.ok) return { kind: 'invalid', details: merged.details }
    const { next } = merged
    if (!mayMove(before.status, next.status))
      return { kind: 'conflict', reason: `An automation that is ${before.status} cannot become ${next.status}.` }
    const problems = await validateChange(ctx, { tx, workspaceId }, before, next)
    if (problems.length > 0) return { kind: 'invalid', details: problems }
    await updateAutomation(tx, id, before, next)
    if (next.version !== before.version)
      await storeStepBodies(tx, { workspaceId, automationId: id, version: next.version }, change.contents ?? [])
    if (change.movesEnrolled === true && next.version !== before.version)
      await moveEnrolmentsToVersion(tx, id, next.version)
    const [from, to] = [before.trigger.startsAt, next.trigger.startsAt]
    if (from !== null && from.getTime() !== to?.getTime())
      await rescheduleEnrolments(tx, id, { from, to, now: new Date(ctx.clock.now()) })
    return readBack(tx, workspaceId, id)
  })
}

const MANUAL_TRIGGER: Trigger = { type: 'manual', config: {}, key: null, startsAt: null }
const NEW_AUTOMATION: AutomationDefinition = {
  name: '',
  status: 'draft',
  trigger: MANUAL_TRIGGER,
  steps: [],
  version: 1,
}

type MergeResult =
  | { readonly ok: true; readonly next: AutomationDefinition }
  | { readonly ok: false; readonly details: readonly Detail[] }

function mergeChange(before: AutomationDefinition, change: AutomationChange): MergeResult {
  const type = change.triggerType ?? before.trigger.type
  const isSame = type === before.trigger.type && change.triggerConfig === undefined
  const read = isSame ? { ok: true as const, trigger: before.trigger } : readTrigger(type, change.triggerConfig)
  if (!read.ok) return read
  const steps = change.steps ?? before.steps
  const version =
    before === NEW_AUTOMATION || isDeepStrictEqual(steps, before.steps) ? before.version : before.version + 1
  const { name = before.name, status = before.status } = change
  return { ok: true, next: { name, status, trigger: read.trigger, steps, version } }
}

interface ChangeScope {
  readonly tx: Queryable
  readonly workspaceId: string
}

async function validateChange(
  ctx: AutomationDeps,
  { tx, workspaceId }: ChangeScope,
  before: AutomationDefinition,
  next: AutomationDefinition,
): Promise<Detail[]> {
  if (next.status !== 'active') return []
  const isNewStart =
    before.status === 'draft' || before.trigger.startsAt?.getTime() !== next.trigger.startsAt?.getTime()
  return [
    ...(isNewStart ? validateStartTime(next.trigger, new Date(ctx.clock.now())) : []),
    ...(await validateRunnable({ db: tx, workspaceId, allowed: ctx.config.allowPrivateTargets }, next)),
  ]
}

async function readBack(tx: Queryable, workspaceId: string, id: string): Promise<ChangeAutomationResult> {
  const automation = await findAutomation(tx, workspaceId, id)
  return automation === null ? { kind: 'not-found' } : { kind: 'done', automation }
}
