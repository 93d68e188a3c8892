/**
 * Receivers that hold a campaign up. A campaign has only so many mails in the queue at a time, so one receiver that is slow, or stopped,
 * would in the end have all of them, and all other receivers would wait for it. Where nothing could be dispatched for a while, the receivers
 * that most of the queue is for are noted as slow: their mail in the queue is counted for itself, up to a room of their own, and their
 * further rows are set apart, each once, when their turn comes. As a slow receiver takes its mail, more of what was set apart follows; when
 * nothing is left apart it is a receiver like others.
 *
 * Which are slow stands with the campaign, so any worker goes on with it. How much waits for them is counted once in a while by each
 * worker: two at once may take twice a room.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Running } from './running.ts'

/** In the queue for one slow receiver. */
const ROOM = 1000
/** So long without a dispatch, and what is in the queue is looked at. */
const PATIENCE_MS = 3000
const LOOK_MS = 500
/** Fewer do not hold anything up. */
const WORTH_NOTING = 100
const MOST_NOTED = 40

/** Untried mail of a campaign, by receiver: the site where it is known, else the domain. */
const IN_QUEUE = sql`
  FROM recipients r
  LEFT JOIN domain_sites d ON d.domain = r.domain
  WHERE r.campaign_id = $1 AND r.is_open AND r.state IN ('queued', 'sending') AND r.due_at <= $2
`

const FIND = prepared(
  'campaign-slow-find',
  sql`
    SELECT coalesce(d.site, r.domain) AS receiver
    ${IN_QUEUE}
    GROUP BY 1
    HAVING count(*) >= ${WORTH_NOTING}
    ORDER BY count(*) DESC, 1
    LIMIT ${MOST_NOTED}
  `,
)

const NOTE = prepared('campaign-slow-note', 'UPDATE campaigns SET slow = $2, dispatched_at = $3 WHERE id = $1')

/** A domain that was noted before its site was known goes by its own name still. */
export const receiverAmong = (domain: string, noted: string): string => sql`
  CASE
    WHEN ${domain} = ANY (${noted}::text[]) THEN ${domain}
    ELSE (SELECT d.site FROM domain_sites d WHERE d.domain = ${domain} AND d.site = ANY (${noted}::text[]))
  END
`

const COUNT = prepared(
  'campaign-slow-count',
  sql`
    SELECT receiver, count(*)::int AS n
    FROM (
      SELECT CASE WHEN r.domain = ANY ($3::text[]) THEN r.domain ELSE d.site END AS receiver
      ${IN_QUEUE}
    ) q
    WHERE receiver = ANY ($3::text[])
    GROUP BY receiver
  `,
)

const LEFT = prepared(
  'campaign-slow-left',
  sql`
    SELECT s.receiver
    FROM unnest($2::text[]) AS s (receiver)
    WHERE EXISTS (SELECT FROM campaign_recipients l WHERE l.campaign_id = $1 AND l.apart = s.receiver)
  `,
)

const SET_APART = prepared(
  'campaign-set-apart',
  sql`
    WITH input AS MATERIALIZED (
      SELECT *, $1::uuid AS campaign_id
      FROM unnest($2::uuid[], $3::text[]) AS i (contact_id, receiver)
    )
    UPDATE campaign_recipients l
    SET apart = i.receiver
    FROM input i
    WHERE l.campaign_id = i.campaign_id AND l.contact_id = i.contact_id AND l.state = 'waiting'
  `,
)

/** When a campaign's slow receivers were last looked at, and what was in the queue for each. */
export interface Look {
  readonly atMs: number
  readonly ahead: ReadonlyMap<string, number>
}
export type Looks = Map<string, Look>

export interface RoomAt {
  readonly receiver: string
  readonly room: number
}

export interface SlowView {
  /** Mail in the queue that waits for slow receivers: not in the way of others. */
  readonly ahead: number
  /** Where more may go of what was set apart; only right after a look. */
  readonly rooms: readonly RoomAt[]
}

export async function viewSlow(tx: Queryable, looks: Looks, campaign: Running, now: Date): Promise<SlowView> {
  const { id, slow } = campaign
  const last = looks.get(id)
  if (slow.length === 0) {
    looks.delete(id)
    return { ahead: 0, rooms: [] }
  }
  if (last !== undefined && now.getTime() - last.atMs < LOOK_MS) return { ahead: sumOf(last.ahead), rooms: [] }
  const { rows } = await tx.query<{ receiver: string; n: number }>(COUNT, [id, now, slow])
  const ahead = new Map(rows.map(({ receiver, n }) => [receiver, n]))
  looks.set(id, { atMs: now.getTime(), ahead })
  const rooms = slow
    .map((receiver) => ({ receiver, room: ROOM - (ahead.get(receiver) ?? 0) }))
    .filter(({ room }) => room >= ROOM / 2)
  return { ahead: sumOf(ahead), rooms }
}

function sumOf(ahead: ReadonlyMap<string, number>): number {
  return [...ahead.values()].reduce((sum, n) => sum + n, 0)
}

/** There is no room: whom does it wait for? True when a receiver was noted, and there is room therefore. */
export async function noteSlow(tx: Queryable, looks: Looks, campaign: Running, now: Date): Promise<boolean> {
  const { id, slow, dispatchedAt } = campaign
  if (dispatchedAt === null || now.getTime() - dispatchedAt.getTime() < PATIENCE_MS) return false
  const { rows } = await tx.query<{ receiver: string }>(FIND, [id, now])
  const more = rows.map(({ receiver }) => receiver).filter((receiver) => !slow.includes(receiver))
  await tx.query(NOTE, [id, [...slow, ...more], now])
  looks.delete(id)
  return more.length > 0
}

/** Those of which nothing is left apart, and little is in the queue, are slow no more; answers the campaign without them. */
export async function forgetSlow(
  tx: Queryable,
  campaign: Running,
  rooms: readonly RoomAt[],
  now: Date,
): Promise<Running> {
  const free = rooms.map(({ receiver }) => receiver)
  const { rows } = await tx.query<{ receiver: string }>(LEFT, [campaign.id, free])
  const gone = new Set(free.filter((receiver) => !rows.some((row) => row.receiver === receiver)))
  if (gone.size === 0) return campaign
  const slow = campaign.slow.filter((receiver) => !gone.has(receiver))
  await tx.query(NOTE, [campaign.id, slow, now])
  return { ...campaign, slow }
}

/** Rows that wait for slow receivers from now on. */
export async function setApart(
  tx: Queryable,
  { id }: Running,
  rows: readonly { readonly contactId: string; readonly receiver: string }[],
): Promise<void> {
  await tx.query(SET_APART, [id, rows.map(({ contactId }) => contactId), rows.map(({ receiver }) => receiver)])
}
