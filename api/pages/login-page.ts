/** The pages that a browser sees when it comes back from an identity provider. */
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
