/**
 * Resolves `body` (HTML or text, detected or declared by `is_html`), `html` and `text` to one HTML and one text part.
 */
import { isHtml } from '#src/mail/html-detection.ts'

export interface MessageParts {
  readonly html: string | null
  readonly text: string | null
}

/** Assigns `body` to its part. The client's `is_html` overrides the detection. */
function assignPart(body: string, isHtmlByClient: boolean | null): MessageParts {
  return (isHtmlByClient ?? isHtml(body)) ? { html: body, text: null } : { html: null, text: body }
}

export type ResolvedContent =
  | { readonly ok: true; readonly content: MessageParts }
  | { readonly ok: false; readonly path: 'html' | 'text'; readonly reason: string }

/** `body` fills the HTML or the text part. A different `html` or `text` for the same part is an error. */
export function resolveContent(
  given: MessageParts & { readonly body: string | null; readonly isHtml: boolean | null },
): ResolvedContent {
  const fromBody = given.body === null ? { html: null, text: null } : assignPart(given.body, given.isHtml)
  for (const part of ['html', 'text'] as const)
    if (fromBody[part] !== null && given[part] !== null && fromBody[part] !== given[part])
      return { ok: false, path: part, reason: `contradicts body, which is ${part} too` }
  return { ok: true, content: { html: fromBody.html ?? given.html, text: fromBody.text ?? given.text } }
}
