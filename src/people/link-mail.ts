/**
 * Messages with a link that gives access, such as an invitation. They are sent like any mail of a workspace, with tier
 * instant, and are not tracked: a click counter would see the link. They are confidential: nobody of the workspace
 * reads the link, since it may give more rights than they have.
 */
import type { Context } from '#src/context.ts'
import { parseAddress } from '#src/mail/address.ts'
import { escapeHtml } from '#src/mail/html-escape.ts'
import type { Submission } from '#src/messages/submission.ts'
import { newId } from '#src/platform/id.ts'

export interface LinkMailSender {
  readonly workspaceId: string
  readonly domainId: string
  readonly domain: string
}

export interface LinkMail {
  /** Validated, in lower case. */
  readonly email: string
  /** Of the sender, as people see it. */
  readonly fromName: string
  readonly subject: string
  readonly tag: string
  readonly intro: string
  /** Null: the message only reports something. */
  readonly link: { readonly lead: string; readonly label: string; readonly url: string } | null
  readonly footer: string
}

export function buildLinkMail(
  { clock }: Pick<Context, 'clock'>,
  { workspaceId, domainId, domain }: LinkMailSender,
  mail: LinkMail,
): Submission {
  const now = clock.now()
  const { email, subject } = mail
  return {
    id: newId(now),
    workspaceId,
    apiKeyId: null,
    domainId,
    tier: 'instant',
    from: { email: `no-reply@${domain}`, name: mail.fromName },
    replyTo: null,
    to: [{ email, name: null }],
    cc: [],
    recipients: [{ address: email, domain: domainOf(email), kind: 'to' }],
    subject,
    ...contentOf(mail),
    headers: [['Auto-Submitted', 'auto-generated']],
    attachments: [],
    isConfidential: true,
    tags: [mail.tag],
    metadata: {},
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

/** A name as text of one line, without control characters. */
export function oneLine(name: string, otherwise: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || otherwise
}

function domainOf(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('a message with a link has an invalid address')
  return parsed.address.domain
}

function contentOf({ subject, intro, link, footer }: LinkMail): { readonly html: string; readonly text: string } {
  const written = link === null ? '' : `${link.lead}\n\n${link.url}\n\n`
  const linked =
    link === null
      ? []
      : [`<p><a href="${escapeHtml(link.url)}" style="font-weight:bold">${escapeHtml(link.label)}</a></p>`]
  return {
    text: `${intro}\n\n${written}${footer}\n`,
    html: [
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
      '<body style="font-family:sans-serif;font-size:16px;line-height:1.5">',
      `<p>${escapeHtml(intro)}</p>`,
      ...linked,
      `<p>${escapeHtml(footer)}</p>`,
      '</body></html>',
    ].join('\n'),
  }
}
