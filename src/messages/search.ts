/**
 * Searches the messages of a workspace, newest first. A recipient or a tag is found by an index; other conditions are
 * checked message by message, in slices, for a limited time. A search that would read a month of messages returns the
 * messages found so far and a cursor.
 *
 * A page number costs reading all earlier pages; a cursor costs the same at any depth.
 */
import type { Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import type { State } from './state.ts'
import { hasStatus, statusOf } from './status.ts'
import type { Mailbox } from '#src/mail/address.ts'

export interface SearchFilter {
  /** An address or a domain, case-insensitive. */
  readonly recipient: string | null
  /** Header From: an address or a domain. */
  readonly sender: string | null
  /** A part of the subject, case-insensitive. */
  readonly subject: string | null
  readonly tag: string | null
  readonly status: State | null
  readonly tier: Tier | null
  /** Accepted at or after this time. */
  readonly after: Date | null
  readonly before: Date | null
}

export interface SearchQuery {
  readonly workspaceId: string
  readonly filter: SearchFilter
  /** Only messages older than this one; null starts at the newest. */
  readonly cursor: string | null
  /** The number of results to skip. */
  readonly skip: number
  readonly limit: number
}

export interface FoundMessage {
  readonly id: string
  readonly status: State
  readonly tier: Tier
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly subject: string
  readonly tags: readonly string[]
  readonly recipientsCount: number
  readonly scheduledAt: Date | null
  readonly createdAt: Date
}

export interface SearchResult {
  readonly messages: readonly FoundMessage[]
  /** The cursor of the next page; null at the end. */
  readonly next: string | null
}

/** The first slice is as small as the request allows; each further slice is twice as large. */
const FIRST_SLICE = 100
const LARGEST_SLICE = 4000
/** No further slice is read after this time. */
const TIME_BUDGET_MS = 1500
/** The time in an id and the time of acceptance may differ by this. */
const CLOCKS_APART_MS = 60_000

const FOUND = [
  'tier',
  'from_email',
  'from_name',
  'to_list',
  'subject',
  'tags',
  'recipient_count',
  'scheduled_at',
  'created_at',
] as const satisfies readonly ColumnName[]

interface FoundRow extends Pick<MessageRow, 'id' | (typeof FOUND)[number]> {
  readonly last_id: string | null
  readonly examined: number
  readonly states: State[]
}

export async function searchMessages(db: Queryable, query: SearchQuery): Promise<SearchResult> {
  const until = performance.now() + TIME_BUDGET_MS
  const found: FoundRow[] = []
  const needed = query.skip + query.limit
  let size = Math.min(LARGEST_SLICE, Math.max(FIRST_SLICE, needed + 1))
  for (let at = query.cursor; ;) {
    const { text, values } = statementFor(query, at, size)
    const { rows } = await db.query<FoundRow>(text, values)
    found.push(...rows.filter(({ id }) => id !== null))
    if (found.length > needed) return page(query, found, found[needed - 1]?.id ?? null)
    if ((rows[0]?.examined ?? 0) < size) return page(query, found, null)
    at = rows[0]?.last_id ?? at
    if (performance.now() > until) return page(query, found, at)
    size = Math.min(LARGEST_SLICE, size * 2)
  }
}

function page({ skip, limit }: SearchQuery, found: readonly FoundRow[], next: string | null): SearchResult {
  return { messages: found.slice(skip, skip + limit).map(messageOf), next }
}

function messageOf(row: FoundRow): FoundMessage {
  return {
    id: row.id,
    status: statusOf(row.states),
    tier: row.tier,
    from: { email: row.from_email, name: row.from_name },
    to: row.to_list,
    subject: row.subject,
    tags: row.tags ?? [],
    recipientsCount: row.recipient_count,
    scheduledAt: row.scheduled_at,
    createdAt: row.created_at,
  }
}

/**
 * One statement: selects candidates by the best index, then filters them. It has only the conditions of the request.
 */
function statementFor(
  { workspaceId, filter }: SearchQuery,
  cursor: string | null,
  size: number,
): { text: string; values: unknown[] } {
  const { values, given } = listValues(workspaceId)
  const candidates = candidatesOf(filter, given)
  const bounds = boundsOf(filter, cursor)
    .map(([sign, id]) => `AND ${candidates.id} ${sign} ${given(id)}`)
    .join(' ')
  const conditions = conditionsOf(filter, given)
  const isRecipient = filter.recipient === null ? 'true' : matches(filter.recipient, 'r.address', given)
  const text = sql`
    WITH candidates AS MATERIALIZED (
      SELECT ${candidates.id} AS id
      FROM ${candidates.from}
      WHERE ${candidates.where}
        ${bounds}
      GROUP BY 1
      ORDER BY 1 DESC
      LIMIT ${size}
    ),
    fitting AS (
      SELECT m.id, s.states, ${FOUND.map((name) => `m.${name}`).join(', ')}
      FROM candidates c
      JOIN messages m ON m.id = c.id
      CROSS JOIN LATERAL (
        SELECT array_agg(r.state) AS states, bool_or(${isRecipient}) AS is_recipient
        FROM recipients r
        WHERE r.message_id = m.id
      ) s
      WHERE m.workspace_id = $1
        ${conditions.map((condition) => `AND ${condition}`).join(' ')}
    )
    SELECT i.examined, i.last_id, f.*
    FROM (
      SELECT count(*) AS examined,
        (
          SELECT id
          FROM candidates
          ORDER BY id
          LIMIT 1
        ) AS last_id
      FROM candidates
    ) i
    LEFT JOIN fitting f ON true
    ORDER BY f.id DESC
  `
  return { text, values }
}

type AddParameter = (value: unknown) => string

function listValues(workspaceId: string): { values: unknown[]; given: AddParameter } {
  const values: unknown[] = [workspaceId]
  return { values, given: (value) => `$${values.push(value)}` }
}

interface Candidates {
  readonly id: string
  readonly from: string
  readonly where: string
}

function candidatesOf({ recipient, tag }: SearchFilter, given: AddParameter): Candidates {
  if (recipient?.includes('@') === true && !recipient.startsWith('@'))
    return {
      id: 'message_id',
      from: 'recipients',
      where: `workspace_id = $1 AND lower(address) COLLATE "C" = lower(${given(recipient)})`,
    }
  if (tag !== null)
    return { id: 'message_id', from: 'message_tags', where: `workspace_id = $1 AND tag = ${given(tag)}` }
  return { id: 'id', from: 'messages', where: 'workspace_id = $1' }
}

/** Ids contain the time, so times and the cursor become bounds of the index. */
function boundsOf({ after, before }: SearchFilter, cursor: string | null): (readonly [sign: string, id: string])[] {
  return [
    ...(cursor === null ? [] : [['<', cursor] as const]),
    ...(after === null ? [] : [['>=', idAt(Math.max(0, after.getTime() - CLOCKS_APART_MS))] as const]),
    ...(before === null ? [] : [['<', idAt(Math.max(0, before.getTime() + CLOCKS_APART_MS))] as const]),
  ]
}

function conditionsOf(filter: SearchFilter, given: AddParameter): string[] {
  return [
    filter.recipient === null ? null : 's.is_recipient',
    filter.sender === null ? null : matches(filter.sender, 'm.from_email', given),
    filter.subject === null ? null : `m.subject ~ ${given(caseInsensitivePattern(filter.subject))}`,
    filter.tag === null ? null : `${given(filter.tag)} = ANY (m.tags)`,
    filter.status === null ? null : hasStatus(filter.status, 's.states'),
    filter.tier === null ? null : `m.tier = ${given(filter.tier)}`,
    filter.after === null ? null : `m.created_at >= ${given(filter.after)}`,
    filter.before === null ? null : `m.created_at < ${given(filter.before)}`,
  ].filter((condition) => condition !== null)
}

/** A case-insensitive pattern. PostgreSQL's own case folding depends on its locale, and C folds only ASCII. */
function caseInsensitivePattern(text: string): string {
  const literal = (letters: string): string => letters.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`)
  return Array.from(text, (letter) => {
    const forms = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].map(literal)
    return forms.length === 1 ? forms[0] : `(?:${forms.join('|')})`
  }).join('')
}

/** SQL condition: the column equals an address, or its domain equals a domain. */
function matches(addressOrDomain: string, column: string, given: AddParameter): string {
  const at = addressOrDomain.lastIndexOf('@')
  if (at > 0) return `lower(${column}) = lower(${given(addressOrDomain)})`
  const ending = `@${addressOrDomain.slice(at + 1)}`
  return `right(lower(${column}), ${ending.length}) = lower(${given(ending)})`
}

const MAX_COUNTED = 10_000

/** The number of results, up to 10,000; null if counting would have to read each message. */
export async function countMessages(
  db: Queryable,
  { workspaceId, filter }: Pick<SearchQuery, 'workspaceId' | 'filter'>,
): Promise<{ total: number; isExact: boolean } | null> {
  const others = [filter.sender, filter.subject, filter.status, filter.tier]
  const isDomain = filter.recipient !== null && filter.recipient.lastIndexOf('@') < 1
  if (others.some((one) => one !== null) || isDomain || (filter.recipient !== null && filter.tag !== null)) return null
  const { values, given } = listValues(workspaceId)
  const { id, from, where } = candidatesOf(filter, given)
  const bounds = boundsOf(filter, null)
    .map(([sign, bound]) => `AND ${id} ${sign} ${given(bound)}`)
    .join(' ')
  const {
    rows: [row],
  } = await db.query<{ total: number }>(
    sql`
      SELECT count(*) AS total
      FROM (
        SELECT FROM ${from}
        WHERE ${where}
          ${bounds}
        GROUP BY ${id}
        LIMIT ${MAX_COUNTED + 1}
      ) few
    `,
    values,
  )
  const total = Math.min(row?.total ?? 0, MAX_COUNTED)
  return { total, isExact: (row?.total ?? 0) <= MAX_COUNTED && filter.after === null && filter.before === null }
}
