/**
 * Queues messages of automations: inserts messages with deferred content, their recipients and first events in one
 * statement, and links them to their enrolments. They use the bulk tier, so a million contacts enrolled at once do not
 * delay other mail. The caller consumes the quota in the same transaction.
 */
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import { NO_NOTIFICATIONS } from '#src/queue/notifications.ts'
import type { DueRecipient } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { audienceOf, type DueEnrolment } from './due-enrolments.ts'
import type { EventProperties } from './wait-events.ts'
import type { Step } from './steps.ts'

export interface AutomationMessage {
  readonly id: string
  readonly eventId: string
  readonly enrolment: DueEnrolment
  readonly email: string
  readonly step: Extract<Step, { type: 'send_email' }>
  /** Event properties, available to the template as `{{event.<name>}}`. */
  readonly event: EventProperties | null
  readonly contentId: string
  readonly domainId: string
  readonly subject: string
  /** A condition of the automation depends on opens: they are tracked unless the workspace says otherwise. */
  readonly needsOpens: boolean
}

const TIER = 'bulk'
/** The content size stored with each message; the real content is rendered when it is sent. */
const CONTENT_SIZE = 1000

const QUEUE_MESSAGES = prepared(
  'automation-send',
  sql`
    WITH input AS (
      SELECT i.*, d.domain_id, s.cause, s.kind AS cause_kind,
        CASE WHEN s.address IS NULL THEN 'queued' ELSE 'suppressed' END AS state
      FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::uuid[], $9::text[],
        $10::text[], $11::text[], $12::text[], $13::jsonb[], $14::text[], $15::jsonb[], $16::text[], $20::boolean[]
      ) AS i (
        id, event_id, workspace_id, automation_id, enrolment_id, contact_id, audience_id, content_id, email, domain,
        from_email, from_name, reply_to, subject, params, step, needs_opens
      )
      JOIN unnest($17::uuid[], $18::uuid[]) AS d (message_id, domain_id) ON d.message_id = i.id
      LEFT JOIN suppressions s ON s.workspace_id = i.workspace_id AND s.address = i.email
    ),
    new_messages AS (
      INSERT INTO messages (
        id, workspace_id, domain_id, tier, from_email, from_name, reply_to, to_list, subject, content_size,
        recipient_count, created_at, content_id, contact_id, audience_id, params, track_opens, request_id
      )
      SELECT id, workspace_id, domain_id, '${TIER}', from_email, from_name, reply_to,
        jsonb_build_array(jsonb_build_object('email', email, 'name', NULL)), subject, ${CONTENT_SIZE}, 1, $19,
        content_id, contact_id, audience_id, params,
        (SELECT true FROM workspaces w WHERE w.id = i.workspace_id AND w.track_opens IS NULL AND i.needs_opens),
        automation_id::text
      FROM input i
    ),
    new_recipients AS (
      INSERT INTO recipients (
        message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, sequence, reason,
        updated_at
      )
      SELECT id, 0, workspace_id, '${TIER}', 'to', email, domain, state, state = 'queued', $19, true, 1,
        'the address is on the suppression list: ' || cause, $19
      FROM input
    ),
    new_events AS (
      INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
      SELECT event_id, workspace_id, CASE WHEN state = 'queued' THEN 'email.queued' ELSE 'email.failed' END, id, 0, 1,
        email,
        CASE
          WHEN state = 'suppressed'
            THEN jsonb_build_object('reason', 'suppressed', 'cause', cause, 'cause_kind', cause_kind)
        END,
        $19
      FROM input
      RETURNING id, workspace_id, type
    ),
    ${newDeliveries('$19')},
    known AS (
      INSERT INTO automation_mails (enrolment_id, message_id, workspace_id, automation_id, step)
      SELECT enrolment_id, id, workspace_id, automation_id, step
      FROM input
    )
    SELECT (SELECT count(*) FROM new_deliveries)::int AS deliveries,
      ARRAY(SELECT id::text FROM input WHERE state = 'suppressed') AS suppressed
  `,
)

/** Inserts the messages in the transaction of the step. The result is for `schedule`, after the commit. */
export async function queueMessages(
  tx: Queryable,
  messages: readonly AutomationMessage[],
  now: Date,
): Promise<{ due: DueRecipient[]; news: CommitNotifications }> {
  if (messages.length === 0) return { due: [], news: NO_NOTIFICATIONS }
  const {
    rows: [row],
  } = await tx.query<{ deliveries: number; suppressed: string[] }>(QUEUE_MESSAGES, [
    ...columnsOf(messages, [
      (m) => m.id,
      (m) => m.eventId,
      (m) => m.enrolment.workspaceId,
      (m) => m.enrolment.automationId,
      (m) => m.enrolment.id,
      (m) => m.enrolment.contactId,
      (m) => audienceOf(m.enrolment),
      (m) => m.contentId,
      (m) => m.email,
      domainOf,
      (m) => m.step.from,
      (m) => m.step.from_name,
      (m) => (m.step.reply_to === null ? null : JSON.stringify({ email: m.step.reply_to, name: null })),
      (m) => m.subject,
      (m) => jsonOrNull(m.event === null ? null : { event: m.event }),
      (m) => m.step.id,
      (m) => m.id,
      (m) => m.domainId,
    ]),
    now,
    messages.map((m) => m.needsOpens),
  ])
  const suppressed = new Set(row?.suppressed)
  const due = messages
    .filter(({ id }) => !suppressed.has(id))
    .map((m): DueRecipient => ({
      messageId: m.id,
      n: 0,
      workspaceId: m.enrolment.workspaceId,
      domain: domainOf(m),
      tier: TIER,
      dueMs: now.getTime(),
    }))
  const workspaces = new Set(messages.map(({ enrolment }) => enrolment.workspaceId))
  return { due, news: { hasDeliveries: (row?.deliveries ?? 0) > 0, workspaces: [...workspaces] } }
}

function domainOf({ email }: AutomationMessage): string {
  return email.slice(email.lastIndexOf('@') + 1)
}
