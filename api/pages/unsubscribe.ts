/**
 * The pages behind the unsubscribe and preference links of a mail. They work without script, and a look at them changes nothing: what
 * changes anything is a button. Addresses are shown in part, for mail is sent on.
 */
import type { Asked, Preferences } from '#src/tracking/unsubscribe.ts'
import type { Answer } from '#api/http/route.ts'
import { messagePage } from './mail.ts'
import { html, page, type Markup } from './page.ts'
import { TEXTS } from './texts.ts'

/** In front of an audience's id, in the names of checkboxes. */
export const LIST_FIELD = 'list-'

/** The question. */
export function unsubscribePage({ person, list }: Asked, token: string): Answer {
  const { title, question, button, choose } = TEXTS.unsubscribe
  return withoutRobots(
    page(
      title,
      html`<h1>${title}</h1>
<p>${question(shown(person.email), list)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">${button}</button>
</form>
<p><a href="/p/${token}">${choose}</a></p>`,
    ),
  )
}

export function unsubscribedPage({ person, list }: Asked, token: string, undo: string | null): Answer {
  const { title, text, undoQuestion, undo: button } = TEXTS.unsubscribed
  const back =
    undo === null
      ? null
      : html`<form method="post">
<p>${undoQuestion}</p>
<input type="hidden" name="undo" value="${undo}">
<button type="submit">${button}</button>
</form>
`
  return withoutRobots(
    page(
      title,
      html`<h1>${title}</h1>
<p role="status">${text(shown(person.email), list)}</p>
${back}<p><a href="/p/${token}">${TEXTS.unsubscribe.choose}</a></p>`,
    ),
  )
}

export function restoredPage(): Answer {
  return withoutRobots(messagePage(TEXTS.restored.title, TEXTS.restored.text))
}

/** For a contact that was deleted. */
export function nobodyPage(): Answer {
  return withoutRobots(messagePage(TEXTS.nobody.title, TEXTS.nobody.text))
}

export function preferencesPage({ person, lists }: Preferences, isSaved: boolean): Answer {
  const { title, intro, lists: legend, none, noMail, noMailHint, save, saved } = TEXTS.preferences
  const boxes = lists.map(({ audienceId, name, isSubscribed }) =>
    checkbox({
      name: `${LIST_FIELD}${audienceId}`,
      label: name,
      isChecked: isSubscribed && !person.isOptedOut,
      hint: null,
    }),
  )
  return withoutRobots(
    page(
      title,
      html`${
        isSaved
          ? html`<p class="done" role="status">${saved}</p>
`
          : null
      }<h1>${title}</h1>
<p>${intro(shown(person.email))}</p>
<form method="post">
${
  boxes.length === 0
    ? html`<p>${none}</p>`
    : html`<fieldset><legend>${legend}</legend>
${boxes}</fieldset>`
}
${checkbox({ name: 'all', label: noMail, isChecked: person.isOptedOut, hint: noMailHint })}<button type="submit">${save}</button>
</form>`,
    ),
  )
}

interface Checkbox {
  readonly name: string
  readonly label: string
  readonly isChecked: boolean
  readonly hint: string | null
}

/** With a hidden `0` before it: what was shown and not checked is said too. */
function checkbox({ name, label, isChecked, hint }: Checkbox): Markup {
  const marks = [
    ...(isChecked ? [html` checked`] : []),
    ...(hint === null ? [] : [html` aria-describedby="${name}-hint"`]),
  ]
  const told =
    hint === null
      ? null
      : html`<p class="hint" id="${name}-hint">${hint}</p>
`
  return html`<input type="hidden" name="${name}" value="0">
<label class="choice"><input type="checkbox" name="${name}" value="1"${marks}> ${label}</label>
${told}`
}

/** `a…@b.example` */
function shown(email: string): string {
  const at = email.lastIndexOf('@')
  const [first = ''] = email
  return `${first}…${email.slice(at)}`
}

function withoutRobots(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'X-Robots-Tag': 'noindex' } }
}
