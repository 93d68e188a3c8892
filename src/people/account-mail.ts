/**
 * Messages to a user about their account: the link for a forgotten password, the confirmation of a new address, and the
 * report to the address before. The service has no domain of its own, so they are sent from a workspace: the oldest
 * verified domain of a workspace that an operator owns, else of a workspace of the user (decision 103). Without one,
 * and in the sandbox, whose mail all members read, no such mail can be sent, and an operator helps.
 */
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import type { Submission } from '#src/messages/submission.ts'
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { buildLinkMail, type LinkMailSender } from './link-mail.ts'
import { RESET_MINUTES_BY_MAIL } from './password-resets.ts'

type MailContext = Pick<Context, 'clock'> & { readonly config: Pick<Config, 'publicUrl'> }

const SENDERS = sql`
  SELECT w.id AS "workspaceId", d.id AS "domainId", d.domain
  FROM domains d
  JOIN workspaces w ON w.id = d.workspace_id
  CROSS JOIN LATERAL (
    SELECT bool_or(m.role = 'owner' AND u.is_operator AND u.disabled_at IS NULL) AS "isOfOperator",
      bool_or(m.user_id = $1) AS "isOwn"
    FROM workspace_members m
    JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = w.id
  ) m
  WHERE d.verification_status IN ('verified', 'degraded')
    AND NOT ${suspendedEntirely('w.id')}
    AND (m."isOfOperator" OR m."isOwn")
  ORDER BY m."isOfOperator" DESC, d.verified_at, d.id
  LIMIT 1
`

/** Null if no mail can be sent to the user. */
export async function findAccountSender(
  { db, config }: { readonly db: Queryable; readonly config: Pick<Config, 'isSandbox'> },
  userId: string,
): Promise<LinkMailSender | null> {
  if (config.isSandbox) return null
  const { rows } = await db.query<LinkMailSender>(SENDERS, [userId])
  return rows[0] ?? null
}

/** Whether this service sends mail to some users at all: the form for a forgotten password is of use then. */
export async function maySendAccountMail({
  db,
  config,
}: {
  readonly db: Queryable
  readonly config: Pick<Config, 'isSandbox'>
}): Promise<boolean> {
  if (config.isSandbox) return false
  const { rows } = await db.query<{ has: boolean }>(
    `SELECT EXISTS (SELECT FROM domains WHERE verification_status IN ('verified', 'degraded')) AS has`,
  )
  return rows[0]?.has === true
}

function nameOf({ config }: MailContext): string {
  return new URL(config.publicUrl).host
}

export function buildResetMail(
  ctx: MailContext,
  sender: LinkMailSender,
  to: { email: string; link: string },
): Submission {
  return buildLinkMail(ctx, sender, {
    email: to.email,
    fromName: nameOf(ctx),
    subject: `New password for ${nameOf(ctx)}`,
    tag: 'account',
    intro: `Somebody, probably you, asked for a new password of the account ${to.email} at ${nameOf(ctx)}.`,
    link: { lead: 'To choose it, open this address:', label: 'Choose a new password', url: to.link },
    footer:
      `The link works once, until it is ${RESET_MINUTES_BY_MAIL} minutes old. ` +
      'If you did not ask for it, do nothing: your password is unchanged.',
  })
}

export function buildConfirmationMail(
  ctx: MailContext,
  sender: LinkMailSender,
  to: { email: string; link: string },
): Submission {
  return buildLinkMail(ctx, sender, {
    email: to.email,
    fromName: nameOf(ctx),
    subject: `Confirm your address for ${nameOf(ctx)}`,
    tag: 'account',
    intro: `Confirm that ${to.email} is the address of your account at ${nameOf(ctx)}.`,
    link: { lead: 'Sign in, then open this address:', label: 'Confirm the address', url: to.link },
    footer: 'The link works once, for a day. If you have no account there, do nothing.',
  })
}

/** To the address before, which can be that of somebody whose session was stolen. */
export function buildChangedMail(ctx: MailContext, sender: LinkMailSender, to: { email: string }): Submission {
  return buildLinkMail(ctx, sender, {
    email: to.email,
    fromName: nameOf(ctx),
    subject: `Your address for ${nameOf(ctx)} was changed`,
    tag: 'account',
    intro: `Your account at ${nameOf(ctx)} has another email address now. You no longer sign in with ${to.email}.`,
    link: null,
    footer: 'If it was not you who changed it, ask the operator of this service at once.',
  })
}
