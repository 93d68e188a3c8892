/**
 * SMTP replies that refuse something: code, enhanced code (RFC 3463) and text. A reply is ASCII, whatever it quotes
 * (RFC 6531 3.7.4.1).
 */
export class ReplyError extends Error {
  override readonly name = 'Reply'
  readonly responseCode: number

  /** `text` begins with the enhanced code. */
  constructor(responseCode: number, text: string) {
    super(text.replaceAll(/[^\x20-\x7e]/g, '?'))
    this.responseCode = responseCode
  }
}

/** Temporary: the client should retry after some seconds. */
export function retryLaterError(what: string, seconds: number): ReplyError {
  return new ReplyError(451, `4.7.0 ${what}; try again in ${seconds} s`)
}
