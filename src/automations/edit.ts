/**
 * How automations come to be and change. A change takes the row first, so that two at once come one after the other and each judges what
 * the other left. New steps are a new version; who is in an older one ends with it, or moves when it is next due if the change says so.
 * Only what runs must be whole: a draft may name what is not there yet.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '#config/settings/readers.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { judgeMoment, judgeRunnable } from './validate-automation.ts'
import { storeOwnBodies } from './mail-steps.ts'
import type { StepContent } from './step-templates.ts'
import { mayMove, type Status } from './state.ts'
import type { Step } from './steps.ts'
import {
  countAutomations,
  findAutomation,
  insertAutomation,
  lockAutomation,
  moveEnrolled,
  moveMoment,
  updateAutomation,
  type Automation,
  type Written,
} from './store.ts'
import { readTrigger, type Trigger, type TriggerType } from './triggers.ts'

/** Each event of a workspace is held against its automations; those that are archived cost nothing. */
const MAX_AUTOMATIONS = 1000

/** What is left out stays as it is; of a new one it is a manual draft without steps. */
export interface AutomationChange {
  readonly name?: string | undefined
  readonly status?: Status | undefined
  readonly triggerType?: TriggerType | undefined
  /** As the client wrote it: which type it belongs to may only be known here. */
  readonly triggerConfig?: unknown
  readonly steps?: readonly Step[] | undefined
  /** What steps send in place of the bodies that were written (step-templates.ts). */
  readonly contents?: readonly StepContent[] | undefined
  /** With new steps: who is in an older version goes on in the new one. */
  readonly isMoving?: boolean | undefined
}

export type Changed =
  | { readonly kind: 'done'; readonly automation: Automation }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly details: readonly Detail[] }
  /** Its status does not allow this, or the workspace has as many as it may. */
  | { readonly kind: 'conflict'; readonly reason: string }

export interface AutomationStore {
  readonly db: Db
  readonly clock: Clock
  readonly config: { readonly allowPrivateTargets: readonly Network[] }
}

/** `name` is given. It may be active from the beginning. */
export function createAutomation(
  ctx: AutomationStore,
  workspaceId: string,
  order: AutomationChange & { readonly name: string },
): Promise<Changed> {
  return ctx.db.transaction(async (tx) => {
    // the row of the workspace orders those who create in it, so that the limit is exact
    await tx.query('SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId])
    if ((await countAutomations(tx, workspaceId)) >= MAX_AUTOMATIONS)
      return {
        kind: 'conflict',
        reason: `A workspace has at most ${MAX_AUTOMATIONS} automations that are not archived.`,
      }
    const wanted = merge(BLANK, order)
    if (!wanted.ok) return { kind: 'invalid', details: wanted.details }
    if (!mayMove(BLANK.status, wanted.next.status))
      return {
        kind: 'invalid',
        details: [{ path: 'status', message: `a new automation cannot be ${wanted.next.status}` }],
      }
    const wrong = await judge(ctx, { tx, workspaceId }, BLANK, wanted.next)
    if (wrong.length > 0) return { kind: 'invalid', details: wrong }
    const id = newId(ctx.clock.now())
    await insertAutomation(tx, workspaceId, id, wanted.next)
    await storeOwnBodies(tx, { workspaceId, automationId: id, version: wanted.next.version }, order.contents ?? [])
    return done(tx, workspaceId, id)
  })
}

export function changeAutomation(
  ctx: AutomationStore,
  workspaceId: string,
  id: string,
  change: AutomationChange,
): Promise<Changed> {
  return ctx.db.transaction(async (tx): Promise<Changed> => {
    const before = await lockAutomation(tx, workspaceId, id)
    if (before === null) return { kind: 'not-found' }
    if (before.status === 'archived') return { kind: 'conflict', reason: 'An archived automation is over for good.' }
    const wanted = merge(before, change)
    if (!wanted.ok) return { kind: 'invalid', details: wanted.details }
    const { next } = wanted
    if (!mayMove(before.status, next.status))
      return { kind: 'conflict', reason: `An automation that is ${before.status} cannot become ${next.status}.` }
    const wrong = await judge(ctx, { tx, workspaceId }, before, next)
    if (wrong.length > 0) return { kind: 'invalid', details: wrong }
    await updateAutomation(tx, id, before, next)
    if (next.version !== before.version)
      await storeOwnBodies(tx, { workspaceId, automationId: id, version: next.version }, change.contents ?? [])
    if (change.isMoving === true && next.version !== before.version) await moveEnrolled(tx, id, next.version)
    const [from, to] = [before.trigger.startsAt, next.trigger.startsAt]
    if (from !== null && from.getTime() !== to?.getTime())
      await moveMoment(tx, id, { from, to, now: new Date(ctx.clock.now()) })
    return done(tx, workspaceId, id)
  })
}

const MANUAL: Trigger = { type: 'manual', config: {}, key: null, startsAt: null }
const BLANK: Written = { name: '', status: 'draft', trigger: MANUAL, steps: [], version: 1 }

type Merged =
  | { readonly ok: true; readonly next: Written }
  | { readonly ok: false; readonly details: readonly Detail[] }

function merge(before: Written, change: AutomationChange): Merged {
  const type = change.triggerType ?? before.trigger.type
  const isSame = type === before.trigger.type && change.triggerConfig === undefined
  const read = isSame ? { ok: true as const, trigger: before.trigger } : readTrigger(type, change.triggerConfig)
  if (!read.ok) return read
  const steps = change.steps ?? before.steps
  const version = before === BLANK || isDeepStrictEqual(steps, before.steps) ? before.version : before.version + 1
  const { name = before.name, status = before.status } = change
  return { ok: true, next: { name, status, trigger: read.trigger, steps, version } }
}

interface Place {
  readonly tx: Queryable
  readonly workspaceId: string
}

async function judge(
  ctx: AutomationStore,
  { tx, workspaceId }: Place,
  before: Written,
  next: Written,
): Promise<Detail[]> {
  if (next.status !== 'active') return []
  const isNewMoment =
    before.status === 'draft' || before.trigger.startsAt?.getTime() !== next.trigger.startsAt?.getTime()
  return [
    ...(isNewMoment ? judgeMoment(next.trigger, new Date(ctx.clock.now())) : []),
    ...(await judgeRunnable({ db: tx, workspaceId, allowed: ctx.config.allowPrivateTargets }, next)),
  ]
}

async function done(tx: Queryable, workspaceId: string, id: string): Promise<Changed> {
  const automation = await findAutomation(tx, workspaceId, id)
  return automation === null ? { kind: 'not-found' } : { kind: 'done', automation }
}
