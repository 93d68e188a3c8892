/**
 * The steps of an automation: a list, in which a condition, or a wait for an event, holds two further lists. Each step has an id that is
 * unique in the automation; a client that sends an id back keeps it, so what is counted for a step lives on in the next version. Depth,
 * number and size are bounded, and everything that is wrong is told with its place (`steps.2.yes.0.tag`).
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Detail } from '#src/platform/errors.ts'
import { CONDITIONS, kindOf, STEP_KINDS } from './step-kinds.ts'

export const MAX_STEPS = 100
export const MAX_DEPTH = 5
/** Characters of all steps as JSON. */
const MAX_SIZE = 2_000_000
const ID = /^[\w-]{1,64}$/

type Kinds = typeof STEP_KINDS
type Questions = typeof CONDITIONS

export type Question = {
  [K in keyof Questions]: { readonly type: K } & Readonly<z.output<Questions[K]['fields']>>
}[keyof Questions]

interface Branches {
  readonly yes: readonly Step[]
  readonly no: readonly Step[]
}

interface Condition extends Branches {
  readonly id: string
  readonly type: 'condition'
  readonly condition: Question
}

type Plain = Exclude<keyof Kinds, 'condition'>
type PlainStep<K extends Plain> = { readonly id: string; readonly type: K } & Readonly<z.output<Kinds[K]['fields']>>
type WaitStep = PlainStep<'wait_for_event'> & Branches

export type Step =
  | { [K in Exclude<Plain, 'wait_for_event'>]: PlainStep<K> }[Exclude<Plain, 'wait_for_event'>]
  | WaitStep
  | Condition

export interface PlacedStep {
  readonly step: Step
  /** Where it stands: `steps.2.yes.0`. */
  readonly path: string
}

/** All steps, each before those of its branches. */
export function placedSteps(steps: readonly Step[], path = 'steps'): PlacedStep[] {
  return steps.flatMap((step, i) => {
    const own = `${path}.${i}`
    const below = 'yes' in step ? [...placedSteps(step.yes, `${own}.yes`), ...placedSteps(step.no, `${own}.no`)] : []
    return [{ step, path: own }, ...below]
  })
}

export type StepsResult =
  | { readonly ok: true; readonly steps: readonly Step[] }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Reads what a client wrote. Paths of the details begin inside the list. */
export function readSteps(written: readonly unknown[]): StepsResult {
  const reading: Reading = { details: [], ids: new Set(), count: 0 }
  const steps = readList(written, [], reading)
  if (reading.details.length === 0) checkMailSteps(steps, reading)
  if (reading.details.length === 0 && JSON.stringify(steps).length > MAX_SIZE)
    tell(reading, [], `at most ${MAX_SIZE} characters as JSON, all steps together`)
  return reading.details.length === 0 ? { ok: true, steps } : { ok: false, details: reading.details }
}

interface Reading {
  readonly details: Detail[]
  readonly ids: Set<string>
  count: number
}

type Place = readonly (string | number)[]

function readList(written: unknown, place: Place, reading: Reading): Step[] {
  if (written === undefined || written === null) return []
  if (!Array.isArray(written)) return tell(reading, place, 'must be a list of steps')
  // a condition stands at 0, its branches at 2, theirs at 4
  if (place.length > 2 * MAX_DEPTH) return tell(reading, place, `conditions are nested more than ${MAX_DEPTH} deep`)
  const steps: Step[] = []
  for (const [i, one] of written.entries()) {
    if (++reading.count > MAX_STEPS)
      return reading.count === MAX_STEPS + 1 ? tell(reading, [], `at most ${MAX_STEPS} steps`) : []
    const step = readStep(one, [...place, i], reading)
    if (step !== null) steps.push(step)
  }
  return steps
}

type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readStep(written: unknown, place: Place, reading: Reading): Step | null {
  const given = isObject(written) ? withConfig(written) : null
  const named = given?.['type'] ?? given?.['kind'] ?? given?.['action']
  const type = typeof named === 'string' ? kindOf(STEP_KINDS, named) : null
  if (given === null || type === null) {
    tell(reading, given === null ? place : [...place, 'type'], `must be one of ${Object.keys(STEP_KINDS).join(', ')}`)
    return null
  }
  const id = readId(given['id'], place, reading)
  if (type === 'condition') return readCondition(given, id, place, reading)
  const fields = readFields<object>(STEP_KINDS[type].fields, given, place, reading)
  const branches = type === 'wait_for_event' ? readBranches(given, place, reading) : {}
  return fields === null ? null : ({ id, type, ...fields, ...branches } as Step)
}

/** `{type, config: {...}}` says the same as `{type, ...}`. */
function withConfig(written: Json): Json {
  const { config, ...own } = written
  return isObject(config) ? { ...config, ...own } : written
}

function readId(written: unknown, place: Place, reading: Reading): string {
  const given = typeof written === 'string' || typeof written === 'number' ? String(written) : ''
  const id = written === undefined || written === null ? `step_${randomBytes(6).toString('hex')}` : given
  if (!ID.test(id)) tell(reading, [...place, 'id'], 'must be 1 to 64 letters, digits, - or _')
  else if (reading.ids.has(id)) tell(reading, [...place, 'id'], 'is the id of another step too')
  reading.ids.add(id)
  return id
}

function readCondition(given: Json, id: string, place: Place, reading: Reading): Step | null {
  const asked = [given['condition'], given['if'], given['check']].find(isObject) ?? given
  const named =
    asked === given ? (given['condition'] ?? given['if'] ?? given['check']) : (asked['type'] ?? asked['kind'])
  const type = typeof named === 'string' ? kindOf(CONDITIONS, named) : null
  const at = [...place, 'condition']
  const fields = type === null ? null : readFields<object>(CONDITIONS[type].fields, asked, at, reading)
  const { yes, no } = readBranches(given, place, reading)
  if (type === null) tell(reading, [...at, 'type'], `must be one of ${Object.keys(CONDITIONS).join(', ')}`)
  return type === null || fields === null
    ? null
    : { id, type: 'condition', condition: { type, ...fields } as Question, yes, no }
}

function readBranches(given: Json, place: Place, reading: Reading): Branches {
  return {
    yes: readList(given['yes'] ?? given['then'], [...place, 'yes'], reading),
    no: readList(given['no'] ?? given['else'], [...place, 'no'], reading),
  }
}

const EXPLAINED: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => (issue.input === undefined ? 'is required' : undefined),
}

function readFields<T extends object>(schema: z.ZodType<T>, given: Json, place: Place, reading: Reading): T | null {
  const read = schema.safeParse(given, EXPLAINED)
  if (read.success) return read.data
  for (const issue of read.error.issues) tell(reading, [...place, ...issue.path.map(String)], issue.message)
  return null
}

/** A condition about a mail must name a step that sends one. */
function checkMailSteps(steps: readonly Step[], reading: Reading): void {
  const placed = placedSteps(steps, '')
  const mails = new Set(placed.filter(({ step }) => step.type === 'send_email').map(({ step }) => step.id))
  for (const { step, path } of placed) {
    const named = step.type === 'condition' && 'step' in step.condition ? step.condition.step : null
    if (named !== null && !mails.has(named))
      tell(reading, [path.slice(1), 'condition', 'step'], 'must be the id of a send_email step')
  }
}

/** Answers nothing, so that a reader can leave with it. */
function tell(reading: Reading, place: Place, message: string): never[] {
  reading.details.push({ path: place.join('.'), message })
  return []
}

/** The steps in a body, with all kinds described. */
export const stepsField = z
  .array(
    z.unknown().meta({
      id: 'AutomationStep',
      // made when the OpenAPI document is
      get oneOf() {
        return describeKinds()
      },
    }),
    'must be a list of steps',
  )
  .meta({ description: `at most ${MAX_STEPS}, conditions at most ${MAX_DEPTH} deep` })
  .transform((written, sink) => {
    const read = readSteps(written)
    if (read.ok) return read.steps
    for (const { path, message } of read.details)
      sink.addIssue({ code: 'custom', path: path === '' ? [] : [path], message })
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
