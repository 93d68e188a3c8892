/**
 * The text part of a message that has only HTML. Where the same HTML repeats (a message to many recipients, the same
 * notice again and again), its text is remembered: from the second time on, in a few slots of limited size. A slot is
 * found by a fingerprint of a few characters, since a hash of all costs a third of the conversion; the whole HTML is
 * then compared, so the text never is that of other HTML, and no workspace can learn about another's mail.
 */
import { textFromHtml } from './html-text.ts'

const SLOTS = 32
/** With all slots full, 8 MB. */
const MAX_LENGTH = 128 * 1024
/** Shorter HTML is converted in the time that a look-up takes. */
const MIN_LENGTH = 512
const SAMPLES = 32

interface Slot {
  readonly fingerprint: number
  /** Null: HTML with this fingerprint was seen once. */
  readonly known: { readonly html: string; readonly text: string } | null
}

/** Slots of its own. */
export function createTextParts(convert: (html: string) => string = textFromHtml): (html: string) => string {
  const slots: (Slot | undefined)[] = Array.from({ length: SLOTS })
  return (html) => {
    if (html.length < MIN_LENGTH || html.length > MAX_LENGTH) return convert(html)
    const fingerprint = fingerprintOf(html)
    const slot = slots[fingerprint % SLOTS]
    if (slot?.known?.html === html) return slot.known.text
    const text = convert(html)
    slots[fingerprint % SLOTS] = { fingerprint, known: slot?.fingerprint === fingerprint ? { html, text } : null }
    return text
  }
}

/** `textFromHtml` with the slots of this thread. */
export const textPartOf = createTextParts()

function fingerprintOf(html: string): number {
  const step = Math.floor(html.length / SAMPLES)
  let mixed = html.length
  for (let i = step >> 1; i < html.length; i += step) mixed = (Math.imul(mixed, 31) + html.charCodeAt(i)) | 0
  return mixed >>> 0
}
