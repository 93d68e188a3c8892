/** Pages behind the links of a mail that are neither forms nor mails: what is not there. */
import type { Refusal } from '#src/platform/errors.ts'
import type { Answer } from '#api/http/route.ts'
import { html, page } from './page.ts'
import { TEXTS } from './texts.ts'

/** For a link that leads nowhere. */
export function noLinkPage({ error }: Refusal): Answer {
  const { title, text } = error === 'NOT_FOUND' ? TEXTS.noLink : error === 'RATE_LIMITED' ? TEXTS.tooOften : TEXTS.fault
  return messagePage(title, text)
}

/** For a mail that nobody can be shown any more. */
export function noMailPage(): Answer {
  return messagePage(TEXTS.noMail.title, TEXTS.noMail.text)
}

export function messagePage(title: string, text: string): Answer {
  return page(
    title,
    html`<h1>${title}</h1>
<p>${text}</p>`,
  )
}
