/**
 * The pages of the unsubscribe and preferences links in a mail. They work without scripts. Opening a page changes
 * nothing, only its button does, because mail scanners open links. Mail gets forwarded, so addresses are masked.
 */
import { DEFAULT_LOOK, type Look } from '#src/branding/branding.ts'
import { filled } from '#src/branding/texts.ts'
import type { UnsubscribeTarget, Preferences } from '#src/tracking/unsubscribe.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { messagePage } from './message-page.ts'
import { html, type Markup } from '#api/http/html.ts'
import { page } from './page.ts'
import { TEXTS } from './texts.ts'

/** The prefix of an audience's id in the names of checkboxes. */
export const LIST_FIELD = 'list-'

/** Who unsubscribes, and from what. */
export interface UnsubscribeSubject {
  readonly email: string
  /** Name of the audience; null: these mails of the sender. */
  readonly list: string | null
  /** The token of the preferences page; null for an address without preferences. */
  readonly preferences: string | null
}

export function subjectOf({ person, list }: UnsubscribeTarget, token: string): UnsubscribeSubject {
  return { email: person.email, list, preferences: token }
}

/** Asks for confirmation. */
export function unsubscribePage({ email, list, preferences }: UnsubscribeSubject, look: Look): ApiResponse {
  const { texts } = look
  const title = texts['unsubscribe.title']
  const question = texts[list === null ? 'unsubscribe.question' : 'unsubscribe.question_list']
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p>${about(question, email, list)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">${texts['unsubscribe.button']}</button>
</form>${preferencesLink(preferences, look)}`,
      { look },
    ),
  )
}

function about(text: string, email: string, list: string | null): string {
  return filled(text, { email: maskEmail(email), ...(list === null ? {} : { list }) })
}

function preferencesLink(token: string | null, { texts }: Look): Markup | null {
  return token === null
    ? null
    : html`
<p><a href="/p/${token}">${texts['unsubscribe.choose']}</a></p>`
}

export function unsubscribedPage(
  { email, list, preferences }: UnsubscribeSubject,
  undo: string | null,
  look: Look,
): ApiResponse {
  const { texts } = look
  const title = texts['unsubscribed.title']
  const undoForm =
    undo === null
      ? null
      : html`
<form method="post">
<p>${texts['unsubscribed.undo_question']}</p>
<input type="hidden" name="undo" value="${undo}">
<button type="submit">${texts['unsubscribed.undo']}</button>
</form>`
  const done = about(texts[list === null ? 'unsubscribed.text' : 'unsubscribed.text_list'], email, list)
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p role="status">${done}</p>${undoForm}${preferencesLink(preferences, look)}`,
      { look },
    ),
  )
}

export function restoredPage(look: Look): ApiResponse {
  return withNoIndex(messagePage(look.texts['restored.title'], look.texts['restored.text'], look))
}

const ONE_CLICK_FIELD = html`<input type="hidden" name="List-Unsubscribe" value="One-Click">`
const OPT_OUT_FIELD = html`<input type="hidden" name="all" value="1">`

/**
 * The page of a sender that is suspended or was removed. It shows no text of the sender, who may have used names of
 * audiences to say something. `done`: the person has unsubscribed.
 */
export function closedSenderPage(
  { person }: { readonly person: UnsubscribeTarget['person'] },
  step: 'unsubscribe' | 'opt-out' | 'done',
): ApiResponse {
  const { texts } = DEFAULT_LOOK
  const [title, doneTitle] = [texts['unsubscribe.title'], texts['unsubscribed.title']]
  if (step === 'done')
    return withNoIndex(
      page(
        doneTitle,
        html`<h1>${doneTitle}</h1>
<p role="status">${about(texts['unsubscribed.text'], person.email, null)}</p>`,
      ),
    )
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p>${TEXTS.closedSender}</p>
<p>${about(texts['unsubscribe.question'], person.email, null)}</p>
<form method="post">
${step === 'unsubscribe' ? ONE_CLICK_FIELD : OPT_OUT_FIELD}
<button type="submit">${texts['unsubscribe.button']}</button>
</form>`,
    ),
  )
}

/** For a contact that was deleted. */
export function contactGonePage(): ApiResponse {
  return withNoIndex(messagePage(TEXTS.contactGone.title, TEXTS.contactGone.text))
}

export function preferencesPage({ person, lists }: Preferences, isSaved: boolean, look: Look): ApiResponse {
  const { texts } = look
  const title = texts['preferences.title']
  const boxes = lists.map(({ audienceId, name, isSubscribed }) =>
    renderCheckbox({
      name: `${LIST_FIELD}${audienceId}`,
      label: name,
      isChecked: isSubscribed && !person.isOptedOut,
      hint: null,
    }),
  )
  const unsubscribeAllBox = renderCheckbox({
    name: 'all',
    label: texts['preferences.unsubscribe_all'],
    isChecked: person.isOptedOut,
    hint: texts['preferences.unsubscribe_all_hint'],
  })
  const choices =
    boxes.length === 0
      ? html`<p>${texts['preferences.none']}</p>`
      : html`<fieldset><legend>${texts['preferences.lists']}</legend>
${boxes}</fieldset>`
  const done = isSaved
    ? html`<p class="done" role="status">${texts['preferences.saved']}</p>
`
    : null
  return withNoIndex(
    page(
      title,
      html`${done}<h1>${title}</h1>
<p>${about(texts['preferences.intro'], person.email, null)}</p>
<form method="post">
${choices}
${unsubscribeAllBox}<button type="submit">${texts['preferences.save']}</button>
</form>`,
      { look },
    ),
  )
}

interface PreferenceCheckbox {
  readonly name: string
  readonly label: string
  readonly isChecked: boolean
  readonly hint: string | null
}

/** A hidden `0` precedes the checkbox: the form then also sends the checkboxes that are shown but not checked. */
function renderCheckbox({ name, label, isChecked, hint }: PreferenceCheckbox): Markup {
  const attributes = [
    ...(isChecked ? [html` checked`] : []),
    ...(hint === null ? [] : [html` aria-describedby="${name}-hint"`]),
  ]
  const hintText =
    hint === null
      ? null
      : html`<p class="hint" id="${name}-hint">${hint}</p>
`
  return html`<input type="hidden" name="${name}" value="0">
<label class="choice"><input type="checkbox" name="${name}" value="1"${attributes}> ${label}</label>
${hintText}`
}

/** `a…@b.example` */
function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  const [first = ''] = email
  return `${first}…${email.slice(at)}`
}

function withNoIndex(answer: ApiResponse): ApiResponse {
  return { ...answer, headers: { ...answer.headers, 'X-Robots-Tag': 'noindex' } }
}
