/**
 * Keeps slow receivers from delaying a whole campaign. A campaign has a limited number of queued messages, so a
 * receiver that is slow or stopped would in the end occupy all of them. If nothing could be dispatched for a while, the
 * receivers with most of the queued messages are marked as slow. Their queued messages are counted separately, up to a
 * limit per receiver, and their further ledger rows are set apart when their turn comes. As a slow receiver accepts
 * messages, more of its rows follow. When none is set apart any more, the receiver is treated as all others.
 *
 * The list of slow receivers is stored with the campaign, so any worker continues with it. Each worker counts their
 * queued messages at intervals; two workers at once may use twice the limit.
 */
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly, type Weeks } from '#src/stores/weeks.ts'
import type { LockedCampaign } from './locked-campaign.ts'

/** Maximum number of queued messages for one slow receiver. */
const MAX_QUEUED_PER_RECEIVER = 1000
/** After this time without a dispatch the queue is checked for slow receivers. */
const STALL_MS = 3000
const CHECK_INTERVAL_MS = 500
/** Receivers with fewer queued messages delay nothing. */
const MIN_QUEUED = 100
const MAX_SLOW_RECEIVERS = 40

/** Queued messages of a campaign without an attempt; the receiver is the site if known, otherwise the domain. */
const inQueue = (weeks: Weeks): string => sql`
  FROM recipients r
  LEFT JOIN domain_sites d ON d.domain = r.domain
  WHERE r.campaign_id = $1
    AND ${weeks.contain('r.message_id')}
    AND r.is_open
    AND r.state IN ('queued', 'sending')
    AND r.due_at <= $2
`

const FIND_SLOW = weekly(
  'campaign-slow-find',
  (weeks) => sql`
    SELECT coalesce(d.site, r.domain) AS receiver
    ${inQueue(weeks)}
    GROUP BY 1
    HAVING count(*) >= ${MIN_QUEUED}
    ORDER BY count(*) DESC, 1
    LIMIT ${MAX_SLOW_RECEIVERS}
  `,
)

const STORE_SLOW = prepared('campaign-slow-note', 'UPDATE campaigns SET slow = $2, dispatched_at = $3 WHERE id = $1')

/** A domain that was marked before its site was known keeps its own name. */
export const receiverAmong = (domain: string, slowReceivers: string): string => sql`
  CASE
    WHEN ${domain} = ANY (${slowReceivers}::text[]) THEN ${domain}
    ELSE (SELECT d.site FROM domain_sites d WHERE d.domain = ${domain} AND d.site = ANY (${slowReceivers}::text[]))
  END
`

const COUNT_QUEUED = weekly(
  'campaign-slow-count',
  (weeks) => sql`
    SELECT receiver, count(*)::int AS n
    FROM (
      SELECT CASE WHEN r.domain = ANY ($3::text[]) THEN r.domain ELSE d.site END AS receiver
      ${inQueue(weeks)}
    ) q
    WHERE receiver = ANY ($3::text[])
    GROUP BY receiver
  `,
)

const FIND_STILL_SET_APART = prepared(
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

/** When the slow receivers of a campaign were last checked, and the queued messages of each. */
export interface SlowReceiverCheck {
  readonly atMs: number
  readonly queued: ReadonlyMap<string, number>
}
export type SlowReceiverChecks = Map<string, SlowReceiverCheck>

export interface ReceiverCapacity {
  readonly receiver: string
  readonly capacity: number
}

export interface SlowReceiverStatus {
  /** Queued messages for slow receivers; they do not delay others. */
  readonly queued: number
  /** Receivers with free capacity for rows that were set apart; filled only right after a check. */
  readonly capacities: readonly ReceiverCapacity[]
}

export async function checkSlowReceivers(
  tx: Queryable,
  checks: SlowReceiverChecks,
  campaign: LockedCampaign,
  now: Date,
): Promise<SlowReceiverStatus> {
  const { id, slow } = campaign
  const last = checks.get(id)
  if (slow.length === 0) {
    checks.delete(id)
    return { queued: 0, capacities: [] }
  }
  if (last !== undefined && now.getTime() - last.atMs < CHECK_INTERVAL_MS)
    return { queued: sumOf(last.queued), capacities: [] }
  const { rows } = await tx.query<{ receiver: string; n: number }>(COUNT_QUEUED.within(await readOpenWeeks(tx)), [
    id,
    now,
    slow,
  ])
  const queued = new Map(rows.map(({ receiver, n }) => [receiver, n]))
  checks.set(id, { atMs: now.getTime(), queued })
  const capacities = slow
    .map((receiver) => ({ receiver, capacity: MAX_QUEUED_PER_RECEIVER - (queued.get(receiver) ?? 0) }))
    .filter(({ capacity }) => capacity >= MAX_QUEUED_PER_RECEIVER / 2)
  return { queued: sumOf(queued), capacities }
}

function sumOf(queued: ReadonlyMap<string, number>): number {
  return [...queued.values()].reduce((sum, n) => sum + n, 0)
}

/**
 * The queue is full: finds and stores the receivers that fill it. Returns true if a receiver was added, which frees
 * capacity for the others.
 */
export async function addSlowReceivers(
  tx: Queryable,
  checks: SlowReceiverChecks,
  campaign: LockedCampaign,
  now: Date,
): Promise<boolean> {
  const { id, slow, dispatchedAt } = campaign
  if (dispatchedAt === null || now.getTime() - dispatchedAt.getTime() < STALL_MS) return false
  const { rows } = await tx.query<{ receiver: string }>(FIND_SLOW.within(await readOpenWeeks(tx)), [id, now])
  const more = rows.map(({ receiver }) => receiver).filter((receiver) => !slow.includes(receiver))
  await tx.query(STORE_SLOW, [id, [...slow, ...more], now])
  checks.delete(id)
  return more.length > 0
}

/** Removes receivers with no rows set apart and few queued messages. Returns the updated campaign. */
export async function removeRecoveredReceivers(
  tx: Queryable,
  campaign: LockedCampaign,
  capacities: readonly ReceiverCapacity[],
  now: Date,
): Promise<LockedCampaign> {
  const receivers = capacities.map(({ receiver }) => receiver)
  const { rows } = await tx.query<{ receiver: string }>(FIND_STILL_SET_APART, [campaign.id, receivers])
  const recovered = new Set(receivers.filter((receiver) => !rows.some((row) => row.receiver === receiver)))
  if (recovered.size === 0) return campaign
  const slow = campaign.slow.filter((receiver) => !recovered.has(receiver))
  await tx.query(STORE_SLOW, [campaign.id, slow, now])
  return { ...campaign, slow }
}

/** Sets rows apart until their slow receiver has capacity. */
export async function setApart(
  tx: Queryable,
  { id }: LockedCampaign,
  rows: readonly { readonly contactId: string; readonly receiver: string }[],
): Promise<void> {
  await tx.query(SET_APART, [id, rows.map(({ contactId }) => contactId), rows.map(({ receiver }) => receiver)])
}
