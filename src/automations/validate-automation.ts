/** Whether an automation may run as it stands: it has steps, its moment is to come, and all that it names is there. */
import type { Network } from '#config/settings/readers.ts'
import { judgeReferences, type Reference } from '#src/campaigns/references.ts'
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { judgeTarget } from '#src/webhooks/target-url.ts'
import { placedSteps, type PlacedStep, type Step } from './steps.ts'
import type { Trigger } from './triggers.ts'

export interface Runnable {
  readonly trigger: Trigger
  readonly steps: readonly Step[]
}

export interface Judge {
  readonly db: Queryable
  readonly workspaceId: string
  /** Networks that webhooks may reach although private. */
  readonly allowed: readonly Network[]
}

/** All that is wrong; nothing when it may run. */
export async function judgeRunnable(judge: Judge, { trigger, steps }: Runnable): Promise<Detail[]> {
  const placed = placedSteps(steps)
  return [
    ...(steps.length === 0 ? [{ path: 'steps', message: 'an active automation has at least one step' }] : []),
    ...placed.flatMap((one) => judgeWebhook(judge, one)),
    ...(await judgeReferences(judge.db, judge.workspaceId, [
      ...referencesOf(trigger),
      ...placed.flatMap(referencesIn),
    ])),
  ]
}

/** A moment that has passed begins nothing: told when a draft is activated or gets another moment, and not afterwards. */
export function judgeMoment({ startsAt }: Trigger, now: Date): Detail[] {
  return startsAt === null || startsAt > now ? [] : [{ path: 'trigger_config.at', message: 'must be in the future' }]
}

function referencesOf({ type, key }: Trigger): Reference[] {
  return type !== 'contact_event' && key !== null
    ? [{ kind: 'audience', value: key, path: 'trigger_config.audience_id' }]
    : []
}

function referencesIn({ step, path }: PlacedStep): Reference[] {
  if (step.type === 'add_to_audience' || step.type === 'remove_from_audience')
    return [{ kind: 'audience', value: step.audience_id, path: `${path}.audience_id` }]
  if (step.type !== 'send_email') return []
  const sender: Reference = { kind: 'sender', value: step.from, path: `${path}.from` }
  return step.template_id === null
    ? [sender]
    : [{ kind: 'template', value: step.template_id, path: `${path}.template_id` }, sender]
}

function judgeWebhook({ allowed }: Judge, { step, path }: PlacedStep): Detail[] {
  const wrong = step.type === 'webhook' ? judgeTarget(step.url, allowed) : null
  return wrong === null ? [] : [{ path: `${path}.url`, message: wrong }]
}
