/**
 * Mails a link for a new password to a user who asks for it. The person who asks learns nothing: not whether the
 * address has an account, not by the time of the answer either, since the work begins after it. Only users with a
 * password get a link: who signs in at an identity provider gets no password that the provider does not know of. The
 * process dies between answer and mail: no mail comes, and the user asks again.
 */
import { hash } from 'node:crypto'
import type { Context } from '#src/context.ts'
import type { Submission } from '#src/messages/submission.ts'
import { networkOf } from '#src/net/address-policy.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { Actor } from '#src/stores/audit.ts'
import { sql } from '#src/stores/sql.ts'
import { buildResetMail, findAccountSender } from './account-mail.ts'
import { resetLink } from './one-time-links.ts'
import { createMailedReset } from './password-resets.ts'

/** Requests of one network. */
const NETWORK_LIMIT: AttemptLimit = { max: 20, windowMs: 600_000 }
/** Messages to one user: more are no help, and would fill a mailbox. */
const USER_LIMIT: AttemptLimit = { max: 3, windowMs: 3_600_000 }

export type ForgottenDeps = Pick<Context, 'db' | 'config' | 'clock' | 'log'> & {
  readonly attempts: AttemptLimiter
  readonly acceptor: { accept(submission: Submission): Promise<unknown> }
}

export interface ForgottenPassword {
  /** As it was typed. */
  readonly email: string
  readonly address: string
  readonly actorOf: (userId: string) => Actor
}

/** The seconds to wait; null if the request is accepted. Its mail follows. */
export async function requestReset(deps: ForgottenDeps, request: ForgottenPassword): Promise<number | null> {
  const wait = await deps.attempts.consume(`forgot network ${networkOf(request.address)}`, NETWORK_LIMIT)
  if (wait !== null) return wait
  mailReset(deps, request).catch((error: unknown) => {
    deps.log.error({ err: error }, 'a link for a forgotten password was not sent; the user may ask again')
  })
  return null
}

const FIND = sql`
  SELECT u.id, u.email
  FROM users u
  JOIN login_methods l ON l.user_id = u.id AND l.kind = 'password'
  WHERE u.email = lower($1) AND u.disabled_at IS NULL
`

async function mailReset(deps: ForgottenDeps, { email, actorOf }: ForgottenPassword): Promise<void> {
  const { db, config, attempts, acceptor } = deps
  const {
    rows: [user],
  } = await db.query<{ id: string; email: string }>(FIND, [email])
  if (user === undefined) return
  const sender = await findAccountSender({ db, config }, user.id)
  if (sender === null) return
  const name = `forgot user ${hash('sha256', user.email, 'hex').slice(0, 32)}`
  if ((await attempts.consume(name, USER_LIMIT)) !== null) return
  const { token } = await db.attributedTo(actorOf(user.id)).transaction((tx) => createMailedReset(tx, user.id))
  await acceptor.accept(buildResetMail(deps, sender, { email: user.email, link: resetLink(config, token) }))
}
