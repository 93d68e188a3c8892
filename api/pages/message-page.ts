/** Pages with one title and one sentence, such as those of invalid and expired links. */
import type { Look } from '#src/branding/branding.ts'
import type { Refusal } from '#src/platform/errors.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html } from '#api/http/html.ts'
import { page } from './page.ts'
import { TEXTS } from './texts.ts'

/** The error page of the links in a mail. */
export function invalidLinkPage({ error }: Refusal): ApiResponse {
  const { title, text } =
    error === 'NOT_FOUND' ? TEXTS.invalidLink : error === 'RATE_LIMITED' ? TEXTS.rateLimited : TEXTS.serverError
  return messagePage(title, text)
}

/** For links of a closed sender, and those that the operator blocked. */
export function closedLinkPage(): ApiResponse {
  return messagePage(TEXTS.closedLink.title, TEXTS.closedLink.text)
}

/** For "view in browser" links of mail whose content is no longer stored. */
export function mailGonePage(): ApiResponse {
  return messagePage(TEXTS.mailGone.title, TEXTS.mailGone.text)
}

export function messagePage(title: string, text: string, look?: Look): ApiResponse {
  return page(
    title,
    html`<h1>${title}</h1>
<p>${text}</p>`,
    look === undefined ? {} : { look },
  )
}
