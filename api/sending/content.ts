/** What a message says: `body` (HTML or text, detected or told by `is_html`), `html`, `text`, folded into one HTML and one text part. */
import { isHtml } from '#src/mail/html-detection.ts'

export interface Content {
  readonly html: string | null
  readonly text: string | null
}

/** A body by its kind. `told` is what the client says of it. */
function divide(body: string, told: boolean | null): Content {
  return (told ?? isHtml(body)) ? { html: body, text: null } : { html: null, text: body }
}

export type FoldedContent =
  | { readonly ok: true; readonly content: Content }
  | { readonly ok: false; readonly path: 'html' | 'text'; readonly reason: string }

/** `body` fills the part of its kind; where `html` or `text` says something else for the same part, the message is contradictory. */
export function foldContent(
  given: Content & { readonly body: string | null; readonly isHtml: boolean | null },
): FoldedContent {
  const divided = given.body === null ? { html: null, text: null } : divide(given.body, given.isHtml)
  for (const part of ['html', 'text'] as const)
    if (divided[part] !== null && given[part] !== null && divided[part] !== given[part])
      return { ok: false, path: part, reason: `contradicts body, which is ${part} too` }
  return { ok: true, content: { html: divided.html ?? given.html, text: divided.text ?? given.text } }
}
