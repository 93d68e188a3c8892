/**
 * The message with the link of an invitation, from the oldest verified domain of the workspace. It repeats the names of
 * workspace and member as text, without control characters.
 */
import type { Context } from '#src/context.ts'
import type { Submission } from '#src/messages/submission.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { buildLinkMail, oneLine, type LinkMailSender } from './link-mail.ts'
import type { MemberRole } from './roles.ts'

export interface InvitationSender extends LinkMailSender {
  readonly workspaceName: string
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
  ctx: Pick<Context, 'clock'>,
  sender: InvitationSender,
  { email, role, link, by }: InvitationMail,
): Submission {
  const workspace = oneLine(sender.workspaceName, 'a workspace')
  const inviter = oneLine(by.name, 'a workspace')
  return buildLinkMail(ctx, sender, {
    email,
    fromName: workspace,
    subject: `Invitation to ${workspace}`,
    tag: 'invitation',
    intro: `${inviter} (${by.email}) invites you to the workspace “${workspace}” as ${role}.`,
    link: { lead: 'To join, open this address:', label: 'Join the workspace', url: link },
    footer: 'The link works once, for 7 days. If you did not expect it, do nothing.',
  })
}
