/**
 * The steps of an automation: a list, in which a condition or a wait for an event contains two further lists. Each step
 * has an id that is unique in the automation. A client that sends an id back keeps it, so the counters of a step
 * continue in the next version. Depth, number and size are limited, and every error is reported with its path
 * (`steps.2.yes.0.tag`).
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Detail } from '#src/platform/errors.ts'
import { CONDITIONS, findKind, STEP_KINDS } from './step-kinds.ts'
import { oneOfText } from '#src/platform/choice-text.ts'
import { SCHEMA_TEXTS } from '#src/platform/schema-texts.ts'

export const MAX_STEPS = 100
export const MAX_DEPTH = 5
/** Maximum characters of all steps as JSON. */
const MAX_SIZE = 2_000_000
const ID = /^[\w-]{1,64}$/

type StepKinds = typeof STEP_KINDS
type ConditionKinds = typeof CONDITIONS

export type StepCondition = {
  [K in keyof ConditionKinds]: { readonly type: K } & Readonly<z.output<ConditionKinds[K]['fields']>>
}[keyof ConditionKinds]

interface Branches {
  readonly yes: readonly Step[]
  readonly no: readonly Step[]
}

interface ConditionStep extends Branches {
  readonly id: string
  readonly type: 'condition'
  readonly condition: StepCondition
}

type SimpleStepType = Exclude<keyof StepKinds, 'condition'>
type SimpleStep<K extends SimpleStepType> = { readonly id: string; readonly type: K } & Readonly<
  z.output<StepKinds[K]['fields']>
>
type WaitStep = SimpleStep<'wait_for_event'> & Branches

export type Step =
  | { [K in Exclude<SimpleStepType, 'wait_for_event'>]: SimpleStep<K> }[Exclude<SimpleStepType, 'wait_for_event'>]
  | WaitStep
  | ConditionStep

export interface LocatedStep {
  readonly step: Step
  /** The path of the step: `steps.2.yes.0`. */
  readonly path: string
}

/** All steps in order, each before the steps of its branches. */
export function listSteps(steps: readonly Step[], path = 'steps'): LocatedStep[] {
  return steps.flatMap((step, i) => {
    const own = `${path}.${i}`
    const below = 'yes' in step ? [...listSteps(step.yes, `${own}.yes`), ...listSteps(step.no, `${own}.no`)] : []
    return [{ step, path: own }, ...below]
  })
}

export type StepsResult =
  | { readonly ok: true; readonly steps: readonly Step[] }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Parses steps as clients write them. Paths of the details are relative to the list. */
export function readSteps(input: readonly unknown[]): StepsResult {
  const state: ParseState = { details: [], ids: new Set(), count: 0 }
  const steps = readList(input, [], state)
  if (state.details.length === 0) checkMailSteps(steps, state)
  if (state.details.length === 0 && JSON.stringify(steps).length > MAX_SIZE)
    addDetail(state, [], `at most ${MAX_SIZE} characters as JSON, all steps together`)
  return state.details.length === 0 ? { ok: true, steps } : { ok: false, details: state.details }
}

interface ParseState {
  readonly details: Detail[]
  readonly ids: Set<string>
  count: number
}

type StepPath = readonly (string | number)[]

function readList(input: unknown, path: StepPath, state: ParseState): Step[] {
  if (input === undefined || input === null) return []
  if (!Array.isArray(input)) return addDetail(state, path, 'must be a list of steps')
  // each nesting level adds two path segments
  if (path.length > 2 * MAX_DEPTH) return addDetail(state, path, `conditions are nested more than ${MAX_DEPTH} deep`)
  const steps: Step[] = []
  for (const [i, one] of input.entries()) {
    if (++state.count > MAX_STEPS)
      return state.count === MAX_STEPS + 1 ? addDetail(state, [], `at most ${MAX_STEPS} steps`) : []
    const step = readStep(one, [...path, i], state)
    if (step !== null) steps.push(step)
  }
  return steps
}

type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readStep(input: unknown, path: StepPath, state: ParseState): Step | null {
  const given = isObject(input) ? withConfig(input) : null
  const name = given?.['type'] ?? given?.['kind'] ?? given?.['action']
  const type = typeof name === 'string' ? findKind(STEP_KINDS, name) : null
  if (given === null || type === null) {
    addDetail(state, given === null ? path : [...path, 'type'], oneOfText(Object.keys(STEP_KINDS), name))
    return null
  }
  const id = readId(given['id'], path, state)
  if (type === 'condition') return readCondition(given, id, path, state)
  const fields = readFields<object>(STEP_KINDS[type].fields, given, path, state)
  const branches = type === 'wait_for_event' ? readBranches(given, path, state) : {}
  return fields === null ? null : ({ id, type, ...fields, ...branches } as Step)
}

/** `{type, config: {...}}` is equivalent to `{type, ...}`. */
function withConfig(input: Json): Json {
  const { config, ...own } = input
  return isObject(config) ? { ...config, ...own } : input
}

function readId(input: unknown, path: StepPath, state: ParseState): string {
  const given = typeof input === 'string' || typeof input === 'number' ? String(input) : ''
  const id = input === undefined || input === null ? `step_${randomBytes(6).toString('hex')}` : given
  if (!ID.test(id)) addDetail(state, [...path, 'id'], 'must be 1 to 64 letters, digits, - or _')
  else if (state.ids.has(id)) addDetail(state, [...path, 'id'], 'is also the id of another step')
  state.ids.add(id)
  return id
}

function readCondition(given: Json, id: string, path: StepPath, state: ParseState): Step | null {
  const source = [given['condition'], given['if'], given['check']].find(isObject) ?? given
  const name =
    source === given ? (given['condition'] ?? given['if'] ?? given['check']) : (source['type'] ?? source['kind'])
  const type = typeof name === 'string' ? findKind(CONDITIONS, name) : null
  const at = [...path, 'condition']
  const fields = type === null ? null : readFields<object>(CONDITIONS[type].fields, source, at, state)
  const { yes, no } = readBranches(given, path, state)
  if (type === null) addDetail(state, [...at, 'type'], oneOfText(Object.keys(CONDITIONS), name))
  return type === null || fields === null
    ? null
    : { id, type: 'condition', condition: { type, ...fields } as StepCondition, yes, no }
}

function readBranches(given: Json, path: StepPath, state: ParseState): Branches {
  return {
    yes: readList(given['yes'] ?? given['then'], [...path, 'yes'], state),
    no: readList(given['no'] ?? given['else'], [...path, 'no'], state),
  }
}

function readFields<T extends object>(schema: z.ZodType<T>, given: Json, path: StepPath, state: ParseState): T | null {
  const read = schema.safeParse(given, SCHEMA_TEXTS)
  if (read.success) return read.data
  for (const issue of read.error.issues) addDetail(state, [...path, ...issue.path.map(String)], issue.message)
  return null
}

/** A condition about opens or clicks must reference a mail step. */
function checkMailSteps(steps: readonly Step[], state: ParseState): void {
  const located = listSteps(steps, '')
  const mails = new Set(located.filter(({ step }) => step.type === 'send_email').map(({ step }) => step.id))
  for (const { step, path } of located) {
    const named = step.type === 'condition' && 'step' in step.condition ? step.condition.step : null
    if (named !== null && !mails.has(named))
      addDetail(state, [path.slice(1), 'condition', 'step'], 'must be the id of a send_email step')
  }
}

/** Returns an empty list, so that a parser can return the result directly. */
function addDetail(state: ParseState, path: StepPath, message: string): never[] {
  state.details.push({ path: path.join('.'), message })
  return []
}

/** Schema of the steps in a request body, describing all kinds. */
export const stepsField = z
  .array(
    z.unknown().meta({
      id: 'AutomationStep',
      // a getter, computed when the OpenAPI document is built
      get oneOf() {
        return describeKinds()
      },
    }),
    'must be a list of steps',
  )
  .meta({ description: `at most ${MAX_STEPS}, conditions at most ${MAX_DEPTH} deep` })
  .transform((input, issues) => {
    const read = readSteps(input)
    if (read.ok) return read.steps
    for (const { path, message } of read.details)
      issues.addIssue({ code: 'custom', path: path === '' ? [] : [path], message })
    return z.NEVER
  })

function describeKinds(): Record<string, unknown>[] {
  const list = { type: 'array', items: { $ref: '#/components/schemas/AutomationStep' } }
  const question = {
    oneOf: Object.entries(CONDITIONS).map(([type, { does, fields }]) => describeKind(type, does, fields)),
  }
  return Object.entries(STEP_KINDS).map(([type, { does, fields }]) => {
    const described = describeKind(type, does, fields)
    const asked = type === 'condition' ? { condition: question } : {}
    const branches = type === 'condition' || type === 'wait_for_event' ? { yes: list, no: list } : {}
    return { ...described, properties: { id: { type: 'string' }, ...described.properties, ...asked, ...branches } }
  })
}

function describeKind(
  type: string,
  does: string,
  fields: z.ZodType,
): { readonly properties: Json } & Record<string, unknown> {
  const { $schema: _, properties, ...rest } = z.toJSONSchema(fields, { io: 'input', unrepresentable: 'any' })
  const required = ['type', ...(rest.required ?? [])]
  return { ...rest, description: does, properties: { type: { const: type }, ...properties }, required }
}
