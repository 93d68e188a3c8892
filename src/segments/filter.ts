/**
 * The filter of a segment: a small tree of conditions on contacts, as JSON. Groups are `all`, `any` and `not`; each
 * leaf is recognised by the one key that only its kind has (the table below). Reading resolves aliases and returns one
 * canonical form, or every error with its path. Depth and the number of conditions are limited, so neither reading nor
 * the SQL query can be made expensive.
 */
import { z, type ZodType } from 'zod'
import type { Detail } from '#src/platform/errors.ts'
import { oneOfText } from '#src/platform/choice-text.ts'
import { SCHEMA_TEXTS } from '#src/platform/schema-texts.ts'

/** The fields that can be compared, and the type of their values. */
export const SEGMENT_FIELDS = {
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
export type FieldName = keyof typeof SEGMENT_FIELDS

export const OPERATORS = ['eq', 'ne', 'gt', 'lt', 'contains', 'exists'] as const
export type Operator = (typeof OPERATORS)[number]

/** What happened to mail sent to the address. `mailed` means any mail at all. */
export const ACTIVITIES = ['opened', 'clicked', 'delivered', 'bounced', 'mailed'] as const
export type Activity = (typeof ACTIVITIES)[number]

export const STATUSES = ['subscribed', 'unsubscribed', 'member', 'blocked'] as const

export type Filter = FilterGroup | Leaf
export type FilterGroup =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
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
/** `blocked`: on the suppression list. The others apply to one audience, or to any (null). */
export interface StatusLeaf {
  readonly status: (typeof STATUSES)[number]
  readonly audienceId: string | null
}
/** Within this many days; null: at any time. */
export interface ActivityLeaf {
  readonly activity: Activity
  readonly withinDays: number | null
}

export type FilterResult =
  | { readonly ok: true; readonly filter: Filter }
  | { readonly ok: false; readonly details: readonly Detail[] }

const MAX_DEPTH = 6
const MAX_CONDITIONS = 50
/** Conditions on activity read sent mail, so they cost more. */
const MAX_ACTIVITIES = 5
const MAX_TEXT = 500
const MAX_DAYS = 3650

const textSchema = z
  .string()
  .max(MAX_TEXT, `at most ${MAX_TEXT} characters`)
  .refine((given) => !given.includes('\0') && given.isWellFormed(), 'contains characters that cannot be stored')
const nameSchema = textSchema.refine((given) => given.trim() !== '', 'is empty')
const daysSchema = z
  .number()
  .int('must be a whole number')
  .min(1, 'at least 1')
  .max(MAX_DAYS, `at most ${MAX_DAYS}`)
  .nullish()
const oneOf = <T extends string>(choices: readonly T[]): z.ZodType<T, string> =>
  z.enum(choices, { error: ({ input }) => oneOfText(choices, input) })
const scalarSchema = z.union([textSchema, z.number(), z.boolean()], 'must be a text, a number, or true or false')
const operatorSchema = oneOf(OPERATORS)
const idSchema = z
  .guid('must be a UUID')
  .transform((given) => given.toLowerCase())
  .nullish()

/** Accepted spellings of a field: camelCase and snake_case. */
const FIELD_SPELLINGS: ReadonlyMap<string, FieldName> = new Map([
  ...Object.keys(SEGMENT_FIELDS).flatMap(
    (field) =>
      [
        [field, field],
        [snakeOf(field), field],
      ] as [string, FieldName][],
  ),
  ['deliverabilityScore', 'score'],
  ['deliverability_score', 'score'],
])
/** `before` and `after` are aliases of lt and gt for times. */
const OPERATOR_SPELLINGS: ReadonlyMap<string, Operator> = new Map([
  ['before', 'lt'],
  ['after', 'gt'],
])

const LEAVES: Readonly<Record<string, ZodType<Leaf>>> = {
  tag: z.object({ tag: nameSchema, has: z.boolean('must be true or false').default(true) }),
  attribute: z
    .object({ attribute: nameSchema, op: operatorSchema.default('eq'), value: scalarSchema.optional() })
    .transform(completeValue)
    .transform(checkNumber),
  field: z
    .object({
      field: z.string().transform((given, sink) => {
        return FIELD_SPELLINGS.get(given) ?? addIssue(sink, oneOfText(Object.keys(SEGMENT_FIELDS), given))
      }),
      op: z
        .string()
        .transform((given) => OPERATOR_SPELLINGS.get(given) ?? given)
        .pipe(operatorSchema)
        .default('eq'),
      value: scalarSchema.optional(),
    })
    .transform(completeValue)
    .transform(checkField),
  status: z
    .object({
      status: oneOf(STATUSES),
      audienceId: idSchema,
      audience_id: idSchema,
    })
    .transform(({ status, audienceId, audience_id }) => ({ status, audienceId: audienceId ?? audience_id ?? null })),
  activity: z
    .object({
      activity: oneOf(ACTIVITIES),
      withinDays: daysSchema,
      within_days: daysSchema,
    })
    .transform(({ activity, withinDays, within_days }) => ({
      activity,
      withinDays: withinDays ?? within_days ?? null,
    })),
}
const KINDS = ['all', 'any', 'not', ...Object.keys(LEAVES)]

interface ReadState {
  conditions: number
  activities: number
  readonly details: Detail[]
}

/** Never throws, for any input. */
export function readFilter(given: unknown): FilterResult {
  const state: ReadState = { conditions: 0, activities: 0, details: [] }
  const filter = readNode(given, 'filter', MAX_DEPTH, state)
  if (state.activities > MAX_ACTIVITIES)
    state.details.push({ path: 'filter', message: `at most ${MAX_ACTIVITIES} conditions on activity` })
  return filter === null || state.details.length > 0 ? { ok: false, details: state.details } : { ok: true, filter }
}

function readNode(given: unknown, path: string, depth: number, state: ReadState): Filter | null {
  state.conditions++
  if (state.conditions > MAX_CONDITIONS)
    return reject(state, 'filter', `at most ${MAX_CONDITIONS} conditions and groups`)
  if (depth === 0) return reject(state, path, `nested deeper than ${MAX_DEPTH} levels`)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return reject(state, path, 'must be an object')
  const kinds = KINDS.filter((kind) => Object.hasOwn(given, kind))
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) return reject(state, path, `must have one of ${KINDS.join(', ')}`)
  const inner: unknown = (given as Record<string, unknown>)[kind]
  if (kind === 'not') return readNot(inner, `${path}.not`, depth, state)
  if (kind === 'all' || kind === 'any') return readGroup(kind, inner, { path: `${path}.${kind}`, depth, state })
  if (kind === 'activity') state.activities++
  return readLeaf(LEAVES[kind], given, path, state)
}

function readNot(given: unknown, path: string, depth: number, state: ReadState): FilterGroup | null {
  const inner = readNode(given, path, depth - 1, state)
  return inner === null ? null : { not: inner }
}

interface NodeContext {
  readonly path: string
  readonly depth: number
  readonly state: ReadState
}

function readGroup(kind: 'all' | 'any', given: unknown, { path, depth, state }: NodeContext): FilterGroup | null {
  if (!Array.isArray(given)) return reject(state, path, 'must be a list of conditions')
  const members: Filter[] = []
  for (const [i, one] of given.entries()) {
    const member = readNode(one, `${path}.${i}`, depth - 1, state)
    if (member !== null) members.push(member)
    // further errors would repeat the same message
    if (state.conditions > MAX_CONDITIONS) return null
  }
  return kind === 'all' ? { all: members } : { any: members }
}

function readLeaf(schema: ZodType<Leaf> | undefined, given: object, path: string, state: ReadState): Leaf | null {
  const read = schema?.safeParse(given, SCHEMA_TEXTS)
  if (read?.success === true) return read.data
  const issues = read?.error.issues ?? []
  for (const issue of issues)
    state.details.push({ path: [path, ...issue.path.map(String)].join('.'), message: issue.message })
  return null
}

function reject(state: ReadState, path: string, message: string): null {
  state.details.push({ path, message })
  return null
}

type IssueSink = z.RefinementCtx

function addIssue(sink: IssueSink, message: string, path: string[] = []): never {
  sink.addIssue({ code: 'custom', message, path })
  return z.NEVER
}

type Scalar = string | number | boolean

function completeValue<T extends { op: Operator; value?: Scalar | undefined }>(
  leaf: T,
  sink: IssueSink,
): T & { value: Scalar } {
  const value = leaf.value ?? (leaf.op === 'exists' ? true : undefined)
  if (value === undefined) return addIssue(sink, 'is required', ['value'])
  return leaf.op === 'exists' && typeof value !== 'boolean'
    ? addIssue(sink, 'must be true or false', ['value'])
    : { ...leaf, value }
}

function checkNumber<T extends { value: Scalar }>(leaf: T, sink: IssueSink): T {
  return typeof leaf.value === 'number' && Math.abs(leaf.value) > Number.MAX_SAFE_INTEGER
    ? addIssue(sink, 'is too large', ['value'])
    : leaf
}

const TIME = z.iso.datetime({ offset: true }).or(z.iso.date())

function checkField(leaf: FieldLeaf, sink: IssueSink): FieldLeaf {
  const { field, op, value } = leaf
  if (op === 'exists') return leaf
  const type = SEGMENT_FIELDS[field]
  if (type === 'text') return typeof value === 'string' ? leaf : addIssue(sink, 'must be a text', ['value'])
  if (op === 'contains') return addIssue(sink, `applies to texts only; ${field} is not a text`, ['op'])
  if (type === 'number') return typeof value === 'number' ? leaf : addIssue(sink, 'must be a number', ['value'])
  const time = typeof value === 'string' && TIME.safeParse(value).success ? new Date(value) : null
  return time === null || Number.isNaN(time.getTime())
    ? addIssue(sink, 'must be a time in ISO 8601', ['value'])
    : { ...leaf, value: time.toISOString() }
}

function snakeOf(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The names of the custom attributes in a filter. */
export function attributesOf(given: Filter): string[] {
  if ('all' in given) return given.all.flatMap(attributesOf)
  if ('any' in given) return given.any.flatMap(attributesOf)
  if ('not' in given) return attributesOf(given.not)
  return 'attribute' in given ? [given.attribute] : []
}
