/**
 * The header `traceparent` of W3C Trace Context: which trace a request belongs to, and which span it follows. It comes
 * from clients, so only the exact form is read; anything else counts as missing (W3C Trace Context 3.2.2). Pure.
 */

export interface ParsedTraceparent {
  /** 32 hex digits, not all 0. */
  readonly traceId: string
  /** 16 hex digits, not all 0. */
  readonly spanId: string
  readonly isSampled: boolean
}

/** A later version may append fields; version ff does not exist. */
const FORM = /^(?!ff)([\da-f]{2})-((?!0{32})[\da-f]{32})-((?!0{16})[\da-f]{16})-([\da-f]{2})(-[\x21-\x7e]{0,200})?$/
const SAMPLED = 1

/** Null if the text is no valid traceparent. Two headers, which Node joins with a comma, are not valid. */
export function parseTraceparent(text: string): ParsedTraceparent | null {
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return null
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

/** Of a span that is recorded. */
export function formatTraceparent({ traceId, spanId }: Pick<ParsedTraceparent, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`
}

/** For log lines: the trace of a stored or exported traceparent; undefined without one. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return traceparent === null || traceparent === undefined ? undefined : parseTraceparent(traceparent)?.traceId
}
