/**
 * Notices: what only the operator can mend. Each thing (a kind and a subject) is one open row with a count, however often it happens, until
 * it is acknowledged; what happens after that is a new row. What happened is counted whoever tells it; what stands is told with the time
 * since when, and again by another process or in the next look it changes nothing. Texts come from strangers in part: they are cut and kept as they are, and every
 * reader shows them without control characters.
 *
 * Old ones go: acknowledged after 30 days, others when they did not happen for 90; and of a flood of subjects only the newest are kept.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

/** A closed list, with a sentence each. */
export const NOTICE_KINDS = {
  reply: 'a receiver reports a problem that only the operator can fix',
  'receiver-suspended': 'a reply rule suspended mail to a receiver for a while',
  'source-gone': 'the address of a source is no longer on this host, and the source was taken out of use',
  blocklisted: 'the address of a source is on a blocklist',
  'workspace-paused': 'the mail of a workspace was paused because of its bounce or complaint rate',
  outage: 'hard bounces of a receiver jumped, and suppressions are held',
} as const satisfies Record<string, string>
export type NoticeKind = keyof typeof NOTICE_KINDS
export const NOTICE_KIND_NAMES = Object.keys(NOTICE_KINDS) as [NoticeKind, ...NoticeKind[]]

export interface NewNotice {
  readonly kind: NoticeKind
  readonly subject: string
  /** What happened, with what was said. */
  readonly text: string
  /** How often, where it stands for several. */
  readonly count: number
  /** When it happened last. */
  readonly at: Date
}

export interface OperatorNotice {
  readonly id: string
  readonly kind: NoticeKind
  readonly subject: string
  readonly text: string
  readonly count: number
  readonly firstSeen: Date
  readonly lastSeen: Date
  readonly acknowledgedAt: Date | null
  readonly acknowledgedBy: string | null
}

const MAX_SUBJECT = 300
const MAX_TEXT = 1000
const MAX_BY = 500
/** Rows that are kept. */
const MAX_NOTICES = 10_000

const RAISE = sql`
  INSERT INTO operator_notices AS o (id, kind, subject, text, count, first_seen, last_seen)
  SELECT i.id, i.kind, i.subject, i.text, i.count, i.at, i.at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[]) AS i (
    id, kind, subject, text, count, at
  )
  WHERE NOT EXISTS (
    SELECT FROM operator_notices a
    WHERE a.kind = i.kind
      AND a.subject = i.subject
      AND a.acknowledged_at IS NOT NULL
      AND CASE WHEN $7 THEN a.last_seen ELSE a.acknowledged_at END >= i.at
  )
  ORDER BY i.kind, i.subject
  ON CONFLICT (kind, subject) WHERE acknowledged_at IS NULL
  DO UPDATE SET count = o.count + excluded.count,
    last_seen = greatest(o.last_seen, excluded.last_seen),
    text = CASE WHEN excluded.last_seen < o.last_seen THEN o.text ELSE excluded.text END
  WHERE NOT $7 OR excluded.last_seen > o.last_seen
`

/** One statement. A kind and subject may stand in a batch once. `stands`: it is so since `at`, and may be told any number of times. */
export async function raiseNotices(
  db: Queryable,
  how: 'happened' | 'stands',
  notices: readonly NewNotice[],
): Promise<void> {
  if (notices.length === 0) return
  await db.query(RAISE, [
    ...columnsOf(notices, [
      () => newId(),
      (one) => one.kind,
      (one) => truncate(one.subject, MAX_SUBJECT),
      (one) => truncate(one.text, MAX_TEXT),
      (one) => one.count,
      (one) => one.at,
    ]),
    how === 'stands',
  ])
}

/** PostgreSQL keeps no NUL and no half of a pair. */
function truncate(text: string, most: number): string {
  return text.slice(0, most).toWellFormed().replaceAll('\0', '\uFFFD')
}

const COLUMNS = sql`
  id, kind, subject, text, count, first_seen AS "firstSeen", last_seen AS "lastSeen",
  acknowledged_at AS "acknowledgedAt", acknowledged_by AS "acknowledgedBy"
`

/** The latest first. `all`: with those that were acknowledged. */
export async function listNotices(
  db: Queryable,
  order: { readonly all: boolean; readonly limit: number },
): Promise<OperatorNotice[]> {
  return (
    await db.query<OperatorNotice>(
      sql`
        SELECT ${COLUMNS}
        FROM operator_notices
        WHERE $1 OR acknowledged_at IS NULL
        ORDER BY last_seen DESC, id DESC
        LIMIT $2
      `,
      [order.all, order.limit],
    )
  ).rows
}

/** Open ones, by kind; those that have none are not in it. */
export async function countNotices(db: Queryable): Promise<ReadonlyMap<NoticeKind, number>> {
  const { rows } = await db.query<{ kind: NoticeKind; count: number }>(
    'SELECT kind, count(*) AS count FROM operator_notices WHERE acknowledged_at IS NULL GROUP BY kind',
  )
  return new Map(rows.map(({ kind, count }) => [kind, count]))
}

/** Answers how many were open and are acknowledged now. Null for `id`: all. */
export async function acknowledgeNotices(
  db: Queryable,
  order: { readonly id: string | null; readonly by: string; readonly now: Date },
): Promise<number> {
  const { rowCount } = await db.query(
    sql`
      UPDATE operator_notices
      SET acknowledged_at = $2, acknowledged_by = $3
      WHERE acknowledged_at IS NULL AND ($1::uuid IS NULL OR id = $1)
    `,
    [order.id, order.now, order.by.slice(0, MAX_BY)],
  )
  return rowCount ?? 0
}

export async function clearOldNotices(db: Queryable, now: Date): Promise<void> {
  await db.query(
    sql`
      DELETE FROM operator_notices
      WHERE acknowledged_at < $1::timestamptz - interval '30 days'
        OR last_seen < $1::timestamptz - interval '90 days'
        OR id < (
          SELECT id
          FROM operator_notices
          ORDER BY id DESC
          OFFSET ${MAX_NOTICES - 1}
          LIMIT 1
        )
    `,
    [now],
  )
}
