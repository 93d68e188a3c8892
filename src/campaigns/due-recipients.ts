/**
 * Reads the rows of a ledger that are due, with what decides whether each gets mail: the contact's address, membership and
 * opt-out, and a suppression. Rows that wait for a slow receiver (slow-receivers.ts) are read apart, up to each one's limit.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Running } from './running.ts'
import { receiverAmong, type RoomAt } from './slow-receivers.ts'

/** Rows that one transaction dispatches at most. */
export const SLICE = 1000

export interface Picked {
  readonly contactId: string
  readonly audienceId: string
  readonly variant: 'a' | 'b' | null
  readonly email: string | null
  readonly isSubscribed: boolean
  readonly isOptedOut: boolean
  readonly cause: string | null
  /** The slow receiver that it is for; null for all others. */
  readonly slow: string | null
}

/** `picked` selects the rows; `slow` is the SQL for the slow receiver of a row, or NULL where it no longer matters. */
const pickText = (picked: string, slow: string): string => sql`
  WITH picked AS MATERIALIZED (
    ${picked}
  )
  SELECT p.contact_id AS "contactId", p.audience_id AS "audienceId", p.variant, c.email,
    m.contact_id IS NOT NULL AS "isSubscribed", c.opted_out_at IS NOT NULL AS "isOptedOut", s.cause, ${slow} AS slow
  FROM picked p
  LEFT JOIN contacts c ON c.id = p.contact_id AND c.workspace_id = $2
  LEFT JOIN memberships m ON m.audience_id = p.audience_id AND m.contact_id = p.contact_id AND m.is_subscribed
  LEFT JOIN suppressions s ON s.workspace_id = $2 AND s.address = c.email
`

const PICK = prepared(
  'campaign-pick',
  pickText(
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

const PICK_APART = prepared(
  'campaign-pick-apart',
  pickText(
    sql`
      SELECT l.*
      FROM unnest($4::text[], $5::int[]) AS r (receiver, room)
      CROSS JOIN LATERAL (
        SELECT contact_id, audience_id, variant
        FROM campaign_recipients
        WHERE campaign_id = $1 AND apart = r.receiver AND is_waiting AND sends_at <= $3
        ORDER BY sends_at, contact_id
        LIMIT r.room
      ) l
      LIMIT ${SLICE}
    `,
    'NULL::text',
  ),
)

/** Those whose time has come, at most so many. */
export async function pickDue(
  tx: Queryable,
  { id, workspaceId, slow }: Running,
  now: Date,
  limit: number,
): Promise<Picked[]> {
  return (await tx.query<Picked>(PICK, [id, workspaceId, now, limit, slow])).rows
}

/** Of what was set apart for slow receivers, as many as there is room for. */
export async function pickApart(
  tx: Queryable,
  { id, workspaceId }: Running,
  now: Date,
  rooms: readonly RoomAt[],
): Promise<Picked[]> {
  return (
    await tx.query<Picked>(PICK_APART, [
      id,
      workspaceId,
      now,
      rooms.map(({ receiver }) => receiver),
      rooms.map(({ room }) => room),
    ])
  ).rows
}
