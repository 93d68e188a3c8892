/**
 * Compiles a segment filter into one SQL condition on a row `c` of contacts. Every name and value of the filter becomes
 * a parameter: the SQL text depends only on the shape of the filter and never contains text of a caller. Each condition
 * is true or false, never null, so `not` is its exact opposite.
 *
 * Sent mail is found by address and time (indexes recipients_address, events_engaged): a bound in days is a bound on
 * the partitions.
 */
import { idAt } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type {
  ActivityLeaf,
  AttributeLeaf,
  FieldLeaf,
  FieldName,
  Filter,
  Leaf,
  Operator,
  StatusLeaf,
  TagLeaf,
} from './filter.ts'

export interface SqlCondition {
  readonly sql: string
  readonly values: readonly unknown[]
}

export interface CompileOptions {
  readonly nowMs: number
  /** The number of the first parameter; default 1. */
  readonly first?: number
}

type BindParameter = (value: unknown) => string
type LeafCompiler<L> = (leaf: L, bind: BindParameter, nowMs: number) => string

const DAY_MS = 24 * 3600 * 1000

/** For a statement in which `c` is contacts. The caller adds the condition on the workspace. */
export function compileSegment(filter: Filter, { nowMs, first = 1 }: CompileOptions): SqlCondition {
  const values: unknown[] = []
  const bind: BindParameter = (value) => `$${first - 1 + values.push(value)}`
  return { sql: compile(filter, bind, nowMs), values }
}

function compile(filter: Filter, bind: BindParameter, nowMs: number): string {
  if ('all' in filter)
    return join(
      filter.all.map((one) => compile(one, bind, nowMs)),
      ' AND ',
      'true',
    )
  if ('any' in filter)
    return join(
      filter.any.map((one) => compile(one, bind, nowMs)),
      ' OR ',
      'false',
    )
  if ('not' in filter) return `NOT ${compile(filter.not, bind, nowMs)}`
  return `(${compileLeaf(filter, bind, nowMs)})`
}

/** An empty `all` is true, an empty `any` is false. */
function join(parts: readonly string[], by: string, empty: string): string {
  return parts.length === 0 ? `(${empty})` : `(${parts.join(by)})`
}

function compileLeaf(leaf: Leaf, bind: BindParameter, nowMs: number): string {
  if ('tag' in leaf) return compileTag(leaf, bind, nowMs)
  if ('attribute' in leaf) return compileAttribute(leaf, bind, nowMs)
  if ('field' in leaf) return compileField(leaf, bind, nowMs)
  return 'status' in leaf ? compileStatus(leaf, bind, nowMs) : compileActivity(leaf, bind, nowMs)
}

const compileTag: LeafCompiler<TagLeaf> = (leaf, bind) =>
  `c.tags @> ARRAY[${bind(leaf.tag)}::text] = ${bind(leaf.has)}::boolean`

/** The SQL of each comparison; both operands have the same type. */
const COMPARISONS: Readonly<Record<Exclude<Operator, 'exists'>, (stored: string, given: string) => string>> = {
  eq: (stored, given) => `coalesce(${stored} = ${given}, false)`,
  ne: (stored, given) => `${stored} IS DISTINCT FROM ${given}`,
  gt: (stored, given) => `coalesce(${stored} > ${given}, false)`,
  lt: (stored, given) => `coalesce(${stored} < ${given}, false)`,
  contains: (stored, given) => `coalesce(strpos(lower(${stored}), lower(${given})) > 0, false)`,
}

function compare(
  stored: string,
  type: string,
  { op, value }: { readonly op: Operator; readonly value: unknown },
  bind: BindParameter,
): string {
  if (op === 'exists') return `(${stored} IS NOT NULL) = ${bind(value)}::boolean`
  return COMPARISONS[op](stored, `${bind(value)}::${type}`)
}

/**
 * A number is compared with everything that is written like a number, even if it is stored as text. All other values
 * compare as text.
 */
const compileAttribute: LeafCompiler<AttributeLeaf> = (leaf, bind) => {
  const stored = `(c.custom_attributes ->> ${bind(leaf.attribute)}::text)`
  if (typeof leaf.value !== 'number' || leaf.op === 'contains')
    return compare(
      `${stored} COLLATE "C"`,
      'text',
      leaf.op === 'exists' ? leaf : { ...leaf, value: String(leaf.value) },
      bind,
    )
  return compare(
    `CASE WHEN ${stored} ~ '^-?[0-9]{1,100}([.][0-9]{1,100})?$' THEN ${stored}::numeric END`,
    'numeric',
    leaf,
    bind,
  )
}

const FIELD_COLUMNS: Readonly<Record<FieldName, { readonly stored: string; readonly type: string }>> = {
  email: { stored: 'c.email', type: 'text' },
  firstName: { stored: 'c.first_name', type: 'text' },
  lastName: { stored: 'c.last_name', type: 'text' },
  companyName: { stored: 'c.company_name', type: 'text' },
  jobTitle: { stored: 'c.job_title', type: 'text' },
  phoneNumber: { stored: 'c.phone_number', type: 'text' },
  linkedin: { stored: 'c.linkedin', type: 'text' },
  timezone: { stored: 'c.timezone', type: 'text' },
  score: { stored: 'c.score', type: 'real' },
  createdAt: { stored: 'c.created_at', type: 'timestamptz' },
  updatedAt: { stored: 'c.updated_at', type: 'timestamptz' },
}

const compileField: LeafCompiler<FieldLeaf> = (leaf, bind) =>
  compare(FIELD_COLUMNS[leaf.field].stored, FIELD_COLUMNS[leaf.field].type, leaf, bind)

const memberSql = (conditions: string): string => sql`
  EXISTS (
    SELECT 1
    FROM memberships sm
    JOIN audiences sa ON sa.id = sm.audience_id AND sa.deleted_at IS NULL
    WHERE sm.contact_id = c.id
      ${conditions}
  )
`
const IS_SUPPRESSED =
  'EXISTS (SELECT 1 FROM suppressions ss WHERE ss.workspace_id = c.workspace_id AND ss.address = c.email)'
const STATUS_CONDITIONS = {
  subscribed: 'AND sm.is_subscribed',
  unsubscribed: 'AND NOT sm.is_subscribed',
  member: '',
} as const

const compileStatus: LeafCompiler<StatusLeaf> = (leaf, bind) => {
  if (leaf.status === 'blocked') return IS_SUPPRESSED
  const ofAudience = leaf.audienceId === null ? '' : `AND sm.audience_id = ${bind(leaf.audienceId)}::uuid`
  return memberSql(`${STATUS_CONDITIONS[leaf.status]} ${ofAudience}`)
}

const sentSql = (states: string, from: string): string => sql`
  EXISTS (
    SELECT 1
    FROM recipients sr
    WHERE sr.workspace_id = c.workspace_id
      AND lower(sr.address) COLLATE "C" = c.email
      AND sr.message_id >= ${from}::uuid
      AND sr.state ${states}
  )
`
/** Opens and clicks by people: those of scanners and proxies do not count. */
const engagedSql = (type: string, from: string): string => sql`
  EXISTS (
    SELECT 1
    FROM events se
    WHERE se.workspace_id = c.workspace_id
      AND lower(se.recipient) COLLATE "C" = c.email
      AND se.type = '${type}'
      AND se.id >= ${from}::uuid
      AND se.data -> 'machine' IS DISTINCT FROM 'true'::jsonb
  )
`

/** Each takes the first message or event id that counts. */
const ACTIVITY_CONDITIONS: Readonly<Record<ActivityLeaf['activity'], (from: string) => string>> = {
  delivered: (from) => sentSql(`= 'delivered'`, from),
  bounced: (from) => sentSql(`= 'bounced'`, from),
  mailed: (from) => sentSql(`NOT IN ('suppressed', 'cancelled')`, from),
  opened: (from) => engagedSql('email.opened', from),
  clicked: (from) => engagedSql('email.clicked', from),
}

const compileActivity: LeafCompiler<ActivityLeaf> = (leaf, bind, nowMs) =>
  ACTIVITY_CONDITIONS[leaf.activity](
    bind(idAt(leaf.withinDays === null ? 0 : Math.max(0, nowMs - leaf.withinDays * DAY_MS))),
  )
