/** The result of checking one DNS record: a status, and a sentence for the owner of the zone. Pure. */
import { translationOf, type CodedText, type Translation } from '#src/platform/coded-text.ts'

/** `unknown`: DNS did not answer, which proves nothing. */
export type RecordFindingStatus = 'ok' | 'missing' | 'wrong' | 'unknown'

export interface RecordFinding {
  readonly status: RecordFindingStatus
  readonly message: string
  /** Of the message; absent: it has no code yet. */
  readonly translation?: Translation
  /** Of a record that is right: what would make it better. */
  readonly advice?: CodedText
}

export function ok(text: CodedText, advice?: CodedText): RecordFinding {
  return { ...findingOf('ok', text), ...(advice === undefined ? {} : { advice }) }
}

export function missing(text: CodedText): RecordFinding {
  return findingOf('missing', text)
}

export function wrong(text: CodedText): RecordFinding {
  return findingOf('wrong', text)
}

export function unknown(reason: CodedText): RecordFinding {
  return { ...findingOf('unknown', reason), message: `${reason.text}; it will be checked again` }
}

function findingOf(status: RecordFindingStatus, text: CodedText): RecordFinding {
  return { status, message: text.text, translation: translationOf(text) }
}

const MAX_TEXT = 400

/** Makes untrusted text safe to store and show: no control, invisible or direction characters, limited length. */
export function sanitizeText(text: string): string {
  return text.replace(/\p{C}/gu, '?').slice(0, MAX_TEXT)
}

export function sanitizeTranslation({ code, params }: Translation): Translation {
  return {
    code,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, sanitizeText(value)])),
  }
}
