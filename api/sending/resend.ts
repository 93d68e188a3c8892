/**
 * A message to be sent again: a new message with the stored content, envelope and options of an earlier one. Its domain
 * or account must still be able to send; an Admin key, which is bound to no sender, may ask for it because the mail was
 * accepted before. Writes nothing.
 */
import type { Caller } from '#src/auth/keys.ts'
import { uniqueHeaderLists } from '#src/messages/recipient-lists.ts'
import {
  findStoredContent,
  loadStoredAttachments,
  type ContentRecipient,
  type StoredMessageContent,
} from '#src/messages/stored-content.ts'
import type { Submission, SubmittedEnvelope } from '#src/messages/submission.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'

const SENDING_STATUSES: readonly string[] = ['verified', 'degraded']
const DELETED = refuse(
  'CONFLICT',
  'The content of this email is not stored any more. Send it with its content as a new message.',
)
const CONFIDENTIAL = refuse(
  'FORBIDDEN',
  'This email has a link for its recipient only, so it is not sent again. Create another invitation or link.',
)
const DEFERRED = refuse(
  'CONFLICT',
  'This is mail of a campaign or an automation. Send it again with retry-campaign, or enroll the contact again.',
)
const NO_SENDER = refuse(
  'CONFLICT',
  'The domain or account it was sent from cannot send now. Verify or connect it, then repeat the request.',
)

export interface ResendRequest {
  readonly messageId: string
  /** Addresses of recipients of the message; null: all. */
  readonly to: readonly string[] | null
}

/** Null when the workspace has no such message. */
export async function prepareResend(
  ctx: ApiContext,
  caller: Caller,
  { messageId, to }: ResendRequest,
): Promise<Submission | Refusal | null> {
  const stored = await findStoredContent(ctx.db, caller.workspaceId, messageId)
  if (stored === null) return null
  if (stored.kind === 'confidential') return CONFIDENTIAL
  if (stored.row.content_id !== null) return DEFERRED
  if (!stored.isStored) return DELETED
  const recipients = chooseRecipients(stored.recipients, to)
  if (isRefusal(recipients)) return recipients
  if (!(await maySend(ctx.db, caller.workspaceId, stored))) return NO_SENDER
  const attachments = await loadStoredAttachments(ctx.db, stored)
  if (stored.row.has_attachments && attachments.length === 0) return DELETED
  return createSubmission(ctx, caller, { stored, recipients, attachments })
}

function chooseRecipients(
  all: readonly ContentRecipient[],
  to: readonly string[] | null,
): readonly ContentRecipient[] | Refusal {
  if (to === null) return all
  const wanted = new Set(to.map((address) => address.toLowerCase()))
  const chosen = all.filter(({ address }) => wanted.delete(address.toLowerCase()))
  if (wanted.size === 0) return chosen
  return invalid([{ path: 'to', message: 'has an address that is no recipient of this email' }])
}

/** Checks the sender as it is now, not as it was. */
async function maySend(
  db: Queryable,
  workspaceId: string,
  { row, recipients }: StoredMessageContent,
): Promise<boolean> {
  const account = accountIdOf(recipients[0]?.domain ?? '')
  if (account !== null) {
    const { rows } = await db.query(
      sql`SELECT 1 FROM connected_accounts WHERE id = $1 AND workspace_id = $2 AND $3 = ANY (addresses)`,
      [account, workspaceId, row.from_email.toLowerCase()],
    )
    return rows.length > 0
  }
  if (row.domain_id === null) return false
  const { rows } = await db.query<{ status: string }>(
    'SELECT verification_status AS status FROM domains WHERE id = $1 AND workspace_id = $2',
    [row.domain_id, workspaceId],
  )
  return SENDING_STATUSES.includes(rows[0]?.status ?? '')
}

interface ResendParts {
  readonly stored: StoredMessageContent
  readonly recipients: readonly ContentRecipient[]
  readonly attachments: Submission['attachments']
}

function createSubmission(
  ctx: ApiContext,
  caller: Caller,
  { stored: { row }, recipients, attachments }: ResendParts,
): Submission {
  const now = ctx.clock.now()
  const envelope = row.submitted === null ? null : envelopeOf(row.submitted)
  return {
    id: newId(now),
    workspaceId: caller.workspaceId,
    apiKeyId: caller.keyId,
    domainId: row.domain_id,
    tier: row.tier,
    from: { email: row.from_email, name: row.from_name },
    replyTo: row.reply_to,
    ...uniqueHeaderLists({ to: row.to_list, cc: row.cc_list ?? [] }, recipients),
    recipients: recipients.map(({ address, domain, kind }) => ({ address, domain, kind })),
    subject: row.subject,
    html: row.html,
    text: row.body_text,
    headers: row.headers ?? [],
    attachments,
    ...(row.template === null ? {} : { template: row.template }),
    ...(envelope === null ? {} : { smtp: { raw: row.raw, envelope } }),
    tags: row.tags ?? [],
    metadata: row.metadata as Submission['metadata'],
    trackOpens: row.track_opens,
    trackClicks: row.track_clicks,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: new Date(now),
    quota: planOf(ctx, caller.plan).monthlyQuota,
    idempotency: null,
  }
}

/** Without the requests for reports on single recipients: the client that made them does not wait for these. */
function envelopeOf({ wishes: _wishes, envid: _envid, ...rest }: SubmittedEnvelope): SubmittedEnvelope {
  return rest
}
