/**
 * The message that is sent through Mailstead: 4 KB of plain text in short lines.
 * Recipient and body contain the message number. The message is prepared once as
 * bytes in which only the digits change, so that the load generator uses little
 * CPU.
 */

/** Stands before the number in the body. */
export const BODY_MARKER = 'message number '
/** Digits of every number, with leading zeros. */
export const NUMBER_DIGITS = 9
export const BODY_BYTES = 4096
/** Placeholder for the digits in the text of a `NumberedTemplate`. */
const NUMBER_PLACEHOLDER = '#'.repeat(NUMBER_DIGITS)

const WORDS = (
  'the parcel left our house this morning and will reach you between nine and noon tomorrow please keep ' +
  'number code at hand when driver rings if nobody is home it waits for seven days around corner open until late ' +
  'questions about order invoice or return are answered by real people every day thank you'
).split(' ')

/** Exactly 4,096 bytes; the same text every time, apart from the number. */
export function messageText(): string {
  const lines = [`Dear reader, this is ${BODY_MARKER}${NUMBER_PLACEHOLDER}.`]
  let line = ''
  // A linear congruential generator chooses the words: repeated text would compress better than real mail.
  for (let seed = 7, length = 0; length < BODY_BYTES; seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) {
    const word = WORDS[seed % WORDS.length] ?? ''
    if (line.length + word.length < 70) {
      line += `${word} `
      continue
    }
    lines.push(line.trimEnd())
    length += line.length
    line = ''
  }
  return lines.join('\n').slice(0, BODY_BYTES)
}

/** The JSON body of one send. `site` is the recipient's domain. */
export function messageJson(from: string, site: string): string {
  return JSON.stringify({ from, to: [`m${NUMBER_PLACEHOLDER}@${site}`], subject: 'Your parcel', text: messageText() })
}

/** A message with placeholders for its number. */
export interface NumberedTemplate {
  fill(number: number): Buffer
}

/** `fill` returns the same buffer each time: write it before the next call. */
export function createTemplate(text: string): NumberedTemplate {
  const bytes = Buffer.from(text)
  const offsets: number[] = []
  for (
    let offset = bytes.indexOf(NUMBER_PLACEHOLDER);
    offset >= 0;
    offset = bytes.indexOf(NUMBER_PLACEHOLDER, offset + 1)
  )
    offsets.push(offset)
  return {
    fill: (number) => {
      const digits = String(number).padStart(NUMBER_DIGITS, '0')
      for (const offset of offsets) bytes.write(digits, offset, 'latin1')
      return bytes
    },
  }
}
