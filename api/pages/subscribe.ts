/**
 * The pages of the public subscribe form: form, form with errors, thanks, confirmation (double opt-in) and refusals.
 */
import type { Look } from '#src/branding/branding.ts'
import { filled, type TextKey, type Texts } from '#src/branding/texts.ts'
import type { Detail, Refusal } from '#src/platform/errors.ts'
import type { SubscribeForm } from '#src/subscribe/form.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { html, type Markup } from '#api/http/html.ts'
import { CHALLENGE_SCRIPT } from './challenge-script.ts'
import { messagePage } from './message-page.ts'
import { page } from './page.ts'

/** A hidden field that only bots fill in. */
export const HONEYPOT_FIELD = 'homepage'

interface FormField {
  readonly name: 'email' | 'first_name' | 'last_name'
  readonly type: 'email' | 'text'
  /** WCAG 2.2 1.3.5. */
  readonly autocomplete: string
  readonly aliases: readonly string[]
  readonly isRequired: boolean
}

const FORM_FIELDS: readonly FormField[] = [
  { name: 'email', type: 'email', autocomplete: 'email', aliases: [], isRequired: true },
  {
    name: 'first_name',
    type: 'text',
    autocomplete: 'given-name',
    aliases: ['firstName'],
    isRequired: false,
  },
  {
    name: 'last_name',
    type: 'text',
    autocomplete: 'family-name',
    aliases: ['lastName'],
    isRequired: false,
  },
]

/** The proof of work that the form solves before it can be sent. */
export interface FormChallenge {
  readonly challenge: string
  readonly bits: number
}

/** A form with the look of its workspace. */
export interface FormView {
  readonly form: SubscribeForm
  readonly look: Look
}

function listText({ form, look }: FormView, key: TextKey): string {
  return filled(look.texts[key], { list: form.name })
}

/** The form posts to its own URL. */
export function formPage(view: FormView, challenge: FormChallenge | null): ApiResponse {
  const content = renderForm(view, { input: {}, details: [], challenge })
  return page(listText(view, 'subscribe.title'), content, { look: view.look, script: scriptFor(challenge) })
}

function scriptFor(challenge: FormChallenge | null): string | undefined {
  return challenge === null ? undefined : CHALLENGE_SCRIPT
}

/** The form with the values that were sent, and a list of their errors above it. */
export function invalidFormPage(
  view: FormView,
  input: unknown,
  details: readonly Detail[],
  challenge: FormChallenge | null,
): ApiResponse {
  const state = { input: { ...(input as object | null) }, details, challenge }
  const title = `${view.look.texts['problem.prefix']}: ${listText(view, 'subscribe.title')}`
  return page(title, renderForm(view, state), { look: view.look, script: scriptFor(challenge) })
}

interface FormState {
  readonly input: Readonly<Record<string, unknown>>
  readonly details: readonly Detail[]
  readonly challenge: FormChallenge | null
}

function renderForm(view: FormView, { input, details, challenge }: FormState): Markup {
  const { texts } = view.look
  const problems = FORM_FIELDS.flatMap((field) => {
    const detail = details.find(({ path }) => path === field.name || field.aliases.includes(path))
    return detail === undefined ? [] : [{ field, message: describeProblem(field, detail, texts) }]
  })
  const messages = new Map(problems.map(({ field, message }) => [field.name, message]))
  const first = problems[0]?.field.name ?? null
  const inputs = FORM_FIELDS.map((field) => {
    const message = messages.get(field.name) ?? null
    const label = texts[`subscribe.${field.name}`]
    return renderInput(field, valueOf(field, input), { label, message, isFirst: field.name === first })
  })
  const [summary, title] = [
    details.length === 0 ? null : renderSummary(problems, texts),
    listText(view, 'subscribe.title'),
  ]
  return html`${summary}<h1>${title}</h1>
<form method="post">
${inputs}
<div class="aside" aria-hidden="true">
<label for="${HONEYPOT_FIELD}">Leave this field empty</label>
<input id="${HONEYPOT_FIELD}" name="${HONEYPOT_FIELD}" type="text" tabindex="-1" autocomplete="off">
</div>
${challenge === null ? null : renderChallenge(challenge)}<button type="submit">${texts['subscribe.button']}</button>
</form>`
}

function renderChallenge({ challenge, bits }: FormChallenge): Markup {
  return html`<input type="hidden" name="challenge" value="${challenge}" data-bits="${String(bits)}">
<input type="hidden" name="solution" value="">
<p class="hint" id="challenge-note" role="status">Checking that this browser is not a robot &hellip;</p>
<noscript><p class="wrong">This form needs JavaScript, to keep robots out.</p></noscript>
`
}

interface FieldProblem {
  readonly field: FormField
  readonly message: string
}

function renderSummary(problems: readonly FieldProblem[], texts: Texts): Markup {
  const lines = problems.map(({ field, message }) => html`<li><a href="#${field.name}">${message}</a></li>`)
  return html`<div class="problems" role="alert" aria-labelledby="problems">
<h2 id="problems">${texts['problem.title']}</h2>
<ul>${lines.length === 0 ? html`<li>${texts['problem.form']}</li>` : lines}</ul>
</div>
`
}

interface FieldState {
  readonly label: string
  readonly message: string | null
  /** The first invalid field gets the focus. */
  readonly isFirst: boolean
}

function renderInput(
  { name, type, autocomplete, isRequired }: FormField,
  value: string,
  { label, message, isFirst }: FieldState,
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

function describeProblem({ name }: FormField, { message }: Detail, texts: Texts): string {
  const label = texts[`subscribe.${name}`].replace(/ \([^)]*\)$/, '')
  return name === 'email' ? texts['problem.email'] : `${label}: ${message}.`
}

/** The same page for every visitor, so it does not reveal who is subscribed. */
export function thanksPage(view: FormView): ApiResponse {
  if (!view.form.isDoubleOptIn) return confirmedPage(view)
  return messagePage(view.look.texts['subscribe.check_title'], listText(view, 'subscribe.check'), view.look)
}

/** The page of the link in the confirmation mail. Opening it changes nothing; the button confirms. */
export function confirmPage({ form, look }: FormView, email: string): ApiResponse {
  const { texts } = look
  const title = texts['confirm.title']
  return page(
    title,
    html`<h1>${title}</h1>
<p>${filled(texts['confirm.question'], { email, list: form.name })}</p>
<form method="post">
<button type="submit">${texts['confirm.button']}</button>
</form>`,
    { look },
  )
}

export function confirmedPage(view: FormView): ApiResponse {
  return messagePage(view.look.texts['subscribe.thanks_title'], listText(view, 'subscribe.thanks'), view.look)
}

/** The error page of the form. */
export function refusedPage(refusal: Refusal): ApiResponse {
  const [title, text] = REFUSAL_TEXTS[refusal.error] ?? DEFAULT_REFUSAL_TEXT
  return messagePage(title, text)
}

type PageText = readonly [title: string, text: string]
const DEFAULT_REFUSAL_TEXT: PageText = ['Something went wrong', 'The problem is on our side. Please try again later.']
const REFUSAL_TEXTS: Partial<Readonly<Record<Refusal['error'], PageText>>> = {
  NOT_FOUND: ['Page not found', 'This link is invalid or has expired. Check the address, or ask for a new link.'],
  RATE_LIMITED: ['Too many attempts', 'Please wait a few minutes and try again.'],
  VALIDATION_ERROR: ['Something went wrong', "We couldn't read your request. Please go back and try again."],
  PAYLOAD_TOO_LARGE: ['Form too long', 'The form contains too much text. Please shorten it and try again.'],
}
