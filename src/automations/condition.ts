/**
 * Evaluates conditions of automations. Pure: the result depends only on the facts known now. A missing field equals
 * nothing: only `not_equals`, `not_contains` and `not_exists` are true for it. Numbers and numeric texts compare as
 * numbers, timestamps as timestamps, everything else as text, ignoring case.
 */
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import { variablesOf } from '#src/templates/variables.ts'
import type { Program } from './step-program.ts'
import type { OPERATORS } from './step-kinds.ts'
import type { StepCondition } from './steps.ts'

/** A message sent by this enrolment; the latest is last. */
export interface SentMail {
  readonly step: string
  /** Opened by a person, not by a machine. */
  readonly isOpened: boolean
  readonly isClicked: boolean
}

export interface ConditionFacts {
  readonly contact: ContactFields
  readonly event: Readonly<Record<string, unknown>> | null
  readonly mails: readonly SentMail[]
}

type ConditionType = StepCondition['type']
type Evaluators = {
  readonly [K in ConditionType]: (question: Extract<StepCondition, { type: K }>, known: ConditionFacts) => boolean
}

const EVALUATORS: Evaluators = {
  opened: ({ step }, { mails }) => findMails(step, mails)?.some(({ isOpened }) => isOpened) === true,
  clicked: ({ step }, { mails }) => findMails(step, mails)?.some(({ isClicked }) => isClicked) === true,
  has_tag: ({ tag }, { contact }) => contact.tags.includes(tag),
  attribute: ({ attribute, operator, value }, facts) => COMPARISONS[operator](readField(attribute, facts), value),
}

/** Whether any condition of a program depends on opens or clicks. */
export function needsMailActivity({ steps }: Program): boolean {
  return [...steps.values()].some(
    ({ step }) => step.type === 'condition' && (step.condition.type === 'opened' || step.condition.type === 'clicked'),
  )
}

/** Whether any condition of a program depends on opens: then its mails need the open pixel, however short they are. */
export function needsOpens({ steps }: Program): boolean {
  return [...steps.values()].some(({ step }) => step.type === 'condition' && step.condition.type === 'opened')
}

export function evaluateCondition(condition: StepCondition, facts: ConditionFacts): boolean {
  const evaluate = EVALUATORS[condition.type] as (condition: StepCondition, facts: ConditionFacts) => boolean
  return evaluate(condition, facts)
}

/** All messages of a step, or the latest message if `step` is null. */
function findMails(step: string | null, mails: readonly SentMail[]): readonly SentMail[] | undefined {
  if (step !== null) return mails.filter((mail) => mail.step === step)
  const latest = mails.at(-1)
  return latest === undefined ? undefined : [latest]
}

const NO_MAIL_FACTS = { unsubscribeUrl: '', preferencesUrl: '', viewInBrowserUrl: '', workspace: { name: '' } }

/** Reads a template variable, a custom attribute, or `event.<property>`; dots access nested values. */
function readField(name: string, { contact, event }: ConditionFacts): unknown {
  const all = variablesOf(contact, { ...NO_MAIL_FACTS, event: event ?? {} })
  if (Object.hasOwn(all, name)) return all[name]
  let value: unknown = all
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

type ComparedValue = string | number | boolean | null
type Comparison = (found: unknown, expected: ComparedValue) => boolean

const isPresent = (found: unknown): boolean =>
  found !== undefined && found !== null && found !== '' && !(Array.isArray(found) && found.length === 0)
const equals: Comparison = (found, expected) => isPresent(found) && compareValues(found, expected) === 0
const contains: Comparison = (found, expected) =>
  Array.isArray(found)
    ? found.some((one) => equals(one, expected))
    : isPresent(found) && toText(found).includes(toText(expected))

const COMPARISONS: Readonly<Record<keyof typeof OPERATORS, Comparison>> = {
  equals,
  not_equals: (found, expected) => !equals(found, expected),
  contains,
  not_contains: (found, expected) => !contains(found, expected),
  greater_than: (found, expected) => isPresent(found) && compareValues(found, expected) > 0,
  less_than: (found, expected) => isPresent(found) && compareValues(found, expected) < 0,
  exists: isPresent,
  not_exists: (found) => !isPresent(found),
}

/** Returns a negative number, 0 or a positive number, as a sort comparator does. */
function compareValues(found: unknown, expected: ComparedValue): number {
  for (const parse of [toNumber, toTimestamp]) {
    const [left, right] = [parse(found), parse(expected)]
    if (left !== null && right !== null) return Math.sign(left - right)
  }
  const [left, right] = [toText(found), toText(expected)]
  return left === right ? 0 : left < right ? -1 : 1
}

function toNumber(value: unknown): number | null {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || !/^\s*[-+]?\d+(\.\d+)?\s*$/.test(value)) return null
  return Number(value)
}

/** A time without a zone, or a date alone, is UTC. */
function toTimestamp(value: unknown): number | null {
  if (typeof value !== 'string') return null
  const [, day, time = '00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ]([\d:.]+) ?(Z|[-+]\d\d:?\d\d)?)?$/i.exec(value.trim()) ?? []
  if (day === undefined) return null
  const at = Date.parse(`${day}T${time}${zone === '' ? 'Z' : zone.toUpperCase()}`)
  return Number.isNaN(at) ? null : at
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value.trim().toLowerCase()
  if (typeof value === 'object' && value !== null) return JSON.stringify(value).toLowerCase()
  return String(value).toLowerCase()
}
