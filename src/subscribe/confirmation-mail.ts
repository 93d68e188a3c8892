/**
 * The message that asks a person to confirm a subscription. It is sent like any mail of the workspace, with tier
 * instant, from its oldest verified domain. It contains nothing that the visitor typed: a form that repeats such text
 * to strangers would be a way to send spam. It counts in the workspace's monthly usage but is never rejected for the
 * quota: a newsletter must not disable a form.
 */
import type { Look } from '#src/branding/branding.ts'
import { filled } from '#src/branding/texts.ts'
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
  { request, look }: { readonly request: SubscriptionRequest; readonly look: Look },
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
    subject: headerText(filled(look.texts['mail.subject'], { list: name })),
    ...confirmationContent(look, name, link),
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

/** The texts of the workspace are escaped, and its colours are `#rrggbb`. */
export function confirmationContent(
  { language, texts, colours, logo }: Look,
  name: string,
  link: string,
): { readonly html: string; readonly text: string } {
  const intro = filled(texts['mail.intro'], { list: name })
  const { 'mail.instruction': instruction, 'mail.button': button, 'mail.footer': footer } = texts
  const size = 'max-width:100%;max-height:80px'
  const image =
    logo === null ? [] : [`<p><img src="${escapeHtml(logo.url)}" alt="${escapeHtml(logo.alt)}" style="${size}"></p>`]
  const colour = colours.accentColor === null ? '' : `;color:${escapeHtml(colours.accentColor)}`
  const head = `<meta charset="utf-8"><title>${escapeHtml(texts['confirm.title'])}</title>`
  return {
    text: `${intro}\n\n${instruction}\n\n${link}\n\n${footer}\n`,
    html: [
      `<!doctype html><html lang="${escapeHtml(language)}"><head>${head}</head>`,
      '<body style="font-family:sans-serif;font-size:16px;line-height:1.5">',
      ...image,
      `<p>${escapeHtml(intro)}</p>`,
      `<p><a href="${escapeHtml(link)}" style="font-weight:bold${colour}">${escapeHtml(button)}</a></p>`,
      `<p>${escapeHtml(footer)}</p>`,
      '</body></html>',
    ].join('\n'),
  }
}
