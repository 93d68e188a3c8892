/**
 * Where a person comes back to after the sign-in at an OAuth provider: `accounts.ts` sent them there. A page for them, or JSON for a program;
 * what the provider said is shown as text and never followed.
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/errors.ts'
import { createOutgoing } from '#src/outgoing.ts'
import type { Account } from '#src/providers/accounts.ts'
import { CALLBACK_PATH, finishSignIn } from '#src/providers/sign-in.ts'
import { html, page } from '#api/pages/page.ts'
import { route, type Answer, type AnyRoute } from '#api/route.ts'
import { enveloped } from '#api/shapes.ts'
import { accountShape, presentAccount } from './account-view.ts'

const said = z.string().max(8192, 'is too long').optional()

const callback = route({
  name: 'oauth-callback', summary: 'Where the owner of a mailbox comes back to after the sign-in at the provider',
  method: 'GET', paths: [CALLBACK_PATH], atRoot: true, access: 'public', status: 200,
  query: z.object({ state: said, code: said, error: said, error_description: said }),
  answer: enveloped(accountShape), produces: ['text/html'], errors: ['VALIDATION_ERROR', 'CONFLICT'],
  refusalPage: (_, refusal) => Promise.resolve(refusedPage(refusal)),
  handle: async (ctx, { query: { state = '', code, error, error_description: description }, wantsPage }) => {
    const outgoing = createOutgoing(ctx.config)
    const returned = { state, code: code ?? null, error: [error, description].filter((part) => part !== undefined).join(': ').slice(0, 300) }
    const signedIn = await finishSignIn(ctx, { providers: ctx.oauthProviders, outgoing }, returned).finally(() => outgoing.close())
    if (signedIn.kind === 'bad-state') return refuse('CONFLICT', 'This sign-in was not begun here, is over, or was used already. Begin again.')
    if (signedIn.kind === 'failed') return refuse('CONFLICT', signedIn.reason)
    return wantsPage ? connectedPage(signedIn.account) : { body: { success: true, message: 'The mailbox is connected.', data: presentAccount(signedIn.account) } }
  },
})

export const OAUTH_ROUTES: readonly AnyRoute[] = [callback]

function connectedPage({ username }: Account): Answer {
  return page('Mailbox connected', html`<h1>Mailbox connected</h1><p>${username} is connected. You may close this page.</p>`)
}

function refusedPage({ message }: Refusal): Answer {
  return page('Not connected', html`<h1>The mailbox is not connected</h1><p>${message}</p>`)
}
