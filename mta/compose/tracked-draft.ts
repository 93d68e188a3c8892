/** Adds one recipient's tracking to a draft: to its HTML, or to the HTML parts of a complete message. */
import { textPartOf } from '#src/mail/text-part.ts'
import { trackHtml, type TrackingMarkup } from '#src/tracking/html-tracking.ts'
import type { Draft } from '#src/mime/draft.ts'
import { trackRaw } from './tracked-raw-message.ts'

export function trackDraft(draft: Draft, marks: TrackingMarkup): Draft {
  if (draft.raw !== null) return { ...draft, raw: trackRaw(draft.raw, marks) }
  if (draft.html === null || draft.html === '') return draft
  // the text shows the original target of each link
  const text = draft.text === null || draft.text === '' ? textPartOf(draft.html) : draft.text
  return { ...draft, html: trackHtml(draft.html, marks), text }
}
