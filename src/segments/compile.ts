/**
 * A filter as one SQL condition on a row `c` of contacts. Every name and value of the filter is a parameter: the text depends on the shape
 * of the filter alone, and no text of a caller is ever part of it. Each condition is true or false, never null, so `not` is its opposite.
 *
 * What was sent is found by address and time (recipients_address, events_engaged): a bound on the days is a bound on the partitions.
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

export interface Condition {
  readonly sql: string
  readonly values: readonly unknown[]
}

export interface CompileOptions {
  readonly nowMs: number
  /** The number of the first parameter; 1 when not given. */
  readonly first?: number
}

type Bind = (value: unknown) => string
type Compile<L> = (leaf: L, bind: Bind, nowMs: number) => string

const DAY_MS = 24 * 3600 * 1000

/** For a statement in which `c` is contacts; the contact's workspace is looked at by whoever asks. */
export function compileSegment(filter: Filter, { nowMs, first = 1 }: CompileOptions): Condition {
  const values: unknown[] = []
  const bind: Bind = (value) => `$${first - 1 + values.push(value)}`
  return { sql: compile(filter, bind, nowMs), values }
}

function compile(filter: Filter, bind: Bind, nowMs: number): string {
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

/** A group of nothing: all of them hold, none does. */
function join(parts: readonly string[], by: string, empty: string): string {
  return parts.length === 0 ? `(${empty})` : `(${parts.join(by)})`
}

function compileLeaf(leaf: Leaf, bind: Bind, nowMs: number): string {
  if ('tag' in leaf) return tag(leaf, bind, nowMs)
  if ('attribute' in leaf) return attribute(leaf, bind, nowMs)
  if ('field' in leaf) return field(leaf, bind, nowMs)
  return 'status' in leaf ? status(leaf, bind, nowMs) : activity(leaf, bind, nowMs)
}

const tag: Compile<TagLeaf> = (leaf, bind) => `c.tags @> ARRAY[${bind(leaf.tag)}::text] = ${bind(leaf.has)}::boolean`

/** How each comparison of one value with one parameter is written; both have the same type. */
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
  bind: Bind,
): string {
  if (op === 'exists') return `(${stored} IS NOT NULL) = ${bind(value)}::boolean`
  return COMPARISONS[op](stored, `${bind(value)}::${type}`)
}

/** A number compares with what is written like a number, also where it is stored as text; everything else compares as text. */
const attribute: Compile<AttributeLeaf> = (leaf, bind) => {
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

const COLUMNS: Readonly<Record<FieldName, { readonly stored: string; readonly type: string }>> = {
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

const field: Compile<FieldLeaf> = (leaf, bind) =>
  compare(COLUMNS[leaf.field].stored, COLUMNS[leaf.field].type, leaf, bind)

const member = (conditions: string): string => sql`
  EXISTS (
    SELECT 1
    FROM memberships sm
    JOIN audiences sa ON sa.id = sm.audience_id AND sa.deleted_at IS NULL
    WHERE sm.contact_id = c.id
      ${conditions}
  )
`
const BLOCKED = 'EXISTS (SELECT 1 FROM suppressions ss WHERE ss.workspace_id = c.workspace_id AND ss.address = c.email)'
const OF_STATUS = {
  subscribed: 'AND sm.is_subscribed',
  unsubscribed: 'AND NOT sm.is_subscribed',
  member: '',
} as const

const status: Compile<StatusLeaf> = (leaf, bind) => {
  if (leaf.status === 'blocked') return BLOCKED
  const ofAudience = leaf.audienceId === null ? '' : `AND sm.audience_id = ${bind(leaf.audienceId)}::uuid`
  return member(`${OF_STATUS[leaf.status]} ${ofAudience}`)
}

const sent = (states: string, from: string): string => sql`
  EXISTS (
    SELECT 1
    FROM recipients sr
    WHERE sr.workspace_id = c.workspace_id
      AND lower(sr.address) COLLATE "C" = c.email
      AND sr.message_id >= ${from}::uuid
      AND sr.state ${states}
  )
`
/** By a person: what scanners and proxies do says nothing of whoever has the address. */
const engaged = (type: string, from: string): string => sql`
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

/** From the first id that counts on. */
const ACTIVITIES: Readonly<Record<ActivityLeaf['activity'], (from: string) => string>> = {
  delivered: (from) => sent(`= 'delivered'`, from),
  bounced: (from) => sent(`= 'bounced'`, from),
  mailed: (from) => sent(`NOT IN ('suppressed', 'cancelled')`, from),
  opened: (from) => engaged('email.opened', from),
  clicked: (from) => engaged('email.clicked', from),
}

const activity: Compile<ActivityLeaf> = (leaf, bind, nowMs) =>
  ACTIVITIES[leaf.activity](bind(idAt(leaf.withinDays === null ? 0 : Math.max(0, nowMs - leaf.withinDays * DAY_MS))))
