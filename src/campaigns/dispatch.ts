/**
 * Dispatches one slice of a ledger: due rows become queued messages in one transaction that also writes each message id
 * into its row. A crash before the commit changes nothing. After the commit the messages are stored, and the worker
 * finds those that were not announced in Redis. Contacts that unsubscribed or were suppressed since the ledger was
 * written are excluded here.
 *
 * The number of queued messages per campaign is limited, so that a pause takes effect at once and PostgreSQL and Redis
 * stay small. Messages for slow receivers do not count (slow-receivers.ts).
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import { consumeQuotaSlice } from '#src/messages/quota.ts'
import type { DueRecipient } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import type { DueCampaignRecipient } from './due-recipients.ts'
import type { LockedCampaign } from './locked-campaign.ts'
import { countText } from '#src/platform/plural.ts'

/** Smaller slices wait: a transaction for a few rows costs more than the rows. */
export const MIN_SLICE = 250
/** Maximum number of queued messages of one campaign without an outcome. */
export const MAX_QUEUED = 4000
/** The content size stored with each message; the real content is rendered when it is sent. */
const CONTENT_SIZE = 1000

// Ledger rows are found by both columns of their primary key: joining campaign_id from the input keeps the plan from
// scanning the whole campaign, and filtering by state instead of is_waiting avoids the index that begins with the
// campaign.
const EXCLUDE = prepared(
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

/** Why a recipient is excluded; null if it gets the message. */
function exclusionReason({
  email,
  isSubscribed,
  isOptedOut,
  cause,
}: DueCampaignRecipient): { readonly state: 'skipped' | 'suppressed'; readonly reason: string } | null {
  if (email === null) return { state: 'skipped', reason: 'the contact was deleted' }
  if (isOptedOut) return { state: 'skipped', reason: 'the contact opted out of all messages' }
  if (!isSubscribed) return { state: 'skipped', reason: 'is no longer subscribed to the audience' }
  return cause === null ? null : { state: 'suppressed', reason: `the address is on the suppression list: ${cause}` }
}

const DISPATCH = prepared(
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
        recipient_count, track_opens, track_clicks, created_at, content_id, contact_id, audience_id, campaign_id,
        request_id
      )
      SELECT id, $8, $9, 'bulk', $10, $11, $12::jsonb,
        jsonb_build_array(jsonb_build_object('email', email, 'name', NULL)), subject, ${CONTENT_SIZE}, 1,
        -- opens may decide an A/B test, so it asks for them, however short the mail is
        coalesce(
          $14::boolean,
          (SELECT true FROM workspaces w WHERE w.id = $8 AND w.track_opens IS NULL AND $18::boolean)
        ),
        $15::boolean, $16::timestamptz, content_id, contact_id, audience_id, campaign_id, campaign_id::text
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

export interface DispatchedSlice {
  readonly due: readonly DueRecipient[]
  readonly hasDeliveries: boolean
}

interface DispatchOptions {
  readonly now: Date
  /** Monthly recipient quota of the workspace's plan; null if unlimited. */
  readonly quota: number | null
}

/** @throws if the quota ran out meanwhile (`isOverQuota`); the caller must roll the transaction back. */
export async function dispatchSlice(
  tx: Queryable,
  campaign: LockedCampaign,
  recipients: readonly DueCampaignRecipient[],
  { now, quota }: DispatchOptions,
): Promise<DispatchedSlice> {
  const excluded = recipients.flatMap((one) => {
    const exclusion = exclusionReason(one)
    return exclusion === null ? [] : [{ contactId: one.contactId, ...exclusion }]
  })
  if (excluded.length > 0)
    await tx.query(EXCLUDE, [
      campaign.id,
      ...columnsOf(excluded, [(e) => e.contactId, (e) => e.state, (e) => e.reason]),
    ])
  const messages = recipients.flatMap((one) =>
    one.email === null || exclusionReason(one) !== null ? [] : [buildMessage(campaign, one, one.email, now)],
  )
  if (messages.length === 0) return { due: [], hasDeliveries: false }
  const hasDeliveries = await insertMessages(tx, campaign, messages, now)
  // last, because other transactions of the workspace wait for this row
  await consumeQuotaSlice(tx, { workspaceId: campaign.workspaceId, count: messages.length, quota, now })
  const { workspaceId } = campaign
  return {
    due: messages.map(({ id, domain }) => ({
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

interface CampaignMessage {
  readonly id: string
  readonly eventId: string
  readonly contactId: string
  readonly audienceId: string
  readonly email: string
  readonly domain: string
  readonly contentId: string
  /** The unrendered subject; it is rendered when the message is sent. */
  readonly subject: string
}

function buildMessage(
  campaign: LockedCampaign,
  { contactId, audienceId, variant }: DueCampaignRecipient,
  email: string,
  now: Date,
): CampaignMessage {
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

/** Returns true if webhook deliveries were created. */
async function insertMessages(
  tx: Queryable,
  campaign: LockedCampaign,
  messages: readonly CampaignMessage[],
  now: Date,
): Promise<boolean> {
  const { id, workspaceId, domainId, fromEmail, fromName, replyTo, trackOpens, trackClicks } = campaign
  const columns = columnsOf(messages, [
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
  } = await tx.query<{ deliveries: number; dispatched: number }>(DISPATCH, [
    ...columns,
    workspaceId,
    domainId,
    fromEmail,
    fromName,
    reply,
    messages.map(({ subject }) => subject),
    trackOpens,
    trackClicks,
    now,
    id,
    campaign.testPercent !== null,
  ])
  if (row?.dispatched !== messages.length)
    throw new Error(`only ${row?.dispatched} of ${countText(messages.length, 'ledger row')} dispatched`)
  return row.deliveries > 0
}
