/**
 * Dispatches one slice of a ledger: rows whose time has come become messages in the queue, in one transaction that also writes each
 * message's id into its row. A crash before the commit leaves all as it was; after it the mail is stored, and what Redis was not told is
 * found by the worker. Who has left, or was suppressed, since the ledger was written is told apart here and gets nothing.
 *
 * Only so many are ahead of the senders at a time: a pause acts at once, and PostgreSQL and Redis stay small. What waits for receivers
 * that are slow does not count (slow-receivers.ts).
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import { takeSlice } from '#src/messages/quota.ts'
import type { Due } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import type { Picked } from './due-recipients.ts'
import type { Running } from './running.ts'

/** Room for fewer is waited for: a transaction for each few would cost more than they do. */
export const LEAST_SLICE = 250
/** Of one campaign, in the queue with nothing known of them. */
export const MOST_AHEAD = 4000
/** Stored with each message: what loading it costs. The mail itself is made when it is sent. */
const CONTENT_SIZE = 1000

// A ledger's rows are found by both columns of its key, one by one: the campaign comes with the rows, so that no plan goes through all of
// it, and the state is asked for in place of is_waiting, whose index begins with the campaign too.
const LEAVE_OUT = prepared(
  'campaign-leave-out',
  sql`
    WITH input AS MATERIALIZED (
      SELECT *, $1::uuid AS campaign_id
      FROM unnest($2::uuid[], $3::text[], $4::text[]) AS i (contact_id, state, reason)
    )
    UPDATE campaign_recipients l
    SET state = i.state, is_waiting = false, apart = NULL, reason = i.reason
    FROM input i
    WHERE l.campaign_id = i.campaign_id AND l.contact_id = i.contact_id AND l.state = 'waiting'
  `,
)

/** Why nothing is sent to one; null: it is. */
function exclusionOf({
  email,
  isSubscribed,
  isOptedOut,
  cause,
}: Picked): { readonly state: 'skipped' | 'suppressed'; readonly reason: string } | null {
  if (email === null) return { state: 'skipped', reason: 'the contact was deleted' }
  if (isOptedOut) return { state: 'skipped', reason: 'the contact takes no mail any more' }
  if (!isSubscribed) return { state: 'skipped', reason: 'is no longer subscribed to the audience' }
  return cause === null ? null : { state: 'suppressed', reason: `the address is on the suppression list: ${cause}` }
}

const SEND = prepared(
  'campaign-send',
  sql`
    WITH input AS MATERIALIZED (
      SELECT *, $17::uuid AS campaign_id
      FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::uuid[], $13::text[]
      ) AS i (id, contact_id, audience_id, email, domain, content_id, event_id, subject)
    ),
    new_messages AS (
      INSERT INTO messages (
        id, workspace_id, domain_id, tier, from_email, from_name, reply_to, to_list, subject, content_size,
        recipient_count, track_opens, track_clicks, created_at, content_id, contact_id, audience_id, campaign_id
      )
      SELECT id, $8, $9, 'bulk', $10, $11, $12::jsonb,
        jsonb_build_array(jsonb_build_object('email', email, 'name', NULL)), subject, ${CONTENT_SIZE}, 1, $14::boolean,
        $15::boolean, $16::timestamptz, content_id, contact_id, audience_id, campaign_id
      FROM input
    ),
    new_recipients AS (
      INSERT INTO recipients (
        message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, sequence, updated_at,
        campaign_id
      )
      SELECT id, 0, $8, 'bulk', 'to', email, domain, 'queued', true, $16, true, 1, $16, campaign_id
      FROM input
    ),
    new_events AS (
      INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
      SELECT event_id, $8, 'email.queued', id, 0, 1, email, $16
      FROM input
      RETURNING id, workspace_id, type
    ),
    ${newDeliveries('$16')},
    dispatched AS (
      UPDATE campaign_recipients l
      SET state = 'dispatched',
        is_waiting = false,
        apart = NULL,
        message_id = i.id,
        dispatched_at = $16,
        email = i.email
      FROM input i
      WHERE l.campaign_id = i.campaign_id AND l.contact_id = i.contact_id AND l.state = 'waiting'
      RETURNING 1
    ),
    campaign AS (
      UPDATE campaigns
      SET dispatched_at = $16
      WHERE id = $17
    )
    SELECT (SELECT count(*) FROM new_deliveries)::int AS deliveries,
      (SELECT count(*) FROM dispatched)::int AS dispatched
  `,
)

export interface Sent {
  readonly due: readonly Due[]
  readonly hasDeliveries: boolean
}

interface Order {
  readonly now: Date
  /** Recipients a month of the workspace's plan; null = unlimited. */
  readonly quota: number | null
}

/** @throws when the quota ran out meanwhile (`isOverQuota`): the transaction must be given up. */
export async function sendSlice(
  tx: Queryable,
  campaign: Running,
  picked: readonly Picked[],
  { now, quota }: Order,
): Promise<Sent> {
  const excluded = picked.flatMap((one) => {
    const why = exclusionOf(one)
    return why === null ? [] : [{ contactId: one.contactId, ...why }]
  })
  if (excluded.length > 0)
    await tx.query(LEAVE_OUT, [
      campaign.id,
      ...columnsOf(excluded, [(e) => e.contactId, (e) => e.state, (e) => e.reason]),
    ])
  const mails = picked.flatMap((one) =>
    one.email === null || exclusionOf(one) !== null ? [] : [mailOf(campaign, one, one.email, now)],
  )
  if (mails.length === 0) return { due: [], hasDeliveries: false }
  const hasDeliveries = await writeMails(tx, campaign, mails, now)
  // last, because other mail of the workspace waits for this row
  await takeSlice(tx, { workspaceId: campaign.workspaceId, wanted: mails.length, quota, now })
  const { workspaceId } = campaign
  return {
    due: mails.map(({ id, domain }) => ({
      messageId: id,
      n: 0,
      workspaceId,
      domain,
      tier: 'bulk',
      dueMs: now.getTime(),
    })),
    hasDeliveries,
  }
}

interface NewMail {
  readonly id: string
  readonly eventId: string
  readonly contactId: string
  readonly audienceId: string
  readonly email: string
  readonly domain: string
  readonly contentId: string
  /** As it was written: what it says to this contact is made when it is sent. */
  readonly subject: string
}

function mailOf(campaign: Running, { contactId, audienceId, variant }: Picked, email: string, now: Date): NewMail {
  const { contentId, contentBId, subject, subjectB, winner } = campaign
  const isB = (variant ?? winner) === 'b' && contentBId !== null
  return {
    id: newId(now.getTime()),
    eventId: newId(now.getTime()),
    contactId,
    audienceId,
    email,
    domain: email.slice(email.lastIndexOf('@') + 1),
    contentId: isB ? contentBId : contentId,
    subject: (isB ? subjectB : subject) ?? '',
  }
}

/** Whether webhooks are to be told. */
async function writeMails(tx: Queryable, campaign: Running, mails: readonly NewMail[], now: Date): Promise<boolean> {
  const { id, workspaceId, domainId, fromEmail, fromName, replyTo, trackOpens, trackClicks } = campaign
  const columns = columnsOf(mails, [
    (m) => m.id,
    (m) => m.contactId,
    (m) => m.audienceId,
    (m) => m.email,
    (m) => m.domain,
    (m) => m.contentId,
    (m) => m.eventId,
  ])
  const reply = replyTo === null ? null : JSON.stringify({ email: replyTo, name: null })
  const {
    rows: [row],
  } = await tx.query<{ deliveries: number; dispatched: number }>(SEND, [
    ...columns,
    workspaceId,
    domainId,
    fromEmail,
    fromName,
    reply,
    mails.map(({ subject }) => subject),
    trackOpens,
    trackClicks,
    now,
    id,
  ])
  if (row?.dispatched !== mails.length)
    throw new Error(`of ${mails.length} rows ${row?.dispatched} could be dispatched`)
  return row.deliveries > 0
}
