/** The pages that a browser sees when it comes back from an identity provider, also for the second factor. */
import type { Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html } from '#api/http/html.ts'
import { page } from './page.ts'

/** `next` is a path of this service, where the browser goes by itself. */
export function signedInPage(next: string): ApiResponse {
  return page('Signed in', html`<h1>You are signed in</h1><p><a href="${next}">Continue</a></p>`)
}

export function refusedLoginPage({ message }: Refusal): ApiResponse {
  return page('Not signed in', html`<h1>You are not signed in</h1><p>${message}</p>`)
}

export interface SecondFactorPage {
  readonly token: string
  /** A path of this service. */
  readonly next: string
}

/** For a code: a passkey needs a script. */
export function secondFactorPage({ token, next }: SecondFactorPage, problem: string | null = null): ApiResponse {
  return page(
    'Second factor',
    html`<h1>Your second factor</h1>
${problem === null ? null : html`<div class="problems" role="alert"><p>${problem}</p></div>`}
<form method="post" action="/api/v1/auth/login/second-factor">
<input type="hidden" name="login_token" value="${token}">
<input type="hidden" name="return_to" value="${next}">
<label for="code">Code of your authenticator app, or a recovery code</label>
<input id="code" name="code" autocomplete="one-time-code" required maxlength="40">
<button type="submit">Sign in</button>
</form>`,
  )
}
