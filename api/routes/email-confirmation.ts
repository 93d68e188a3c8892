/**
 * The link that confirms a new email address. A browser gets pages without scripts, a program JSON. Opening the link
 * changes nothing; the person who confirms must be signed in as the user who asked for the change, so that a link that
 * reached a stranger is worth nothing, and neither is a stolen session without the mailbox.
 */
import { z } from 'zod'
import { buildChangedMail, findAccountSender } from '#src/people/account-mail.ts'
import { confirmEmailChange, findEmailChange } from '#src/people/email-changes.ts'
import { CONFIRM_EMAIL_PATH } from '#src/people/one-time-links.ts'
import { refuse } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { byToken, limitLinks } from '#api/http/one-time-links.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { findPerson } from '#api/http/session-access.ts'
import { confirmEmailPage, emailConfirmedPage, refusedLinkPage } from '#api/pages/one-time-page.ts'
import { FOREIGN_LOGIN, userActor } from './login-completion.ts'

const INVALID_LINK = refuse('NOT_FOUND', 'This link was used or is too old. Call start-email-change again.')
const NOT_SIGNED_IN = refuse('UNAUTHORIZED', 'Sign in as the user who changes the address, then open this link again.')
const TAKEN = refuse('CONFLICT', 'Another user has this address. Use another one with start-email-change.')

const answer = envelope(z.object({ email: z.string() }))

const show = route({
  name: 'show-email-confirmation',
  summary: 'Show which email address a link confirms; changes nothing',
  method: 'GET',
  paths: [`${CONFIRM_EMAIL_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  response: answer,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLinkPage(refusal)),
  handle: async (ctx, { params: { token }, address, wantsPage }) => {
    const refusal = await limitLinks(ctx, address)
    if (refusal !== null) return refusal
    const found = await findEmailChange(ctx.db, token)
    if (found === null) return INVALID_LINK
    if (wantsPage) return confirmEmailPage(found.email)
    return { body: { success: true, message: 'Post here to confirm the address.', data: { email: found.email } } }
  },
})

const confirm = route({
  name: 'confirm-email',
  summary: 'Confirm your new email address by its link, while you are signed in; your other sessions end',
  method: 'POST',
  paths: [`${CONFIRM_EMAIL_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  accepts: ['json', 'form'],
  status: 200,
  response: answer,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'UNAUTHORIZED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  refusalPage: async (ctx, refusal, given) => {
    const found = refusal.error === 'UNAUTHORIZED' ? await findEmailChange(ctx.db, given.params['token'] ?? '') : null
    return found === null ? refusedLinkPage(refusal) : confirmEmailPage(found.email, refusal.message)
  },
  handle: async (ctx, { id, params: { token }, headers, address, wantsPage }) => {
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const limited = await limitLinks(ctx, address)
    if (limited !== null) return limited
    const person = await findPerson(ctx, { method: 'POST', headers })
    const found = await findEmailChange(ctx.db, token)
    if (found === null) return INVALID_LINK
    if (person === null || person.userId !== found.userId) return NOT_SIGNED_IN
    const db = ctx.db.attributedTo(userActor('confirm-email', person.userId, { address, id }))
    const result = await confirmEmailChange(db, token, person)
    if (result.kind === 'invalid') return INVALID_LINK
    if (result.kind === 'taken') return TAKEN
    await reportChange(ctx, person.userId, result.before)
    if (wantsPage) return emailConfirmedPage(result.email)
    return { body: { success: true, message: 'Your address is changed.', data: { email: result.email } } }
  },
})

/** To the address before. */
async function reportChange(ctx: ApiContext, userId: string, before: string): Promise<void> {
  const sender = await findAccountSender(ctx, userId)
  if (sender !== null) await ctx.acceptor.accept(buildChangedMail(ctx, sender, { email: before }))
}

export const EMAIL_CONFIRMATION_ROUTES: readonly AnyRoute[] = [show, confirm]
