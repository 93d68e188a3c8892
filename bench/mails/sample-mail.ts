/**
 * A mail of the benchmark with placeholders for its number. The number is in the recipient and, behind `BODY_MARKER`,
 * on a short line of the body, so that no transfer encoding changes it; it also is the order number of the mail, so
 * that no two mails have the same content.
 */

/** Stands before the number in the body. */
export const BODY_MARKER = 'message number '
/** Digits of every number, with leading zeros. */
export const NUMBER_DIGITS = 9
/** Placeholder for the digits in a text that `createTemplate` fills. */
export const NUMBER_PLACEHOLDER = '#'.repeat(NUMBER_DIGITS)

export interface SampleAttachment {
  readonly filename: string
  readonly contentType: string
  /** Base64 on one line. */
  readonly content: string
}

export interface SampleMail {
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly attachments: readonly SampleAttachment[]
}

/** A message with placeholders for its number. */
export interface NumberedTemplate {
  fill(number: number): Buffer
}

/** `fill` returns a new buffer each time: a large message may still be in the socket when the next one is filled. */
export function createTemplate(text: string): NumberedTemplate {
  const template = Buffer.from(text)
  const offsets: number[] = []
  for (
    let offset = template.indexOf(NUMBER_PLACEHOLDER);
    offset >= 0;
    offset = template.indexOf(NUMBER_PLACEHOLDER, offset + NUMBER_DIGITS)
  )
    offsets.push(offset)
  return {
    fill: (number) => {
      const bytes = Buffer.from(template)
      const digits = String(number).padStart(NUMBER_DIGITS, '0')
      for (const offset of offsets) bytes.write(digits, offset, 'latin1')
      return bytes
    },
  }
}

/** The JSON body of one send. `site` is the recipient's domain. */
export function sendJson(from: string, site: string, { subject, html, text, attachments }: SampleMail): string {
  const files = attachments.map(({ filename, contentType, content }) => ({
    filename,
    content_type: contentType,
    content,
  }))
  return JSON.stringify({
    from,
    to: [`m${NUMBER_PLACEHOLDER}@${site}`],
    subject,
    ...(html !== null && { html }),
    ...(text !== null && { text }),
    ...(files.length > 0 && { attachments: files }),
  })
}
