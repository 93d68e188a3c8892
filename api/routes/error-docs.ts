/**
 * GET /docs/errors: what each error code means and what to do about it. The `doc_url` of every error leads here, to the
 * section of its code. The page needs no store and no scripts.
 */
import { ERRORS, type ErrorCode } from '#src/platform/errors.ts'
import { html, type Markup } from '#api/http/html.ts'
import { page } from '#api/pages/page.ts'
import { ERROR_DOCS_PATH } from '#api/http/response.ts'
import { route } from '#api/http/route.ts'

/** What to do next. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_ERROR: 'Correct the fields that "details" names, and send the request again.',
  INVALID_TEMPLATE: 'Read the message, correct the template or "params", and check it with a preview.',
  UNAUTHORIZED: 'Send the header "Authorization: Bearer <key>" with a key that is active and not expired.',
  FORBIDDEN: 'Use a key of the right kind: a Regular key sends, an Admin key manages. Check the sender of the key.',
  INSUFFICIENT_SCOPE: 'Use an Admin key with the scope that the message names.',
  PLAN_REQUIRED: 'Ask the operator of this service for another plan.',
  NOT_FOUND: 'Check the path and the id. Objects of other workspaces are not found.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the header "Allow".',
  REQUEST_TIMEOUT: 'Send the request again; it did not arrive completely.',
  CONFLICT: 'Read the message. Get the object to see its present state.',
  IDEMPOTENCY_MISMATCH: 'Use a new Idempotency-Key for a new request; use the same one only to repeat a request.',
  IDEMPOTENCY_IN_PROGRESS: 'Wait as long as "Retry-After" says, then repeat the request with the same key.',
  PAYLOAD_TOO_LARGE: 'Send less, for example a link instead of a file.',
  UNSUPPORTED_MEDIA_TYPE:
    'Send JSON in UTF-8 with "Content-Type: application/json", compressed with gzip or not at all.',
  RATE_LIMITED: 'Wait as long as "Retry-After" says. If the quota of the plan is reached, ask for another plan.',
  HEADERS_TOO_LARGE: 'Send shorter headers or a shorter URL.',
  INTERNAL_ERROR: 'Repeat the request with increasing delays. If it fails again, report the request id.',
  SERVICE_UNAVAILABLE: 'Wait as long as "Retry-After" says, then repeat the request with the same Idempotency-Key.',
}

export const errorDocs = route({
  name: 'error-docs',
  summary: 'Show what each error code means',
  method: 'GET',
  paths: [ERROR_DOCS_PATH],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/html'],
  errors: [],
  handle: () => Promise.resolve(PAGE),
})

const PAGE = page(
  'Errors of the API',
  html`<h1>Errors of the API</h1>
<p>Every error is a JSON object with its code in <code>error</code>. Report a problem with its
<code>request_id</code>, which is also the header X-Request-Id. All endpoints: <a href="/docs">API reference</a>.</p>
${(Object.keys(ERRORS) as ErrorCode[]).map(renderError)}`,
)

function renderError(code: ErrorCode): Markup {
  const { status, when } = ERRORS[code]
  return html`<section id="${code}">
<h2>${code}</h2>
<p>Status ${String(status)}: ${when.replaceAll('`', '')}.</p>
<p>${ADVICE[code]}</p>
</section>
`
}
