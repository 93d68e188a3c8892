/** What a look at one DNS record found: a value, with a sentence for the owner of the zone. Pure. */

/** `unknown`: DNS did not answer, which proves nothing. */
export type FindingStatus = 'ok' | 'missing' | 'wrong' | 'unknown'

export interface Finding {
  readonly status: FindingStatus
  readonly message: string
}

export function ok(message: string): Finding {
  return { status: 'ok', message }
}

export function missing(message: string): Finding {
  return { status: 'missing', message }
}

export function wrong(message: string): Finding {
  return { status: 'wrong', message }
}

export function unknown(reason: string): Finding {
  return { status: 'unknown', message: `${reason}; it is looked at again` }
}

const MAX_TEXT = 400

/** Text of a stranger as it may be stored and shown: no control, invisible or direction characters, and not endless. */
export function tame(text: string): string {
  return text.replace(/\p{C}/gu, '?').slice(0, MAX_TEXT)
}
