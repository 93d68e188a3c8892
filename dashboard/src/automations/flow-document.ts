/**
 * The steps of an automation as a tree, as the API has them: a list, in which a condition or a wait for an event has
 * two further lists. Every change returns a new tree; steps that did not change stay the same objects.
 */
export const STEP_TYPES = [
  'send_email',
  'delay',
  'condition',
  'wait_for_event',
  'add_tag',
  'remove_tag',
  'add_to_audience',
  'remove_from_audience',
  'webhook',
  'exit',
] as const
export type StepType = (typeof STEP_TYPES)[number]

export interface FlowStep {
  readonly id: string
  readonly type: StepType
  readonly yes?: readonly FlowStep[]
  readonly no?: readonly FlowStep[]
  /** The fields of its type, by the names of the API. */
  readonly [field: string]: unknown
}

/** Where a step can be inserted: a list (`steps`, `steps.2.yes`) and the place in it. */
export interface InsertPoint {
  readonly list: string
  readonly index: number
}

export interface LocatedStep {
  readonly step: FlowStep
  readonly path: string
  readonly depth: number
}

export const MAX_STEPS = 100
export const MAX_DEPTH = 5

const FIELDS: Readonly<Record<StepType, Readonly<Record<string, unknown>>>> = {
  send_email: { template_id: null, subject: '', body: null, from: '' },
  delay: { seconds: 86_400 },
  condition: { condition: { type: 'opened' }, yes: [], no: [] },
  wait_for_event: { event_name: '', seconds: 86_400, yes: [], no: [] },
  add_tag: { tag: '' },
  remove_tag: { tag: '' },
  add_to_audience: { audience_id: null },
  remove_from_audience: { audience_id: null },
  webhook: { url: '' },
  exit: {},
}

/** A step with an id of its own, so that it stays the same step from version to version. */
export function newStep(type: StepType, id = `s-${crypto.randomUUID().slice(0, 8)}`): FlowStep {
  return { id, type, ...FIELDS[type] }
}

export function hasBranches(step: FlowStep): boolean {
  return step.type === 'condition' || step.type === 'wait_for_event'
}

/** All steps in order, each before those of its branches. */
export function listSteps(steps: readonly FlowStep[], list = 'steps', depth = 0): readonly LocatedStep[] {
  return steps.flatMap((step, index) => {
    const path = `${list}.${index}`
    return [
      { step, path, depth },
      ...listSteps(step.yes ?? [], `${path}.yes`, depth + 1),
      ...listSteps(step.no ?? [], `${path}.no`, depth + 1),
    ]
  })
}

export function findStep(steps: readonly FlowStep[], id: string): FlowStep | undefined {
  return listSteps(steps).find(({ step }) => step.id === id)?.step
}

export function insertStep(steps: readonly FlowStep[], point: InsertPoint, step: FlowStep): readonly FlowStep[] {
  return changeList(steps, point.list, (list) => list.toSpliced(point.index, 0, step))
}

/** Removes a step with its branches. */
export function removeStep(steps: readonly FlowStep[], id: string): readonly FlowStep[] {
  return mapLists(steps, (list) => list.filter((step) => step.id !== id))
}

export function changeStep(
  steps: readonly FlowStep[],
  id: string,
  change: Readonly<Record<string, unknown>>,
): readonly FlowStep[] {
  return mapLists(steps, (list) => list.map((step) => (step.id === id ? { ...step, ...change } : step)))
}

/** Moves a step within its list; at an end of the list it stays. */
export function moveStep(steps: readonly FlowStep[], id: string, by: 1 | -1): readonly FlowStep[] {
  return mapLists(steps, (list) => {
    const from = list.findIndex((step) => step.id === id)
    const moved = list[from]
    const to = from + by
    if (moved === undefined || to < 0 || to >= list.length) return list
    return list.toSpliced(from, 1).toSpliced(to, 0, moved)
  })
}

/** The step that a path of an error is in: `steps.2.yes.0.template_id`; `trigger` and null for the flow as a whole. */
export function stepOfPath(steps: readonly FlowStep[], path: string): string | null {
  if (path.startsWith('trigger')) return 'trigger'
  const found = listSteps(steps).filter((one) => path === one.path || path.startsWith(`${one.path}.`))
  return found.at(-1)?.step.id ?? null
}

function changeList(
  steps: readonly FlowStep[],
  wanted: string,
  change: (list: readonly FlowStep[]) => readonly FlowStep[],
  own = 'steps',
): readonly FlowStep[] {
  if (wanted === own) return change(steps)
  if (!wanted.startsWith(`${own}.`)) return steps
  return steps.map((step, index) => {
    if (!hasBranches(step) || !wanted.startsWith(`${own}.${index}.`)) return step
    const path = `${own}.${index}`
    return {
      ...step,
      yes: changeList(step.yes ?? [], wanted, change, `${path}.yes`),
      no: changeList(step.no ?? [], wanted, change, `${path}.no`),
    }
  })
}

function mapLists(
  steps: readonly FlowStep[],
  change: (list: readonly FlowStep[]) => readonly FlowStep[],
): readonly FlowStep[] {
  return change(steps).map((step) =>
    hasBranches(step) ? { ...step, yes: mapLists(step.yes ?? [], change), no: mapLists(step.no ?? [], change) } : step,
  )
}
