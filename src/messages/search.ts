/**
 * Searches the messages of a workspace, newest first. A recipient or a tag is found by an index; other conditions are
 * checked message by message, in slices, for a limited time, in windows of weeks (search-windows.ts). A search that
 * would read a month of messages returns the messages found so far and a cursor.
 *
 * A page number costs reading all earlier pages; a cursor costs the same at any depth.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import { weeksOf } from '#src/stores/weeks.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import { caseInsensitivePattern } from './search-pattern.ts'
import { listWindows, splitByAge, type SearchPeriod, type SearchWindow } from './search-windows.ts'
import type { State } from './state.ts'
import { hasStatus, statusOf } from './status.ts'
import type { Mailbox } from '#src/mail/address.ts'

export interface SearchFilter {
  /** An address or a domain, case-insensitive. */
  readonly recipient: string | null
  /** Header From: an address or a domain. */
  readonly sender: string | null
  /**
   * A part of the subject, case-insensitive. Of a campaign or automation as it was written: what each recipient got is
   * not stored, and to render millions of subjects for a search would take hours.
   */
  readonly subject: string | null
  readonly tag: string | null
  readonly status: State | null
  readonly tier: Tier | null
  /** The caller also sets the period in which it was sent: there is no index of campaigns. */
  readonly campaignId: string | null
  /** Accepted at or after this time. */
  readonly after: Date | null
  readonly before: Date | null
}

export type SearchDb = Pick<Db, 'query' | 'clock' | 'apart'>

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

/** The first slice is as small as the request allows; each further slice is twice as large, as time allows. */
const FIRST_SLICE = 100
const LARGEST_SLICE = 4000
/** After this time a search ends once it has examined enough messages or windows. A deep page reads those before it. */
export const TIME_BUDGET_MS = 100
const DEEP_TIME_BUDGET_MS = 1500
const MIN_EXAMINED = 1000
export const MIN_WINDOWS = 3
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
  readonly states: State[]
}

/** What a search has done so far. */
interface SearchState {
  readonly found: FoundRow[]
  readonly until: number
  size: number
  examined: number
  windows: number
}

export async function searchMessages(db: SearchDb, query: SearchQuery): Promise<SearchResult> {
  const state: SearchState = {
    found: [],
    until: performance.now() + (query.skip > 0 ? DEEP_TIME_BUDGET_MS : TIME_BUDGET_MS),
    size: Math.min(LARGEST_SLICE, Math.max(FIRST_SLICE, query.skip + query.limit + 1)),
    examined: 0,
    windows: 0,
  }
  const nowMs = db.clock.now()
  const { recent, old } = splitByAge(await listWindows(db, periodOf(query), nowMs), nowMs)
  const end = await searchWindows(db, { query, state }, recent)
  if (end !== null || old.length === 0) return end ?? page(query, state.found, null)
  return (await db.apart((own) => searchWindows(own, { query, state }, old))) ?? page(query, state.found, null)
}

/** Null if the search is not complete after these windows. */
async function searchWindows(
  db: Queryable,
  { query, state }: { readonly query: SearchQuery; readonly state: SearchState },
  windows: readonly SearchWindow[],
): Promise<SearchResult | null> {
  const { found, until } = state
  const needed = query.skip + query.limit
  for (const window of windows) {
    state.windows++
    for (let { to } = window; ;) {
      const start = performance.now()
      const candidates = await findCandidates(db, query, { from: window.from, to }, state.size)
      found.push(...(await readFitting(db, query, candidates)))
      if (found.length > needed) return page(query, found, found[needed - 1]?.id ?? null)
      state.examined += candidates.length
      const isEnd = candidates.length < state.size
      const at = isEnd ? window.from : (candidates.at(-1) ?? window.from)
      const isEnough = state.examined >= MIN_EXAMINED || (isEnd && state.windows >= MIN_WINDOWS)
      if (isEnough && performance.now() > until) return page(query, found, at)
      const took = performance.now() - start
      state.size = nextSliceSize(state.size, { examined: candidates.length, took, left: until - performance.now() })
      if (isEnd) break
      to = at
    }
  }
  return null
}

/**
 * Pure. Times in milliseconds. A slice is not larger than what the time that is left allows, at the cost of the one
 * before: a large slice of a cold disk would take twice the budget. Without time left it examines the rest of the
 * minimum in as few slices as before.
 */
export function nextSliceSize(
  size: number,
  { examined, took, left }: { readonly examined: number; readonly took: number; readonly left: number },
): number {
  const isBound = left > 0 && took > 0 && examined > 0
  const affordable = isBound ? Math.floor((left / took) * examined) : LARGEST_SLICE
  return Math.max(FIRST_SLICE, Math.min(LARGEST_SLICE, size * 2, affordable))
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

/** The newest messages of a window that the best index finds; other conditions are not checked yet. */
async function findCandidates(
  db: Queryable,
  { workspaceId, filter }: SearchQuery,
  { from, to }: SearchWindow,
  size: number,
): Promise<string[]> {
  const { values, given } = listValues(workspaceId)
  const candidates = candidatesOf(filter, given)
  const { rows } = await db.query<{ id: string }>(
    sql`
      SELECT ${candidates.id} AS id
      FROM ${candidates.from}
      WHERE ${candidates.where}
        AND ${candidates.id} >= ${given(from)}
        AND ${candidates.id} < ${given(to)}
      GROUP BY 1
      ORDER BY 1 DESC
      LIMIT ${size}
    `,
    values,
  )
  return rows.map(({ id }) => id)
}

/** The candidates that meet all conditions, the newest first. The statement has only those of the request. */
async function readFitting(
  db: Queryable,
  { workspaceId, filter }: SearchQuery,
  candidates: readonly string[],
): Promise<FoundRow[]> {
  if (candidates.length === 0) return []
  const weeks = weeksOf(candidates)
  const { values, given } = listValues(workspaceId)
  const ids = given(candidates)
  const conditions = conditionsOf(filter, given)
  const isRecipient = filter.recipient === null ? 'true' : matches(filter.recipient, 'r.address', given)
  const { rows } = await db.query<FoundRow>(
    sql`
      SELECT m.id, s.states, ${FOUND.map((name) => `m.${name}`).join(', ')}
      FROM unnest(${ids}::uuid[]) AS c (id)
      JOIN messages m ON m.id = c.id
      CROSS JOIN LATERAL (
        SELECT array_agg(r.state) AS states, bool_or(${isRecipient}) AS is_recipient
        FROM recipients r
        WHERE r.message_id = m.id AND ${weeks.contain('r.message_id')}
      ) s
      WHERE m.workspace_id = $1
        AND ${weeks.contain('m.id')}
        ${conditions.map((condition) => `AND ${condition}`).join(' ')}
      ORDER BY m.id DESC
    `,
    values,
  )
  return rows
}

type AddParameter = (value: unknown) => string

export function listValues(workspaceId: string): { values: unknown[]; given: AddParameter } {
  const values: unknown[] = [workspaceId]
  return { values, given: (value) => `$${values.push(value)}` }
}

interface Candidates {
  readonly id: string
  readonly from: string
  readonly where: string
}

export function candidatesOf({ recipient, tag }: SearchFilter, given: AddParameter): Candidates {
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
export function periodOf({ filter: { after, before }, cursor }: Pick<SearchQuery, 'filter' | 'cursor'>): SearchPeriod {
  return {
    fromMs: after === null ? null : after.getTime() - CLOCKS_APART_MS,
    toMs: before === null ? null : before.getTime() + CLOCKS_APART_MS,
    cursor,
  }
}

function conditionsOf(filter: SearchFilter, given: AddParameter): string[] {
  return [
    filter.recipient === null ? null : 's.is_recipient',
    filter.sender === null ? null : matches(filter.sender, 'm.from_email', given),
    filter.subject === null ? null : `m.subject ~ ${given(caseInsensitivePattern(filter.subject))}`,
    filter.tag === null ? null : `${given(filter.tag)} = ANY (m.tags)`,
    filter.status === null ? null : hasStatus(filter.status, 's.states'),
    filter.tier === null ? null : `m.tier = ${given(filter.tier)}`,
    filter.campaignId === null ? null : `m.campaign_id = ${given(filter.campaignId)}`,
    filter.after === null ? null : `m.created_at >= ${given(filter.after)}`,
    filter.before === null ? null : `m.created_at < ${given(filter.before)}`,
  ].filter((condition) => condition !== null)
}

/** SQL condition: the column equals an address, or its domain equals a domain. */
function matches(addressOrDomain: string, column: string, given: AddParameter): string {
  const at = addressOrDomain.lastIndexOf('@')
  if (at > 0) return `lower(${column}) = lower(${given(addressOrDomain)})`
  const ending = `@${addressOrDomain.slice(at + 1)}`
  return `right(lower(${column}), ${ending.length}) = lower(${given(ending)})`
}
