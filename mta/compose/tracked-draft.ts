/** Puts tracking into a draft, for the one recipient whose marks these are: its HTML, or the HTML parts of a finished message. */
import { textFromHtml } from '#src/mail/html-text.ts'
import { trackHtml, type TrackingMarkup } from '#src/tracking/html-tracking.ts'
import type { Draft } from './draft.ts'
import { trackRaw } from './tracked-raw-message.ts'

export function trackDraft(draft: Draft, marks: TrackingMarkup): Draft {
  if (draft.raw !== null) return { ...draft, raw: trackRaw(draft.raw, marks) }
  if (draft.html === null || draft.html === '') return draft
  // whoever reads the text sees where a link leads
  const text = draft.text === null || draft.text === '' ? textFromHtml(draft.html) : draft.text
  return { ...draft, html: trackHtml(draft.html, marks), text }
}
