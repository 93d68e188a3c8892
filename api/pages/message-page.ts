/** Pages behind the links of a mail that are neither forms nor mails: what is not there. */
import type { Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html, page } from './page.ts'
import { TEXTS } from './texts.ts'

/** For a link that leads nowhere. */
export function invalidLinkPage({ error }: Refusal): ApiResponse {
  const { title, text } = error === 'NOT_FOUND' ? TEXTS.invalidLink : error === 'RATE_LIMITED' ? TEXTS.rateLimited : TEXTS.serverError
  return messagePage(title, text)
}

/** For a mail that nobody can be shown any more. */
export function mailGonePage(): ApiResponse {
  return messagePage(TEXTS.mailGone.title, TEXTS.mailGone.text)
}

export function messagePage(title: string, text: string): ApiResponse {
  return page(
    title,
    html`<h1>${title}</h1>
<p>${text}</p>`,
  )
}
