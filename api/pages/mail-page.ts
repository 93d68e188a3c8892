/**
 * The page of a "view in browser" link. The HTML comes from a customer, so the page is sandboxed: no scripts, no forms,
 * no plugins, no refresh to another page, and an opaque origin of its own even where it shares a host name with the
 * API. Images, styles and links work and send no referrer.
 */
import type { ApiResponse } from '#api/http/route.ts'
import type { ViewedMail } from '#api/http/mail-view.ts'
import { html } from '#api/http/html.ts'
import { page } from './page.ts'

const CONTENT_POLICY = [
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  'img-src http: https: data:',
  "style-src 'unsafe-inline' https:",
  'font-src https: data:',
  'media-src https:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
const HEADERS = { 'Content-Security-Policy': CONTENT_POLICY, 'X-Robots-Tag': 'noindex' }

export function mailPage({ subject, html: body, text }: ViewedMail): ApiResponse {
  if (body !== null && body !== '') return { body, type: 'text/html; charset=utf-8', headers: HEADERS }
  const lines = (text ?? '').split('\n').map(
    (line) => html`${line}<br>
`,
  )
  const response = page(
    subject,
    html`<h1>${subject}</h1>
<p>${lines}</p>`,
  )
  return { ...response, headers: { ...response.headers, 'X-Robots-Tag': 'noindex' } }
}
