/**
 * The letter that asks somebody to confirm, sent like any mail of the workspace: tier instant, from its oldest domain that may send. It
 * says nothing that whoever filled in the form has written: a form that repeats texts to strangers would be a way to send spam.
 * It counts in the month's usage of the workspace, but is never refused for it: a form must not stop because a newsletter went out.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { escapeHtml } from '#src/mail/html-escape.ts'
import type { Submission } from '#src/messages/submission.ts'
import { sql } from '#src/stores/sql.ts'
import type { SubscribeForm } from './form.ts'
import { makeProof, type Wish } from './confirmation-token.ts'

export interface Sender {
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

/** Null when the workspace has no domain that may send: then nobody can confirm. */
export async function findSender(db: Queryable, workspaceId: string): Promise<Sender | null> {
  const { rows } = await db.query<Sender>(SENDER, [workspaceId])
  return rows[0] ?? null
}

type Writing = Pick<Context, 'config' | 'vault' | 'clock'>

export function confirmationLetter(ctx: Writing, form: SubscribeForm, sender: Sender, wish: Wish): Submission {
  const now = ctx.clock.now()
  const name = plainName(form.name)
  const link = `${ctx.config.subscribeBaseUrl}/s/confirm/${makeProof(ctx, wish)}`
  return {
    id: newId(now),
    workspaceId: form.workspaceId,
    apiKeyId: null,
    domainId: sender.domainId,
    tier: 'instant',
    from: { email: `no-reply@${sender.domain}`, name },
    replyTo: sender.replyTo === null ? null : { email: sender.replyTo, name: null },
    to: [{ email: wish.email, name: null }],
    cc: [],
    recipients: [{ address: wish.email, domain: domainOf(wish.email), kind: 'to' }],
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

/** One line without what cannot be seen, as a header wants it. */
function plainName(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || 'our list'
}

function domainOf(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('a wish was made for what is no address')
  return parsed.address.domain
}

function contentOf(name: string, link: string): { readonly html: string; readonly text: string } {
  const asked = `You, or somebody in your name, asked to be subscribed to “${name}”.`
  const ignore =
    'If it was not you, do nothing: without your confirmation nothing is stored. The link works for 7 days.'
  return {
    text: `${asked}\n\nTo confirm, open this address and press the button there:\n\n${link}\n\n${ignore}\n`,
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Please confirm</title></head>',
      '<body style="font-family:sans-serif;font-size:16px;line-height:1.5">',
      `<p>${escapeHtml(asked)}</p>`,
      `<p><a href="${escapeHtml(link)}" style="font-weight:bold">Confirm the subscription</a></p>`,
      `<p>${escapeHtml(ignore)}</p>`,
      '</body></html>',
    ].join('\n'),
  }
}
