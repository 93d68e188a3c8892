/** What is missing in a flow, found before the API is asked. The API decides; this shows it while one builds. */
import { listSteps, MAX_DEPTH, MAX_STEPS, type FlowStep } from './flow-document.ts'

export interface FlowTrigger {
  readonly type: 'contact_event' | 'contact_added_to_audience' | 'date_time' | 'manual'
  readonly config: Readonly<Record<string, unknown>>
}

export type ProblemCode =
  | 'no-steps'
  | 'too-many-steps'
  | 'too-deep'
  | 'unreachable'
  | 'event'
  | 'audience'
  | 'time'
  | 'content'
  | 'from'
  | 'delay'
  | 'tag'
  | 'attribute'
  | 'url'
  | 'earlier-mail'

export interface FlowProblem {
  /** The id of a step, `trigger`, or null for the flow as a whole. */
  readonly at: string | null
  readonly code: ProblemCode
}

const MAX_DELAY_SECONDS = 365 * 86_400

export function validateFlow(trigger: FlowTrigger, steps: readonly FlowStep[]): readonly FlowProblem[] {
  const located = listSteps(steps)
  const whole: FlowProblem[] = [
    ...(steps.length === 0 ? [{ at: null, code: 'no-steps' as const }] : []),
    ...(located.length > MAX_STEPS ? [{ at: null, code: 'too-many-steps' as const }] : []),
  ]
  return [
    ...whole,
    ...triggerProblems(trigger).map((code) => ({ at: 'trigger', code })),
    ...located.flatMap(({ step, depth }) => {
      const codes = [...(depth > MAX_DEPTH ? (['too-deep'] as const) : []), ...CHECKS[step.type](step, steps)]
      return codes.map((code) => ({ at: step.id, code }))
    }),
    ...unreachableSteps(steps).map((id) => ({ at: id, code: 'unreachable' as const })),
  ]
}

function triggerProblems({ type, config }: FlowTrigger): readonly ProblemCode[] {
  if (type === 'contact_event') return isText(config['event_name']) ? [] : ['event']
  if (type === 'contact_added_to_audience') return isText(config['audience_id']) ? [] : ['audience']
  if (type === 'date_time') return isText(config['at']) ? [] : ['time']
  return []
}

type Check = (step: FlowStep, steps: readonly FlowStep[]) => readonly ProblemCode[]

const tagCheck: Check = (step) => (isText(step['tag']) ? [] : ['tag'])
const audienceCheck: Check = (step) => (isText(step['audience_id']) ? [] : ['audience'])
const delayCheck: Check = (step) => {
  const seconds = step['seconds']
  return typeof seconds === 'number' && seconds >= 1 && seconds <= MAX_DELAY_SECONDS ? [] : ['delay']
}

const CHECKS: Readonly<Record<FlowStep['type'], Check>> = {
  send_email: (step) => {
    const isOwn = isText(step['subject']) && (isText(step['body']) || isText(step['text']))
    return [
      ...(isText(step['template_id']) || isOwn ? [] : (['content'] as const)),
      ...(isText(step['from']) ? [] : (['from'] as const)),
    ]
  },
  delay: delayCheck,
  condition: conditionCheck,
  wait_for_event: (step, steps) => [
    ...(isText(step['event_name']) ? [] : ['event' as const]),
    ...delayCheck(step, steps),
  ],
  add_tag: tagCheck,
  remove_tag: tagCheck,
  add_to_audience: audienceCheck,
  remove_from_audience: audienceCheck,
  webhook: (step) => (/^https?:\/\/./.test(String(step['url'])) ? [] : ['url']),
  exit: () => [],
}

function conditionCheck(step: FlowStep, steps: readonly FlowStep[]): readonly ProblemCode[] {
  const condition = conditionOf(step)
  if (condition['type'] === 'has_tag') return isText(condition['tag']) ? [] : ['tag']
  if (condition['type'] === 'attribute') return isText(condition['attribute']) ? [] : ['attribute']
  const earlier = listSteps(steps)
  const own = earlier.findIndex((one) => one.step.id === step.id)
  const hasMail = earlier.slice(0, own).some((one) => one.step.type === 'send_email')
  return hasMail ? [] : ['earlier-mail']
}

export function conditionOf(step: FlowStep): Readonly<Record<string, unknown>> {
  const { condition } = step as { readonly condition?: unknown }
  return typeof condition === 'object' && condition !== null ? (condition as Readonly<Record<string, unknown>>) : {}
}

/** Steps behind an exit in the same list. */
function unreachableSteps(steps: readonly FlowStep[]): readonly string[] {
  const exit = steps.findIndex(({ type }) => type === 'exit')
  const behind = exit === -1 ? [] : steps.slice(exit + 1).map(({ id }) => id)
  return [...behind, ...steps.flatMap(({ yes = [], no = [] }) => [...unreachableSteps(yes), ...unreachableSteps(no)])]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
