/**
 * The message that asks a person to confirm a subscription. It is sent like any mail of the workspace, with tier
 * instant, from its oldest verified domain. It contains nothing that the visitor typed: a form that repeats such text
 * to strangers would be a way to send spam. It counts in the workspace's monthly usage but is never rejected for the
 * quota: a newsletter must not disable a form.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { escapeHtml } from '#src/mail/html-escape.ts'
import type { Submission } from '#src/messages/submission.ts'
import { sql } from '#src/stores/sql.ts'
import type { SubscribeForm } from './form.ts'
import { createConfirmationToken, type SubscriptionRequest } from './confirmation-token.ts'

export interface ConfirmationSender {
  readonly domainId: string
  readonly domain: string
  readonly replyTo: string | null
}

const SENDER = sql`
  SELECT d.id AS "domainId", d.domain, w.reply_to AS "replyTo"
  FROM domains d
  JOIN workspaces w ON w.id = d.workspace_id
  WHERE d.workspace_id = $1 AND d.verification_status IN ('verified', 'degraded')
  ORDER BY d.verified_at, d.id
  LIMIT 1
`

/** Null if the workspace has no verified domain: then nobody can confirm. */
export async function findConfirmationSender(db: Queryable, workspaceId: string): Promise<ConfirmationSender | null> {
  const { rows } = await db.query<ConfirmationSender>(SENDER, [workspaceId])
  return rows[0] ?? null
}

type ConfirmationContext = Pick<Context, 'config' | 'encryption' | 'clock'>

export function buildConfirmationMail(
  ctx: ConfirmationContext,
  form: SubscribeForm,
  sender: ConfirmationSender,
  request: SubscriptionRequest,
): Submission {
  const now = ctx.clock.now()
  const name = headerText(form.name)
  const link = `${ctx.config.subscribeBaseUrl}/s/confirm/${createConfirmationToken(ctx, request)}`
  return {
    id: newId(now),
    workspaceId: form.workspaceId,
    apiKeyId: null,
    domainId: sender.domainId,
    tier: 'instant',
    from: { email: `no-reply@${sender.domain}`, name },
    replyTo: sender.replyTo === null ? null : { email: sender.replyTo, name: null },
    to: [{ email: request.email, name: null }],
    cc: [],
    recipients: [{ address: request.email, domain: domainOf(request.email), kind: 'to' }],
    subject: `Please confirm: ${name}`,
    ...contentOf(name, link),
    headers: [['Auto-Submitted', 'auto-generated']],
    attachments: [],
    tags: ['double-opt-in'],
    metadata: { audience_id: form.audienceId },
    trackOpens: false,
    trackClicks: false,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: new Date(now),
    quota: null,
    idempotency: null,
  }
}

/** One line of visible characters, for a header. */
function headerText(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || 'our list'
}

function domainOf(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('the subscription request has an invalid address')
  return parsed.address.domain
}

function contentOf(name: string, link: string): { readonly html: string; readonly text: string } {
  const intro = `You, or somebody in your name, asked to be subscribed to “${name}”.`
  const footer =
    'If it was not you, do nothing: without your confirmation nothing is stored. The link works for 7 days.'
  return {
    text: `${intro}\n\nTo confirm, open this address and press the button there:\n\n${link}\n\n${footer}\n`,
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Please confirm</title></head>',
      '<body style="font-family:sans-serif;font-size:16px;line-height:1.5">',
      `<p>${escapeHtml(intro)}</p>`,
      `<p><a href="${escapeHtml(link)}" style="font-weight:bold">Confirm the subscription</a></p>`,
      `<p>${escapeHtml(footer)}</p>`,
      '</body></html>',
    ].join('\n'),
  }
}
