/**
 * Reads the due rows of a ledger with everything that decides whether a recipient gets the message: address,
 * membership, opt-out and suppression. Rows that wait for a slow receiver (slow-receivers.ts) are read separately, up
 * to each receiver's limit.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { LockedCampaign } from './locked-campaign.ts'
import { receiverAmong, type ReceiverCapacity } from './slow-receivers.ts'

/** Maximum number of rows that one transaction dispatches. */
export const SLICE = 1000

export interface DueCampaignRecipient {
  readonly contactId: string
  readonly audienceId: string
  readonly variant: 'a' | 'b' | null
  readonly email: string | null
  readonly isSubscribed: boolean
  readonly isOptedOut: boolean
  readonly cause: string | null
  /** The slow receiver of the address; null for all other receivers. */
  readonly slowReceiver: string | null
}

/** `rows` selects the ledger rows; `slow` is SQL for the slow receiver of a row, or NULL where it does not matter. */
const recipientsQuery = (rows: string, slow: string): string => sql`
  WITH picked AS MATERIALIZED (
    ${rows}
  )
  SELECT p.contact_id AS "contactId", p.audience_id AS "audienceId", p.variant, c.email,
    m.contact_id IS NOT NULL AS "isSubscribed", c.opted_out_at IS NOT NULL AS "isOptedOut", s.cause,
    ${slow} AS "slowReceiver"
  FROM picked p
  LEFT JOIN contacts c ON c.id = p.contact_id AND c.workspace_id = $2
  LEFT JOIN memberships m ON m.audience_id = p.audience_id AND m.contact_id = p.contact_id AND m.is_subscribed
  LEFT JOIN suppressions s ON s.workspace_id = $2 AND s.address = c.email
`

const READ_DUE = prepared(
  'campaign-pick',
  recipientsQuery(
    sql`
      SELECT contact_id, audience_id, variant
      FROM campaign_recipients
      WHERE campaign_id = $1 AND is_waiting AND apart IS NULL AND sends_at <= $3
      ORDER BY sends_at, contact_id
      LIMIT $4
    `,
    `CASE WHEN $5::text[] <> '{}' THEN ${receiverAmong(`substring(c.email FROM '[^@]*$')`, '$5')} END`,
  ),
)

const READ_DUE_AT_SLOW = prepared(
  'campaign-pick-apart',
  recipientsQuery(
    sql`
      SELECT l.*
      FROM unnest($4::text[], $5::int[]) AS r (receiver, capacity)
      CROSS JOIN LATERAL (
        SELECT contact_id, audience_id, variant
        FROM campaign_recipients
        WHERE campaign_id = $1 AND apart = r.receiver AND is_waiting AND sends_at <= $3
        ORDER BY sends_at, contact_id
        LIMIT r.capacity
      ) l
      LIMIT ${SLICE}
    `,
    'NULL::text',
  ),
)

/** Reads due recipients, at most `limit`. */
export async function readDueRecipients(
  tx: Queryable,
  { id, workspaceId, slow }: LockedCampaign,
  now: Date,
  limit: number,
): Promise<DueCampaignRecipient[]> {
  return (await tx.query<DueCampaignRecipient>(READ_DUE, [id, workspaceId, now, limit, slow])).rows
}

/** Reads due recipients at slow receivers, up to the capacity of each. */
export async function readDueAtSlowReceivers(
  tx: Queryable,
  { id, workspaceId }: LockedCampaign,
  now: Date,
  capacities: readonly ReceiverCapacity[],
): Promise<DueCampaignRecipient[]> {
  return (
    await tx.query<DueCampaignRecipient>(READ_DUE_AT_SLOW, [
      id,
      workspaceId,
      now,
      capacities.map(({ receiver }) => receiver),
      capacities.map(({ capacity }) => capacity),
    ])
  ).rows
}
