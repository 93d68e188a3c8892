/**
 * The last reply of each receiver, by class of deferral or bounce: a sample that stands beside the counters as
 * evidence, and since when such replies come. It is written with the counters of the same events, by the same single
 * writer (count-events.ts). A slice stores a limited number, those with the most events, so a campaign to a million
 * domains cannot fill the table. Addresses of people are removed from the text. Rows are deleted after
 * RETENTION_DAYS.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { INSTALLATION } from './dimensions.ts'
import { hasClass } from './event-kind.ts'
import type { EventGroup } from './tally.ts'

const RETENTION_DAYS = 7
const DAY_MS = 86_400_000
const MAX_ROWS = 300
const MAX_REPLY = 400
/** A longer pause ends what the receiver complained about: the next reply starts a new time. */
const GAP_HOURS = 12

export interface ReplyRow {
  readonly workspaceId: string
  readonly receiver: string
  readonly class: string
  source: string | null
  reply: string
  since: Date
  lastAt: Date
  count: number
}

/** The replies in groups of events, for each workspace and the installation; those with the most events first. */
export function repliesOf(groups: readonly EventGroup[], nowMs: number): ReplyRow[] {
  const rows = new Map<string, ReplyRow>()
  for (const group of groups) {
    const { events, reply, class: name, isAttempted, recipientDomain } = group
    const at = events.find(hasClass)?.at
    if (at === undefined || !reply || name === null || !isAttempted || recipientDomain === null) continue
    if (at.getTime() < nowMs - RETENTION_DAYS * DAY_MS) continue
    for (const workspaceId of [group.workspaceId, INSTALLATION]) addReply(rows, workspaceId, group, at)
  }
  return [...rows.values()].toSorted((a, b) => b.count - a.count).slice(0, MAX_ROWS)
}

function addReply(rows: Map<string, ReplyRow>, workspaceId: string, group: EventGroup, at: Date): void {
  const { reply, class: name, host, recipientDomain, source, count } = group
  const receiver = receiverOf(host, recipientDomain ?? '')
  const key = JSON.stringify([workspaceId, receiver, name])
  const found = rows.get(key)
  const text = withoutAddresses(reply ?? '').slice(0, MAX_REPLY)
  if (found === undefined) {
    const row = { workspaceId, receiver, class: name ?? '', source, reply: text, since: at, lastAt: at, count }
    rows.set(key, row)
    return
  }
  found.count += count
  if (at < found.since) found.since = at
  if (at >= found.lastAt) Object.assign(found, { source, reply: text, lastAt: at })
}

/** A receiver quotes the address of its recipient, and some encode the sender's into theirs. */
export function withoutAddresses(reply: string): string {
  return reply
    .replaceAll(/[^\s<>()[\]"',;:]{1,128}@[^\s<>()[\]"',;:]{1,255}/g, '(address)')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const STORE = prepared(
  'statistics-replies',
  sql`
    INSERT INTO receiver_replies AS r (workspace_id, receiver, class, source, reply, since, last_at)
    SELECT *
    FROM unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[]
    )
    ON CONFLICT (workspace_id, receiver, class)
    DO UPDATE SET since = CASE
        WHEN excluded.since > r.last_at + interval '${GAP_HOURS} hours' THEN excluded.since
        ELSE least(r.since, excluded.since)
      END,
      source = CASE WHEN excluded.last_at >= r.last_at THEN excluded.source ELSE r.source END,
      reply = CASE WHEN excluded.last_at >= r.last_at THEN excluded.reply ELSE r.reply END,
      last_at = greatest(r.last_at, excluded.last_at)
  `,
)

export async function storeReplies(tx: Queryable, rows: readonly ReplyRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    STORE,
    columnsOf(rows, [
      (row) => row.workspaceId,
      (row) => row.receiver,
      (row) => row.class,
      (row) => row.source,
      (row) => row.reply,
      (row) => row.since,
      (row) => row.lastAt,
    ]),
  )
}

/** Deletes up to `limit` old rows. */
export const DELETE_OLD_REPLIES = prepared(
  'statistics-delete-replies',
  sql`
    DELETE FROM receiver_replies
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM receiver_replies WHERE last_at < $1 ORDER BY last_at LIMIT $2))
  `,
)

/** Older rows are deleted. */
export function oldestReply(nowMs: number): Date {
  return new Date(nowMs - RETENTION_DAYS * DAY_MS)
}

export type ReceiverReply = Pick<ReplyRow, 'receiver' | 'class' | 'source' | 'reply' | 'since' | 'lastAt'>

const READ = prepared(
  'statistics-read-replies',
  sql`
    SELECT receiver, class, source, reply, since, last_at AS "lastAt"
    FROM receiver_replies
    WHERE workspace_id = $1 AND receiver = ANY ($2::text[]) AND last_at >= $3
    ORDER BY last_at DESC
    LIMIT 500
  `,
)

/** The replies of these receivers since a time, the latest first. `scope`: a workspace, or INSTALLATION. */
export async function readReplies(
  db: Queryable,
  scope: string,
  receivers: readonly string[],
  since: Date,
): Promise<ReceiverReply[]> {
  return (await db.query<ReceiverReply>(READ, [scope, receivers, since])).rows
}
