/**
 * Validates that an automation can be active: it has steps, its start time is in the future, and everything it
 * references exists.
 */
import type { Network } from '#config/settings/readers.ts'
import { validateReferences, type Reference } from '#src/campaigns/references.ts'
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { validateTargetUrl } from '#src/webhooks/target-url.ts'
import { listSteps, type LocatedStep, type Step } from './steps.ts'
import type { Trigger } from './triggers.ts'

export interface Runnable {
  readonly trigger: Trigger
  readonly steps: readonly Step[]
}

export interface ValidationContext {
  readonly db: Queryable
  readonly workspaceId: string
  /** Private networks that webhooks may reach. */
  readonly allowed: readonly Network[]
}

/** Returns all problems; an empty list if the automation can be active. */
export async function validateRunnable(ctx: ValidationContext, { trigger, steps }: Runnable): Promise<Detail[]> {
  const located = listSteps(steps)
  return [
    ...(steps.length === 0 ? [{ path: 'steps', message: 'an active automation has at least one step' }] : []),
    ...located.flatMap((one) => validateWebhookUrl(ctx, one)),
    ...(await validateReferences(ctx.db, ctx.workspaceId, [
      ...triggerReferences(trigger),
      ...located.flatMap(stepReferences),
    ])),
  ]
}

/**
 * A start time in the past would never start the automation. Checked only when a draft is activated or the start time
 * changes.
 */
export function validateStartTime({ startsAt }: Trigger, now: Date): Detail[] {
  return startsAt === null || startsAt > now ? [] : [{ path: 'trigger_config.at', message: 'must be in the future' }]
}

function triggerReferences({ type, key }: Trigger): Reference[] {
  return type !== 'contact_event' && key !== null
    ? [{ kind: 'audience', value: key, path: 'trigger_config.audience_id' }]
    : []
}

function stepReferences({ step, path }: LocatedStep): Reference[] {
  if (step.type === 'add_to_audience' || step.type === 'remove_from_audience')
    return [{ kind: 'audience', value: step.audience_id, path: `${path}.audience_id` }]
  if (step.type !== 'send_email') return []
  const sender: Reference = { kind: 'sender', value: step.from, path: `${path}.from` }
  return step.template_id === null
    ? [sender]
    : [{ kind: 'template', value: step.template_id, path: `${path}.template_id` }, sender]
}

function validateWebhookUrl({ allowed }: ValidationContext, { step, path }: LocatedStep): Detail[] {
  const problem = step.type === 'webhook' ? validateTargetUrl(step.url, allowed) : null
  return problem === null ? [] : [{ path: `${path}.url`, message: problem }]
}
