/**
 * The pages of the unsubscribe and preferences links in a mail. They work without scripts. Opening a page changes
 * nothing, only its button does, because mail scanners open links. Mail gets forwarded, so addresses are masked.
 */
import type { UnsubscribeTarget, Preferences } from '#src/tracking/unsubscribe.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { messagePage } from './message-page.ts'
import { html, page, type Markup } from './page.ts'
import { TEXTS } from './texts.ts'

/** The prefix of an audience's id in the names of checkboxes. */
export const LIST_FIELD = 'list-'

/** Asks for confirmation. */
export function unsubscribePage({ person, list }: UnsubscribeTarget, token: string): ApiResponse {
  const { title, question, button, choose } = TEXTS.unsubscribe
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p>${question(maskEmail(person.email), list)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">${button}</button>
</form>
<p><a href="/p/${token}">${choose}</a></p>`,
    ),
  )
}

export function unsubscribedPage({ person, list }: UnsubscribeTarget, token: string, undo: string | null): ApiResponse {
  const { title, text, undoQuestion, undo: button } = TEXTS.unsubscribed
  const undoForm =
    undo === null
      ? null
      : html`<form method="post">
<p>${undoQuestion}</p>
<input type="hidden" name="undo" value="${undo}">
<button type="submit">${button}</button>
</form>
`
  return withNoIndex(
    page(
      title,
      html`<h1>${title}</h1>
<p role="status">${text(maskEmail(person.email), list)}</p>
${undoForm}<p><a href="/p/${token}">${TEXTS.unsubscribe.choose}</a></p>`,
    ),
  )
}

export function restoredPage(): ApiResponse {
  return withNoIndex(messagePage(TEXTS.restored.title, TEXTS.restored.text))
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
