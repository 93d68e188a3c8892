/** Code for the sites of the customer: a link, a form without script, and a request by a program. */

export type EmbedKind = 'link' | 'form' | 'fetch'

/** The name is text of the customer; it must not end the markup that it stands in. */
function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

const WRITERS: Readonly<Record<EmbedKind, (url: string, name: string) => string>> = {
  link: (url, name) => `<a href="${escapeHtml(url)}">Subscribe to ${escapeHtml(name)}</a>`,
  form: (url, name) =>
    `<form method="post" action="${escapeHtml(url)}">
  <h2>Subscribe to ${escapeHtml(name)}</h2>
  <label>Email address <input type="email" name="email" autocomplete="email" required></label>
  <label>First name <input type="text" name="first_name" autocomplete="given-name"></label>
  <label>Last name <input type="text" name="last_name" autocomplete="family-name"></label>
  <input type="text" name="homepage" tabindex="-1" autocomplete="off" hidden>
  <button type="submit">Subscribe</button>
</form>`,
  fetch: (url) =>
    `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
  body: JSON.stringify({ email, first_name: firstName }),
})
const { success, message, data } = await response.json()
// success && data.confirmation_required: a mail with a link was sent`,
}

export function embedCode(kind: EmbedKind, url: string, name: string): string {
  return WRITERS[kind](url, name)
}
