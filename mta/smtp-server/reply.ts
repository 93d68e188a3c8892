/**
 * What a client is told: code, enhanced code (RFC 3463) and text. Thrown where something ends with it: smtp-server sends what it is
 * handed. A reply is ASCII, whatever is quoted in it (RFC 6531 3.7.4.1).
 */
export class Reply extends Error {
  override readonly name = 'Reply'
  readonly responseCode: number

  /** `text` begins with the enhanced code. */
  constructor(responseCode: number, text: string) {
    super(text.replaceAll(/[^\x20-\x7e]/g, '?'))
    this.responseCode = responseCode
  }
}

/** The mail itself is not as it must be. */
export function badContent(what: string): Reply {
  return new Reply(550, `5.6.0 ${what}`)
}

/** Sender, key or workspace may not do this. */
export function notAllowed(what: string): Reply {
  return new Reply(550, `5.7.1 ${what}`)
}

/** Over some time it may go. */
export function comeAgain(what: string, seconds: number): Reply {
  return new Reply(451, `4.7.0 ${what}; come again in ${seconds} s`)
}
