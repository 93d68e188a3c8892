/**
 * What people change of their own account: name and email address, a forgotten password, and its end. A new address is
 * used once its owner has confirmed it (`email-confirmation.ts`).
 */
import { z } from 'zod'
import { buildConfirmationMail, findAccountSender } from '#src/people/account-mail.ts'
import { startEmailChange } from '#src/people/email-changes.ts'
import { requestReset } from '#src/people/forgotten-password.ts'
import { isRecentLogin } from '#src/people/login-methods.ts'
import { confirmEmailLink } from '#src/people/one-time-links.ts'
import { deleteUser, renameUser } from '#src/people/users.ts'
import { rateLimited, refuse } from '#src/platform/errors.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { sessionCookie } from '#api/http/session-cookie.ts'
import { FOREIGN_LOGIN, userActor } from './login-completion.ts'
import { NOT_RECENT } from './login-methods.ts'
import { loginEmail, personName, userEmail } from './person-fields.ts'

/** Of one user. */
const NEW_ADDRESSES = { max: 5, windowMs: 24 * 3_600_000 }
const NO_MAIL = refuse(
  'CONFLICT',
  'This service cannot send mail to confirm the address. Ask an operator to change it with admin-change-user.',
)
const LAST_OPERATOR = refuse('CONFLICT', 'You are the last operator. Create another one with admin-invite-user first.')
const LAST_OWNER = refuse(
  'CONFLICT',
  'You are the last owner of a workspace. Give another member the role owner with change-member first.',
)

const changeMe = route({
  name: 'change-me',
  summary: 'Change your name, as other members see it',
  method: 'PATCH',
  paths: ['/auth/me'],
  access: 'person',
  body: z.object({ name: personName }).meta({ examples: [{ name: 'Anna Berg' }] }),
  status: 200,
  response: envelope(z.object({ id: z.uuid(), email: z.string(), name: z.string() })).meta({ id: 'ChangeMeAnswer' }),
  errors: [],
  handle: async (ctx, { person, body: { name } }) => {
    await renameUser(ctx.db, person.userId, name)
    const data = { id: person.userId, email: person.email, name }
    return { body: { success: true, message: 'Your name is changed.', data } }
  },
})

const changeEmail = route({
  name: 'start-email-change',
  summary: 'Change your email address: its owner gets a link to confirm it, which works once within a day',
  description:
    'Needs a login within the last 15 minutes, and a service that can send mail. An address that has an account gets ' +
    'no mail; the answer is the same.',
  method: 'POST',
  paths: ['/auth/email'],
  access: 'person',
  body: z.object({ email: userEmail }).meta({ examples: [{ email: 'anna@example.org' }] }),
  status: 200,
  response: plainResponse,
  errors: ['FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  handle: async (ctx, { person, body: { email } }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    const sender = await findAccountSender(ctx, person.userId)
    if (sender === null) return NO_MAIL
    const wait = await ctx.attempts.consume(`new address ${person.userId}`, NEW_ADDRESSES)
    if (wait !== null)
      return rateLimited('client_rate', `At most ${NEW_ADDRESSES.max} new addresses a day. Wait ${wait} s.`, wait)
    const token = await startEmailChange(ctx.db, person.userId, email)
    if (token !== null) {
      const link = confirmEmailLink(ctx.config, token)
      await ctx.acceptor.accept(buildConfirmationMail(ctx, sender, { email, link }))
    }
    return { body: { success: true, message: `Open the link that was sent to ${email}, while you are signed in.` } }
  },
})

const forgot = route({
  name: 'forgot-password',
  summary: 'Get a link for a new password by email, which works once within an hour',
  description:
    'The answer is the same for every address. A link is sent to a user with a password if the service can send ' +
    'mail: not in the sandbox, and not without a verified domain of an operator or of a workspace of the user.',
  method: 'POST',
  paths: ['/auth/forgot-password'],
  access: 'public',
  body: z.object({ email: loginEmail }).meta({ id: 'ForgotPasswordBody', examples: [{ email: 'anna@example.org' }] }),
  status: 200,
  response: plainResponse,
  errors: ['FORBIDDEN', 'RATE_LIMITED'],
  handle: async (ctx, { id, body: { email }, headers, address }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const actorOf = (userId: string): ReturnType<typeof userActor> =>
      userActor('forgot-password', userId, { address, id })
    const wait = await requestReset(ctx, { email, address, actorOf })
    if (wait !== null) return rateLimited('client_rate', `Too many requests for passwords. Wait ${wait} s.`, wait)
    const message =
      'If the address has an account with a password, a link is on its way. If none comes, ask the operator.'
    return { body: { success: true, message } }
  },
})

const deleteMe = route({
  name: 'delete-me',
  summary: 'Delete your account with everything that is stored about you; the audit log keeps its id',
  description: 'Needs a login within the last 15 minutes. The last owner of a workspace and the last operator stay.',
  method: 'DELETE',
  paths: ['/auth/me'],
  access: 'person',
  status: 200,
  response: plainResponse,
  errors: ['FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { person }) => {
    if (!isRecentLogin(person, ctx.clock.now())) return NOT_RECENT
    const result = await deleteUser(ctx.db, person.userId)
    if (result === 'last-operator') return LAST_OPERATOR
    if (result === 'last-owner') return LAST_OWNER
    return { headers: sessionCookie(ctx.config, ''), body: { success: true, message: 'Your account is deleted.' } }
  },
})

export const OWN_ACCOUNT_ROUTES: readonly AnyRoute[] = [changeMe, changeEmail, forgot, deleteMe]
