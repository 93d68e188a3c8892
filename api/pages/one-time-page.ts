/** The pages behind links that work once: joining with an invitation, a new password, a new email address. */
import { MAX_PASSWORD, MIN_PASSWORD } from '#src/people/passwords.ts'
import type { Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html, type Markup } from '#api/http/html.ts'
import { formPage, page } from './page.ts'

export interface JoinPage {
  /** Null: the first operator, who chooses it. */
  readonly email: string | null
  readonly workspace: string | null
  readonly role: string | null
  readonly isOperator: boolean
  /** They have an account: they need no password here. */
  readonly isKnown: boolean
  /** With which the person can join instead of a password. */
  readonly providers: readonly { readonly name: string; readonly label: string }[]
  /** Of the link. */
  readonly token: string
}

/** `problem` is what was wrong with the form that was sent. */
export function joinPage(invitation: JoinPage, problem: string | null = null): ApiResponse {
  const { email, isKnown } = invitation
  const fields = isKnown ? null : html`${email === null ? emailField() : null}${nameField()}${passwordField()}`
  return formPage(
    'Join',
    html`<h1>${titleOf(invitation)}</h1>
${problemBox(problem)}
${email === null ? null : html`<p>For ${email}.</p>`}
<form method="post">
${fields}
<button type="submit">${isKnown ? 'Accept' : 'Create the account'}</button>
</form>
${isKnown ? null : providerForms(invitation)}`,
  )
}

function providerForms({ providers, token }: JoinPage): Markup {
  const forms = providers.map(
    ({ name, label }) => html`<form method="post" action="/api/v1/auth/providers/${name}/login">
<input type="hidden" name="invitation" value="${token}">
<button type="submit">Join with ${label}</button>
</form>`,
  )
  return html`${forms}`
}

function titleOf({ workspace, role, isOperator }: JoinPage): string {
  const place = workspace === null ? 'this service' : `${workspace} as ${role}`
  return isOperator ? `Join ${place}, and operate this service` : `Join ${place}`
}

export function joinedPage(workspace: string | null): ApiResponse {
  return page(
    'Signed in',
    html`<h1>You are signed in</h1>
<p>You joined ${workspace ?? 'this service'}.</p>
<p><a href="/">Open the dashboard</a></p>`,
  )
}

export function resetPage(email: string, problem: string | null = null): ApiResponse {
  return formPage(
    'New password',
    html`<h1>Choose a new password</h1>
${problemBox(problem)}
<p>For ${email}. All your sessions end.</p>
<form method="post">
${passwordField()}
<button type="submit">Change the password</button>
</form>`,
  )
}

export function resetDonePage(): ApiResponse {
  return page('Password changed', html`<h1>Your password is changed</h1><p><a href="/">Sign in</a> with it now.</p>`)
}

export function confirmEmailPage(email: string, problem: string | null = null): ApiResponse {
  return formPage(
    'Confirm the address',
    html`<h1>Is this your address?</h1>
${problemBox(problem)}
<p>${email} becomes the address of your account. You sign in with it from then on.</p>
<form method="post">
<button type="submit">Confirm the address</button>
</form>`,
  )
}

export function emailConfirmedPage(email: string): ApiResponse {
  return page('Address confirmed', html`<h1>Your address is changed</h1><p>You sign in with ${email} now.</p>`)
}

interface ForwardPage {
  readonly address: string
  readonly routeAddress: string
}

export function confirmForwardPage({ address, routeAddress }: ForwardPage): ApiResponse {
  return formPage(
    'Confirm forwarding',
    html`<h1>Forward this mail to you?</h1>
<p>Mail for ${routeAddress} is to be forwarded to ${address}. If you do not want this, close the page.</p>
<form method="post">
<button type="submit">Agree</button>
</form>`,
  )
}

export function forwardConfirmedPage({ address, routeAddress }: ForwardPage): ApiResponse {
  return page(
    'Forwarding confirmed',
    html`<h1>Forwarding is confirmed</h1><p>Mail for ${routeAddress} is forwarded to ${address} from now on.</p>`,
  )
}

export function refusedLinkPage({ message }: Refusal): ApiResponse {
  return page('Not possible', html`<h1>That did not work</h1><p>${message}</p>`)
}

function problemBox(problem: string | null): Markup | null {
  return problem === null ? null : html`<div class="problems" role="alert"><p>${problem}</p></div>`
}

function emailField(): Markup {
  return html`<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required>`
}

function nameField(): Markup {
  return html`<label for="name">Name</label>
<input id="name" name="name" autocomplete="name" maxlength="100" required>`
}

function passwordField(): Markup {
  return html`<label for="password">Password, at least ${String(MIN_PASSWORD)} characters</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${String(MIN_PASSWORD)}"
 maxlength="${String(MAX_PASSWORD)}" required>`
}
