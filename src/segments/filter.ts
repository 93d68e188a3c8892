/**
 * The filter of a segment: a small tree of conditions on contacts, as JSON. Groups are `all`, `any` and `not`; each leaf is known by its
 * one telling key (the table below). Reading folds the aliases and answers one canonical form, or every place that is wrong. Bounded in
 * depth and in the number of conditions, so that neither reading nor what SQL makes of it can be made to cost much.
 */
import { z, type ZodType } from 'zod'
import type { Detail } from '#src/platform/errors.ts'

/** What is compared, and the type of what it is compared with. */
export const FIELDS = {
  email: 'text',
  firstName: 'text',
  lastName: 'text',
  companyName: 'text',
  jobTitle: 'text',
  phoneNumber: 'text',
  linkedin: 'text',
  timezone: 'text',
  score: 'number',
  createdAt: 'time',
  updatedAt: 'time',
} as const
export type FieldName = keyof typeof FIELDS

export const OPERATORS = ['eq', 'ne', 'gt', 'lt', 'contains', 'exists'] as const
export type Operator = (typeof OPERATORS)[number]

/** What happened to mail that was sent to the address. `mailed` is any mail at all. */
export const ACTIVITIES = ['opened', 'clicked', 'delivered', 'bounced', 'mailed'] as const
export type Activity = (typeof ACTIVITIES)[number]

export const STATUSES = ['subscribed', 'unsubscribed', 'member', 'blocked'] as const

export type Filter = Group | Leaf
export type Group = { readonly all: readonly Filter[] } | { readonly any: readonly Filter[] } | { readonly not: Filter }
export type Leaf = TagLeaf | AttributeLeaf | FieldLeaf | StatusLeaf | ActivityLeaf

export interface TagLeaf {
  readonly tag: string
  readonly has: boolean
}
export interface AttributeLeaf {
  readonly attribute: string
  readonly op: Operator
  readonly value: string | number | boolean
}
export interface FieldLeaf {
  readonly field: FieldName
  readonly op: Operator
  readonly value: string | number | boolean
}
/** `blocked` is on the suppression list; the others are of one audience, or of any (null). */
export interface StatusLeaf {
  readonly status: (typeof STATUSES)[number]
  readonly audienceId: string | null
}
/** Within so many days; null for ever. */
export interface ActivityLeaf {
  readonly activity: Activity
  readonly withinDays: number | null
}

export type FilterResult =
  | { readonly ok: true; readonly filter: Filter }
  | { readonly ok: false; readonly details: readonly Detail[] }

const MAX_DEPTH = 6
const MAX_CONDITIONS = 50
/** They look into what was sent, so they cost more. */
const MAX_ACTIVITIES = 5
const MAX_TEXT = 500
const MAX_DAYS = 3650

const text = z
  .string()
  .max(MAX_TEXT, `at most ${MAX_TEXT} characters`)
  .refine((given) => !given.includes('\0') && given.isWellFormed(), 'has characters that no text may have')
const name = text.refine((given) => given.trim() !== '', 'is empty')
const days = z
  .number()
  .int('must be a whole number')
  .min(1, 'at least 1')
  .max(MAX_DAYS, `at most ${MAX_DAYS}`)
  .nullish()
const scalar = z.union([text, z.number(), z.boolean()], 'must be a text, a number, or true or false')
const operator = z.enum(OPERATORS, `must be one of ${OPERATORS.join(', ')}`)
const id = z
  .guid('must be a UUID')
  .transform((given) => given.toLowerCase())
  .nullish()

/** Ways to write a field: as answers have it, and in snake_case. */
const FIELD_SPELLINGS: ReadonlyMap<string, FieldName> = new Map([
  ...Object.keys(FIELDS).flatMap(
    (field) =>
      [
        [field, field],
        [snakeOf(field), field],
      ] as [string, FieldName][],
  ),
  ['deliverabilityScore', 'score'],
  ['deliverability_score', 'score'],
])
const UNKNOWN_FIELD = `must be one of ${Object.keys(FIELDS).join(', ')}`
/** Before and after are what lt and gt are called for moments. */
const OPERATOR_SPELLINGS: ReadonlyMap<string, Operator> = new Map([
  ['before', 'lt'],
  ['after', 'gt'],
])

const LEAVES: Readonly<Record<string, ZodType<Leaf>>> = {
  tag: z.object({ tag: name, has: z.boolean('must be true or false').default(true) }),
  attribute: z
    .object({ attribute: name, op: operator.default('eq'), value: scalar.optional() })
    .transform(complete)
    .transform(checkNumber),
  field: z
    .object({
      field: z.string().transform((given, sink) => FIELD_SPELLINGS.get(given) ?? complain(sink, UNKNOWN_FIELD)),
      op: z
        .string()
        .transform((given) => OPERATOR_SPELLINGS.get(given) ?? given)
        .pipe(operator)
        .default('eq'),
      value: scalar.optional(),
    })
    .transform(complete)
    .transform(checkField),
  status: z
    .object({
      status: z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`),
      audienceId: id,
      audience_id: id,
    })
    .transform(({ status, audienceId, audience_id }) => ({ status, audienceId: audienceId ?? audience_id ?? null })),
  activity: z
    .object({
      activity: z.enum(ACTIVITIES, `must be one of ${ACTIVITIES.join(', ')}`),
      withinDays: days,
      within_days: days,
    })
    .transform(({ activity, withinDays, within_days }) => ({
      activity,
      withinDays: withinDays ?? within_days ?? null,
    })),
}
const KINDS = ['all', 'any', 'not', ...Object.keys(LEAVES)]

interface Count {
  conditions: number
  activities: number
  readonly details: Detail[]
}

/** Never throws, whatever is given. */
export function readFilter(given: unknown): FilterResult {
  const count: Count = { conditions: 0, activities: 0, details: [] }
  const filter = readNode(given, 'filter', MAX_DEPTH, count)
  if (count.activities > MAX_ACTIVITIES)
    count.details.push({ path: 'filter', message: `at most ${MAX_ACTIVITIES} conditions on activity` })
  return filter === null || count.details.length > 0 ? { ok: false, details: count.details } : { ok: true, filter }
}

function readNode(given: unknown, path: string, depth: number, count: Count): Filter | null {
  count.conditions++
  if (count.conditions > MAX_CONDITIONS)
    return refuse(count, 'filter', `at most ${MAX_CONDITIONS} conditions and groups`)
  if (depth === 0) return refuse(count, path, `nested deeper than ${MAX_DEPTH} levels`)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return refuse(count, path, 'must be an object')
  const kinds = KINDS.filter((kind) => Object.hasOwn(given, kind))
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) return refuse(count, path, `must have one of ${KINDS.join(', ')}`)
  const inner: unknown = (given as Record<string, unknown>)[kind]
  if (kind === 'not') return readNot(inner, `${path}.not`, depth, count)
  if (kind === 'all' || kind === 'any') return readGroup(kind, inner, { path: `${path}.${kind}`, depth, count })
  if (kind === 'activity') count.activities++
  return readLeaf(LEAVES[kind], given, path, count)
}

function readNot(given: unknown, path: string, depth: number, count: Count): Group | null {
  const inner = readNode(given, path, depth - 1, count)
  return inner === null ? null : { not: inner }
}

interface At {
  readonly path: string
  readonly depth: number
  readonly count: Count
}

function readGroup(kind: 'all' | 'any', given: unknown, { path, depth, count }: At): Group | null {
  if (!Array.isArray(given)) return refuse(count, path, 'must be a list of conditions')
  const members: Filter[] = []
  for (const [i, one] of given.entries()) {
    const member = readNode(one, `${path}.${i}`, depth - 1, count)
    if (member !== null) members.push(member)
    // more of them would only be told the same
    if (count.conditions > MAX_CONDITIONS) return null
  }
  return kind === 'all' ? { all: members } : { any: members }
}

function readLeaf(schema: ZodType<Leaf> | undefined, given: object, path: string, count: Count): Leaf | null {
  const read = schema?.safeParse(given)
  if (read?.success === true) return read.data
  const issues = read?.error.issues ?? []
  for (const issue of issues)
    count.details.push({ path: [path, ...issue.path.map(String)].join('.'), message: issue.message })
  return null
}

function refuse(count: Count, path: string, message: string): null {
  count.details.push({ path, message })
  return null
}

type Sink = z.RefinementCtx

function complain(sink: Sink, message: string, path: string[] = []): never {
  sink.addIssue({ code: 'custom', message, path })
  return z.NEVER
}

/** `exists` asks for nothing but yes or no; all others compare with a value. */
type Scalar = string | number | boolean

function complete<T extends { op: Operator; value?: Scalar | undefined }>(leaf: T, sink: Sink): T & { value: Scalar } {
  const value = leaf.value ?? (leaf.op === 'exists' ? true : undefined)
  if (value === undefined) return complain(sink, 'is required', ['value'])
  return leaf.op === 'exists' && typeof value !== 'boolean'
    ? complain(sink, 'must be true or false', ['value'])
    : { ...leaf, value }
}

function checkNumber<T extends { value: Scalar }>(leaf: T, sink: Sink): T {
  return typeof leaf.value === 'number' && Math.abs(leaf.value) > Number.MAX_SAFE_INTEGER
    ? complain(sink, 'is too large', ['value'])
    : leaf
}

const MOMENT = z.iso.datetime({ offset: true }).or(z.iso.date())

function checkField(leaf: FieldLeaf, sink: Sink): FieldLeaf {
  const { field, op, value } = leaf
  if (op === 'exists') return leaf
  const type = FIELDS[field]
  if (type === 'text') return typeof value === 'string' ? leaf : complain(sink, 'must be a text', ['value'])
  if (op === 'contains') return complain(sink, `is for texts, and ${field} is none`, ['op'])
  if (type === 'number') return typeof value === 'number' ? leaf : complain(sink, 'must be a number', ['value'])
  const moment = typeof value === 'string' && MOMENT.safeParse(value).success ? new Date(value) : null
  return moment === null || Number.isNaN(moment.getTime())
    ? complain(sink, 'must be a moment in ISO 8601', ['value'])
    : { ...leaf, value: moment.toISOString() }
}

function snakeOf(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
