/** The result of checking one DNS record: a status, and a sentence for the owner of the zone. Pure. */

/** `unknown`: DNS did not answer, which proves nothing. */
export type RecordFindingStatus = 'ok' | 'missing' | 'wrong' | 'unknown'

export interface RecordFinding {
  readonly status: RecordFindingStatus
  readonly message: string
  /** Of a record that is right: what would make it better. */
  readonly advice?: string
}

export function ok(message: string, advice?: string): RecordFinding {
  return { status: 'ok', message, ...(advice === undefined ? {} : { advice }) }
}

export function missing(message: string): RecordFinding {
  return { status: 'missing', message }
}

export function wrong(message: string): RecordFinding {
  return { status: 'wrong', message }
}

export function unknown(reason: string): RecordFinding {
  return { status: 'unknown', message: `${reason}; it will be checked again` }
}

const MAX_TEXT = 400

/** Makes untrusted text safe to store and show: no control, invisible or direction characters, limited length. */
export function sanitizeText(text: string): string {
  return text.replace(/\p{C}/gu, '?').slice(0, MAX_TEXT)
}
