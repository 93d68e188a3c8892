/**
 * What a condition asks, answered: pure, of what is known at this moment. A field that is not there compares as nothing: only `not_equals`,
 * `not_contains` and `not_exists` are true of it. Numbers, and texts that are numbers, compare as numbers; moments as moments; all else as
 * text, where case makes no difference.
 */
import type { ContactFacts } from '#src/contacts/facts.ts'
import { variablesOf } from '#src/templates/variables.ts'
import type { Program } from './step-program.ts'
import type { OPERATORS } from './step-kinds.ts'
import type { Question } from './steps.ts'

/** A mail that this enrolment was sent; the latest last. */
export interface SentMail {
  readonly step: string
  /** By a person. */
  readonly isOpened: boolean
  readonly isClicked: boolean
}

export interface Known {
  readonly contact: ContactFacts
  readonly event: Readonly<Record<string, unknown>> | null
  readonly mails: readonly SentMail[]
}

type Kind = Question['type']
type Judges = { readonly [K in Kind]: (question: Extract<Question, { type: K }>, known: Known) => boolean }

const JUDGES: Judges = {
  opened: ({ step }, { mails }) => mailOf(step, mails)?.some(({ isOpened }) => isOpened) === true,
  clicked: ({ step }, { mails }) => mailOf(step, mails)?.some(({ isClicked }) => isClicked) === true,
  has_tag: ({ tag }, { contact }) => contact.tags.includes(tag),
  attribute: ({ attribute, operator, value }, known) => COMPARISONS[operator](read(attribute, known), value),
}

/** Whether anything in a program asks for what became of mails. */
export function asksForMails({ steps }: Program): boolean {
  return [...steps.values()].some(
    ({ step }) => step.type === 'condition' && (step.condition.type === 'opened' || step.condition.type === 'clicked'),
  )
}

export function answer(question: Question, known: Known): boolean {
  const judge = JUDGES[question.type] as (question: Question, known: Known) => boolean
  return judge(question, known)
}

/** All mails of a step, or (null) the latest one. */
function mailOf(step: string | null, mails: readonly SentMail[]): readonly SentMail[] | undefined {
  if (step !== null) return mails.filter((mail) => mail.step === step)
  const latest = mails.at(-1)
  return latest === undefined ? undefined : [latest]
}

const NO_MAIL = { unsubscribeUrl: '', preferencesUrl: '', viewInBrowserUrl: '', workspace: { name: '' } }

/** A variable of mails, a custom attribute, or `event.<property>`; deeper ones with dots. */
function read(name: string, { contact, event }: Known): unknown {
  const all = variablesOf(contact, { ...NO_MAIL, event: event ?? {} })
  if (Object.hasOwn(all, name)) return all[name]
  let value: unknown = all
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

type Compared = string | number | boolean | null
type Comparison = (found: unknown, wanted: Compared) => boolean

const isThere = (found: unknown): boolean =>
  found !== undefined && found !== null && found !== '' && !(Array.isArray(found) && found.length === 0)
const equals: Comparison = (found, wanted) => isThere(found) && order(found, wanted) === 0
const contains: Comparison = (found, wanted) =>
  Array.isArray(found)
    ? found.some((one) => equals(one, wanted))
    : isThere(found) && textOf(found).includes(textOf(wanted))

const COMPARISONS: Readonly<Record<keyof typeof OPERATORS, Comparison>> = {
  equals,
  not_equals: (found, wanted) => !equals(found, wanted),
  contains,
  not_contains: (found, wanted) => !contains(found, wanted),
  greater_than: (found, wanted) => isThere(found) && order(found, wanted) > 0,
  less_than: (found, wanted) => isThere(found) && order(found, wanted) < 0,
  exists: isThere,
  not_exists: (found) => !isThere(found),
}

/** Below, at or above 0, as of a sort. */
function order(found: unknown, wanted: Compared): number {
  for (const measure of [numberOf, momentOf]) {
    const [left, right] = [measure(found), measure(wanted)]
    if (left !== null && right !== null) return Math.sign(left - right)
  }
  const [left, right] = [textOf(found), textOf(wanted)]
  return left === right ? 0 : left < right ? -1 : 1
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || !/^\s*[-+]?\d+(\.\d+)?\s*$/.test(value)) return null
  return Number(value)
}

/** Without a zone it is of UTC, as a day alone is. */
function momentOf(value: unknown): number | null {
  if (typeof value !== 'string') return null
  const [, day, time = '00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ]([\d:.]+) ?(Z|[-+]\d\d:?\d\d)?)?$/i.exec(value.trim()) ?? []
  if (day === undefined) return null
  const at = Date.parse(`${day}T${time}${zone === '' ? 'Z' : zone.toUpperCase()}`)
  return Number.isNaN(at) ? null : at
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.trim().toLowerCase()
  if (typeof value === 'object' && value !== null) return JSON.stringify(value).toLowerCase()
  return String(value).toLowerCase()
}
