/**
 * The pages of the unsubscribe and preferences links in a mail. They work without scripts. Opening a page changes
 * nothing, only its button does, because mail scanners open links. Mail gets forwarded, so addresses are masked.
 */
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
export function unsubscribePage({ email, list, preferences }: UnsubscribeSubject): ApiResponse {
  const { title, question, button } = TEXTS.unsubscribe
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p>${question(maskEmail(email), list)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">${button}</button>
</form>${preferencesLink(preferences)}`,
    ),
  )
}

function preferencesLink(token: string | null): Markup | null {
  return token === null
    ? null
    : html`
<p><a href="/p/${token}">${TEXTS.unsubscribe.choose}</a></p>`
}

export function unsubscribedPage({ email, list, preferences }: UnsubscribeSubject, undo: string | null): ApiResponse {
  const { title, text, undoQuestion, undo: button } = TEXTS.unsubscribed
  const undoForm =
    undo === null
      ? null
      : html`
<form method="post">
<p>${undoQuestion}</p>
<input type="hidden" name="undo" value="${undo}">
<button type="submit">${button}</button>
</form>`
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p role="status">${text(maskEmail(email), list)}</p>${undoForm}${preferencesLink(preferences)}`,
    ),
  )
}

export function restoredPage(): ApiResponse {
  return withNoIndex(messagePage(TEXTS.restored.title, TEXTS.restored.text))
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
  const { unsubscribe, unsubscribed, closedSender } = TEXTS
  const email = maskEmail(person.email)
  if (step === 'done')
    return withNoIndex(
      page(
        unsubscribed.title,
        html`<h1>${unsubscribed.title}</h1>
<p role="status">${unsubscribed.text(email, null)}</p>`,
      ),
    )
  return withNoIndex(
    page(
      unsubscribe.title,
      html`<h1>${unsubscribe.title}</h1>
<p>${closedSender}</p>
<p>${unsubscribe.question(email, null)}</p>
<form method="post">
${step === 'unsubscribe' ? ONE_CLICK_FIELD : OPT_OUT_FIELD}
<button type="submit">${unsubscribe.button}</button>
</form>`,
    ),
  )
}

/** For a contact that was deleted. */
export function contactGonePage(): ApiResponse {
  return withNoIndex(messagePage(TEXTS.contactGone.title, TEXTS.contactGone.text))
}

export function preferencesPage({ person, lists }: Preferences, isSaved: boolean): ApiResponse {
  const { title, intro, lists: legend, none, unsubscribeAll, unsubscribeAllHint, save, saved } = TEXTS.preferences
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
    label: unsubscribeAll,
    isChecked: person.isOptedOut,
    hint: unsubscribeAllHint,
  })
  return withNoIndex(
    page(
      title,
      html`${
        isSaved
          ? html`<p class="done" role="status">${saved}</p>
`
          : null
      }<h1>${title}</h1>
<p>${intro(maskEmail(person.email))}</p>
<form method="post">
${
  boxes.length === 0
    ? html`<p>${none}</p>`
    : html`<fieldset><legend>${legend}</legend>
${boxes}</fieldset>`
}
${unsubscribeAllBox}<button type="submit">${save}</button>
</form>`,
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
