/**
 * Operator notices: problems that only the operator can fix. A problem (a kind and a subject) is one open row with a
 * count until it is acknowledged; after that, a new occurrence is a new row. Occurrences (`happened`) are counted.
 * Conditions (`stands`) have the time since when they hold; reporting one again, from any process, changes nothing.
 * Texts come from third parties in part: they are truncated and stored unchanged, and readers remove control
 * characters.
 *
 * Acknowledged notices are deleted after 30 days, others 90 days after the last occurrence, and only the newest
 * MAX_NOTICES are kept.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { textsOf } from '#src/platform/coded-text.ts'
import { newId } from '#src/platform/id.ts'
import { readUncounted, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

/** All kinds of notices, each with a sentence. */
export const NOTICE_KINDS = {
  reply: 'a receiver reports a problem that only the operator can fix',
  'receiver-suspended': 'a reply rule suspended mail to a receiver for a while',
  'source-gone': 'the address of a source is no longer on this host, and the source was taken out of use',
  blocklisted: 'the address of a source is on a blocklist',
  'workspace-paused': 'the mail of a workspace was paused because of its bounce or complaint rate',
  'database-older': 'PostgreSQL lost its last changes: mail of that time is missing or may be sent again',
  'operator-token-refused': 'a request had an invalid operator token',
  'subscribe-stopped': 'a subscribe form got far more submissions than usual, or reached its daily limit, and stopped',
  'clock-skew': 'the clocks of a machine and of PostgreSQL differ',
  'dead-links':
    'links in mail lead nowhere: campaigns and automations stop, other mail has no tracking and no unsubscribe link',
  'dkim-zone': 'changes of the zone with DKIM keys are not published: new keys do not sign until then',
  'dkim-key': 'a DKIM key is not replaced until a person publishes its records',
  'retention-overdue': 'what is stored for longer than its period is not deleted',
  'certificate-failing': 'a certificate cannot be requested or renewed; `mailstead certificate list` gives the reason',
  'no-node-source': 'no running node has a source of a pool that senders use: their mail waits',
  outage: 'hard bounces of a receiver jumped, and suppressions are held',
} as const satisfies Record<string, string>
export type NoticeKind = keyof typeof NOTICE_KINDS
export const noticeKindText = textsOf('notice_kind', NOTICE_KINDS)
export const NOTICE_KIND_NAMES = Object.keys(NOTICE_KINDS) as [NoticeKind, ...NoticeKind[]]

export interface NewNotice {
  readonly kind: NoticeKind
  readonly subject: string
  /** What happened, with the reply if there is one. */
  readonly text: string
  /** The number of occurrences. */
  readonly count: number
  /** The last occurrence. */
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
/** The maximum number of rows. */
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

/** One statement; a kind and subject may be in a batch once. `stands`: a condition since `at`, reported repeatedly. */
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

/** PostgreSQL stores neither NUL nor lone surrogates. */
function truncate(text: string, most: number): string {
  return text.slice(0, most).toWellFormed().replaceAll('\0', '\uFFFD')
}

const COLUMNS = sql`
  id, kind, subject, text, count, first_seen AS "firstSeen", last_seen AS "lastSeen",
  acknowledged_at AS "acknowledgedAt", acknowledged_by AS "acknowledgedBy"
`

const LATEST_FIRST: ListOrder = {
  by: [
    { sql: 'last_seen', type: 'timestamptz' },
    { sql: 'id', type: 'uuid' },
  ],
  direction: 'DESC',
  isMutable: true,
}

/** The latest first. `all` includes acknowledged notices. */
export async function listNotices(
  db: Queryable,
  page: Pick<PageRequest, 'limit' | 'at'> & { readonly all: boolean },
): Promise<Page<OperatorNotice>> {
  const where = '($1 OR acknowledged_at IS NULL)'
  const listing = { columns: COLUMNS, from: 'operator_notices', where, order: LATEST_FIRST, values: [page.all] }
  return readUncounted(db, listing, page)
}

/** The number of open notices by kind; kinds without any are not in the map. */
export async function countNotices(db: Queryable): Promise<ReadonlyMap<NoticeKind, number>> {
  const { rows } = await db.query<{ kind: NoticeKind; count: number }>(
    'SELECT kind, count(*) AS count FROM operator_notices WHERE acknowledged_at IS NULL GROUP BY kind',
  )
  return new Map(rows.map(({ kind, count }) => [kind, count]))
}

/** Acknowledges one open notice, or all when `id` is null. Returns their number. */
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
