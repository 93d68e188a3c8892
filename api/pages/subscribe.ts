/** The pages of the public form: the form itself, again with what is wrong, thanks, the second step, and refusals. */
import type { Detail, Refusal } from '#src/platform/errors.ts'
import type { SubscribeForm } from '#src/subscribe/form.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html, page, type Markup } from './page.ts'

/** The field that people do not see: whoever fills it in is a program. */
export const HONEYPOT_FIELD = 'homepage'

interface FormField {
  readonly name: 'email' | 'first_name' | 'last_name'
  readonly label: string
  readonly type: 'email' | 'text'
  /** WCAG 2.2 1.3.5. */
  readonly autocomplete: string
  readonly aliases: readonly string[]
  readonly isRequired: boolean
}

const FORM_FIELDS: readonly FormField[] = [
  { name: 'email', label: 'Email address', type: 'email', autocomplete: 'email', aliases: [], isRequired: true },
  {
    name: 'first_name',
    label: 'First name (optional)',
    type: 'text',
    autocomplete: 'given-name',
    aliases: ['firstName'],
    isRequired: false,
  },
  {
    name: 'last_name',
    label: 'Last name (optional)',
    type: 'text',
    autocomplete: 'family-name',
    aliases: ['lastName'],
    isRequired: false,
  },
]

/** Posts to its own address. */
export function formPage(form: SubscribeForm): ApiResponse {
  return page(`Subscribe to ${form.name}`, renderForm(form, {}, []))
}

/** The form as it was filled in, and above it what is wrong with it. */
export function invalidFormPage(form: SubscribeForm, input: unknown, details: readonly Detail[]): ApiResponse {
  return page(`Error: Subscribe to ${form.name}`, renderForm(form, { ...(input as object | null) }, details))
}

function renderForm(form: SubscribeForm, input: Readonly<Record<string, unknown>>, details: readonly Detail[]): Markup {
  const problems = FORM_FIELDS.flatMap((field) => {
    const detail = details.find(({ path }) => path === field.name || field.aliases.includes(path))
    return detail === undefined ? [] : [{ field, message: describeProblem(field, detail) }]
  })
  const messages = new Map(problems.map(({ field, message }) => [field.name, message]))
  const first = problems[0]?.field.name ?? null
  return html`${details.length === 0 ? null : renderSummary(problems)}<h1>Subscribe to ${form.name}</h1>
<form method="post">
${FORM_FIELDS.map((field) => renderInput(field, valueOf(field, input), { message: messages.get(field.name) ?? null, isFirst: field.name === first }))}
<div class="aside" aria-hidden="true">
<label for="${HONEYPOT_FIELD}">Leave this field empty</label>
<input id="${HONEYPOT_FIELD}" name="${HONEYPOT_FIELD}" type="text" tabindex="-1" autocomplete="off">
</div>
<button type="submit">Subscribe</button>
</form>`
}

interface FieldProblem {
  readonly field: FormField
  readonly message: string
}

function renderSummary(problems: readonly FieldProblem[]): Markup {
  const lines = problems.map(({ field, message }) => html`<li><a href="#${field.name}">${message}</a></li>`)
  return html`<div class="problems" role="alert" aria-labelledby="problems">
<h2 id="problems">There is a problem</h2>
<ul>${lines.length === 0 ? html`<li>The form could not be read. Fill it in again.</li>` : lines}</ul>
</div>
`
}

interface FieldState {
  readonly message: string | null
  /** The first wrong field has the focus. */
  readonly isFirst: boolean
}

function renderInput(
  { name, label, type, autocomplete, isRequired }: FormField,
  value: string,
  { message, isFirst }: FieldState,
): Markup {
  const error =
    message === null
      ? null
      : html`<p class="wrong" id="${name}-wrong">${message}</p>
`
  const attributes = [
    ...(isRequired ? [html` required`] : []),
    ...(message === null ? [] : [html` aria-invalid="true" aria-describedby="${name}-wrong"`]),
    ...(isFirst ? [html` autofocus`] : []),
  ]
  return html`<label for="${name}">${label}</label>
${error}<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${attributes}>
`
}

function valueOf({ name, aliases }: FormField, input: Readonly<Record<string, unknown>>): string {
  const value = [name, ...aliases].map((key) => input[key]).find((key) => typeof key === 'string')
  return typeof value === 'string' ? value.slice(0, 1000) : ''
}

function describeProblem({ name, label }: FormField, { message }: Detail): string {
  return name === 'email'
    ? 'Enter an email address, such as name@example.com.'
    : `${label.replace(' (optional)', '')}: ${message}.`
}

/** The same for everybody who fills in the form of this audience. */
export function thanksPage(form: SubscribeForm): ApiResponse {
  if (!form.isDoubleOptIn) return messagePage('Thank you', `You are subscribed to ${form.name}.`)
  return messagePage(
    'One more step',
    `We have sent you a mail with a link. Open it to confirm your subscription to ${form.name}.`,
  )
}

/** Behind the link of the letter: nothing has happened yet. */
export function confirmPage(form: SubscribeForm, email: string): ApiResponse {
  return page(
    `Confirm: ${form.name}`,
    html`<h1>Confirm your subscription</h1>
<p>Subscribe ${email} to ${form.name}?</p>
<form method="post">
<button type="submit">Yes, subscribe</button>
</form>`,
  )
}

export function confirmedPage(form: SubscribeForm): ApiResponse {
  return messagePage('Thank you', `You are subscribed to ${form.name}.`)
}

/** What a person is told of a refusal. */
export function refusedPage(refusal: Refusal): ApiResponse {
  const [title, text] = REFUSAL_TEXTS[refusal.error] ?? DEFAULT_REFUSAL_TEXT
  return messagePage(title, text)
}

type PageText = readonly [title: string, text: string]
const DEFAULT_REFUSAL_TEXT: PageText = ['That did not work', 'Something went wrong on our side. Please try again later.']
const REFUSAL_TEXTS: Partial<Readonly<Record<Refusal['error'], PageText>>> = {
  NOT_FOUND: ['Nothing here', 'This address is not valid, or not any more. Check it, or ask whoever gave it to you.'],
  RATE_LIMITED: ['Please wait', 'There were too many attempts. Try again in a while.'],
  VALIDATION_ERROR: ['That did not work', 'The request could not be read.'],
  PAYLOAD_TOO_LARGE: ['That did not work', 'The form has too much text in it.'],
}

function messagePage(title: string, text: string): ApiResponse {
  return page(
    title,
    html`<h1>${title}</h1>
<p>${text}</p>`,
  )
}
