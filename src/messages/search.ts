/**
 * Searching the messages of a workspace, the newest first. A recipient and a tag are found by index; whatever else is asked for is looked
 * at message by message, newest first, a slice at a time, for a bounded time: a search that would look at a month answers what it has
 * found, and where to go on.
 *
 * Pages are counted by skipping what earlier pages had; a cursor costs the same at any depth.
 */
import type { Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { State } from './state.ts'
import { hasStatus, statusOf } from './status.ts'
import type { Mailbox } from '#src/mail/address.ts'

export interface SearchFilter {
  /** An address, or a domain; case does not matter. */
  readonly recipient: string | null
  /** Header From: an address, or a domain. */
  readonly sender: string | null
  /** Somewhere in it; case does not matter. */
  readonly subject: string | null
  readonly tag: string | null
  readonly status: State | null
  readonly tier: Tier | null
  /** Accepted since then. */
  readonly after: Date | null
  readonly before: Date | null
}

export interface SearchQuery {
  readonly workspaceId: string
  readonly filter: SearchFilter
  /** Older than this message; null from the newest on. */
  readonly cursor: string | null
  /** Found ones to pass over. */
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
  /** Where to go on; null when there is no more. */
  readonly next: string | null
}

/** A slice is as small as what is wanted at first, and grows as long as nothing is found. */
const FIRST_SLICE = 100
const LARGEST_SLICE = 4000
/** After this no further slice is begun. */
const TIME_BUDGET_MS = 1500
/** An id is made a moment before or after its message is accepted. */
const CLOCKS_APART_MS = 60_000

interface FoundRow {
  readonly id: string
  readonly last_id: string | null
  readonly looked_at: number
  readonly states: State[]
  readonly tier: Tier
  readonly from_email: string
  readonly from_name: string | null
  readonly to_list: Mailbox[]
  readonly subject: string
  readonly tags: string[] | null
  readonly recipient_count: number
  readonly scheduled_at: Date | null
  readonly created_at: Date
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
    if ((rows[0]?.looked_at ?? 0) < size) return page(query, found, null)
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

/** One statement: candidates by the best index there is, then what of them fits. Only what is asked for stands in it. */
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
      SELECT m.id, s.states, m.tier, m.from_email, m.from_name, m.to_list, m.subject, m.tags, m.recipient_count,
        m.scheduled_at, m.created_at
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
    SELECT i.looked_at, i.last_id, f.*
    FROM (
      SELECT count(*) AS looked_at,
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

/** Ids hold the time, so that times and the cursor are bounds of the index. */
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

/** A pattern for this text in any case. What PostgreSQL takes for one letter in two cases depends on its locale, and C knows only ASCII. */
function caseInsensitivePattern(text: string): string {
  const literal = (letters: string): string => letters.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`)
  return Array.from(text, (letter) => {
    const forms = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].map(literal)
    return forms.length === 1 ? forms[0] : `(?:${forms.join('|')})`
  }).join('')
}

/** An address, or all of a domain. */
function matches(addressOrDomain: string, column: string, given: AddParameter): string {
  const at = addressOrDomain.lastIndexOf('@')
  if (at > 0) return `lower(${column}) = lower(${given(addressOrDomain)})`
  const ending = `@${addressOrDomain.slice(at + 1)}`
  return `right(lower(${column}), ${ending.length}) = lower(${given(ending)})`
}

const MAX_COUNTED = 10_000

/** How many there are, up to 10,000; null where counting would mean to look at each message. */
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
