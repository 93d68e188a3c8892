/**
 * The message with the link of an invitation. It is sent like any mail of the workspace, with tier instant, from its
 * oldest verified domain, and is not tracked: a click counter would see the link. It repeats the names of workspace and
 * member as text, without control characters. It is confidential: nobody of the workspace reads the link, since it may
 * give more rights than they have.
 */
import type { Context } from '#src/context.ts'
import { parseAddress } from '#src/mail/address.ts'
import { escapeHtml } from '#src/mail/html-escape.ts'
import type { Submission } from '#src/messages/submission.ts'
import { newId } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { MemberRole } from './roles.ts'

export interface InvitationSender {
  readonly workspaceId: string
  readonly workspaceName: string
  readonly domainId: string
  readonly domain: string
}

/** Null if the workspace cannot send: it has no verified domain. */
export async function findInvitationSender(db: Queryable, workspaceId: string): Promise<InvitationSender | null> {
  const { rows } = await db.query<InvitationSender>(
    sql`
      SELECT w.id AS "workspaceId", w.name AS "workspaceName", d.id AS "domainId", d.domain
      FROM domains d
      JOIN workspaces w ON w.id = d.workspace_id
      WHERE d.workspace_id = $1 AND d.verification_status IN ('verified', 'degraded')
      ORDER BY d.verified_at, d.id
      LIMIT 1
    `,
    [workspaceId],
  )
  return rows[0] ?? null
}

export interface InvitationMail {
  /** Validated, in lower case. */
  readonly email: string
  readonly role: MemberRole
  readonly link: string
  readonly by: { readonly name: string; readonly email: string }
}

export function buildInvitationMail(
  { clock }: Pick<Context, 'clock'>,
  sender: InvitationSender,
  { email, role, link, by }: InvitationMail,
): Submission {
  const now = clock.now()
  const workspace = oneLine(sender.workspaceName)
  return {
    id: newId(now),
    workspaceId: sender.workspaceId,
    apiKeyId: null,
    domainId: sender.domainId,
    tier: 'instant',
    from: { email: `no-reply@${sender.domain}`, name: workspace },
    replyTo: null,
    to: [{ email, name: null }],
    cc: [],
    recipients: [{ address: email, domain: domainOf(email), kind: 'to' }],
    subject: `Invitation to ${workspace}`,
    ...contentOf(`${oneLine(by.name)} (${by.email}) invites you to the workspace “${workspace}” as ${role}.`, link),
    headers: [['Auto-Submitted', 'auto-generated']],
    attachments: [],
    isConfidential: true,
    tags: ['invitation'],
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

function oneLine(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || 'a workspace'
}

function domainOf(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('the invitation has an invalid address')
  return parsed.address.domain
}

function contentOf(intro: string, link: string): { readonly html: string; readonly text: string } {
  const footer = 'The link works once, for 7 days. If you did not expect it, do nothing.'
  return {
    text: `${intro}\n\nTo join, open this address:\n\n${link}\n\n${footer}\n`,
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Invitation</title></head>',
      '<body style="font-family:sans-serif;font-size:16px;line-height:1.5">',
      `<p>${escapeHtml(intro)}</p>`,
      `<p><a href="${escapeHtml(link)}" style="font-weight:bold">Join the workspace</a></p>`,
      `<p>${escapeHtml(footer)}</p>`,
      '</body></html>',
    ].join('\n'),
  }
}
