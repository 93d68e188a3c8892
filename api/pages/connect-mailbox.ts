/**
 * The pages on which the owner of a mailbox connects it: before the sign-in, after it, and the result. The name of the
 * workspace is what its owner chose, so its id and a warning stand beside it.
 */
import type { Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html, type Markup } from '#api/http/html.ts'
import { page } from './page.ts'

export interface ConnectRequest {
  readonly workspace: string
  readonly workspaceId: string
  readonly provider: string
  /** The mailbox that is expected, or that signed in; null: any. */
  readonly email: string | null
  /** An account is connected again. */
  readonly isAgain: boolean
}

const NOT_CONNECTED = 'No account is connected before you confirm once more.'

/** Before the sign-in. The button leads to the provider. */
export function startPage(request: ConnectRequest): ApiResponse {
  return page(
    'Connect a mailbox',
    html`<h1>Connect a mailbox</h1>
<p>A workspace of this service asks to send email from ${request.email ?? 'your mailbox'}.</p>
${describeRequest(request)}
<p>Continue only if you know this workspace and expected this: anyone can choose any name for a workspace. You sign in
at ${request.provider} next. ${NOT_CONNECTED}</p>
<form method="post">
<button type="submit">Continue to ${request.provider}</button>
</form>`,
  )
}

/** Where the browser goes next; it goes there by itself. */
export function forwardPage(provider: string, url: string): ApiResponse {
  return page(`Continue to ${provider}`, html`<h1>Continue to ${provider}</h1><p><a href="${url}">Sign in</a></p>`)
}

export interface ConfirmRequest extends ConnectRequest {
  readonly email: string
  readonly permissions: readonly string[]
  readonly state: string
  readonly grant: string
}

/** After the sign-in. Its button stores the grant. */
export function confirmPage(request: ConfirmRequest): ApiResponse {
  const { email, workspace, permissions, state, grant } = request
  const fields = html`<input type="hidden" name="state" value="${state}">
<input type="hidden" name="grant" value="${grant}">`
  return page(
    'Confirm the connection',
    html`<h1>Let ${workspace} send as ${email}?</h1>
${describeRequest(request)}
<p>It gets these permissions, until you revoke them at ${request.provider} or the account is deleted:</p>
<ul>${permissions.map((text) => html`<li>${text}</li>`)}</ul>
<p>Nothing is connected yet.</p>
<form method="post">
${fields}
<button type="submit">Connect ${email}</button>
</form>
<form method="post">
${fields}
<input type="hidden" name="decline" value="1">
<button type="submit">Cancel</button>
</form>`,
  )
}

function describeRequest({ workspace, workspaceId, provider, email, isAgain }: ConnectRequest): Markup {
  return html`<ul>
<li>Workspace: ${workspace} (${workspaceId})</li>
<li>Mailbox: ${email ?? 'the one that you sign in with'}, at ${provider}${isAgain ? ', connected again' : ''}</li>
</ul>`
}

export function connectedPage(email: string): ApiResponse {
  return page(
    'Mailbox connected',
    html`<h1>Mailbox connected</h1><p>${email} is connected. You may close this page.</p>`,
  )
}

export function notConnectedPage({ message }: Refusal): ApiResponse {
  return page('Not connected', html`<h1>The mailbox is not connected</h1><p>${message}</p>`)
}

/** What a scope of OAuth allows. */
const SCOPES: Readonly<Record<string, string>> = {
  openid: 'know which account signed in',
  email: 'know its address',
  profile: 'know its name',
  offline_access: 'keep these permissions while you are not signed in',
  'https://mail.google.com/':
    'read, write, send and delete email in the mailbox. Google offers nothing smaller for sending by SMTP; ' +
    'this service only sends',
  'https://outlook.office.com/SMTP.Send': 'send email as this mailbox',
}

/** The permissions in words. A scope that is not known is shown as it is. */
export function describePermissions(scopes: readonly string[], email: string): string[] {
  const texts = scopes.map((scope) => (Object.hasOwn(SCOPES, scope) ? `${SCOPES[scope] ?? ''} (${scope})` : scope))
  return [`send email from ${email}, as every key of the account may`, ...texts]
}
