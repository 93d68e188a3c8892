/**
 * A mail as a page. What stands in it is somebody else's: it runs in a sandbox of its own, where no script does, no form goes anywhere and
 * nothing of ours can be read; images, styles and links work, and tell nobody where the reader comes from.
 */
import type { ApiResponse } from '#api/http/route.ts'
import type { ViewedMail } from '#api/http/mail-view.ts'
import { html, page } from './page.ts'

const CONTENT_POLICY = [
  'sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation',
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
