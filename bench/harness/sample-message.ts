/**
 * The mail that is sent through Mailstead: 4 KB of plain text in short lines,
 * different in recipient and body by a number of fixed width. It is kept as
 * bytes in which only the digits change, so that the load generator's part of
 * the measured CPU stays small.
 */

/** Stands before the number in the body. */
export const BODY_MARK = 'letter number '
/** Digits of every number, with leading zeros. */
export const NUMBER_DIGITS = 9
export const BODY_BYTES = 4096
/** Where the digits go, in a text that is to become a `Stencil`. */
const NUMBER_GAP = '#'.repeat(NUMBER_DIGITS)

const WORDS = (
  'the parcel left our house this morning and will reach you between nine and noon tomorrow please keep ' +
  'number code at hand when driver rings if nobody is home it waits for seven days around corner open until late ' +
  'questions about order invoice or return are answered by real people every day thank you'
).split(' ')

/** Exactly 4,096 bytes; the same text every time, apart from the number. */
export function letterText(): string {
  const lines = [`Dear reader, this is ${BODY_MARK}${NUMBER_GAP}.`]
  let line = ''
  // A small linear congruence instead of chance: text that repeats itself would compress better than letters do.
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
export function letterJson(from: string, site: string): string {
  return JSON.stringify({ from, to: [`m${NUMBER_GAP}@${site}`], subject: 'Your parcel', text: letterText() })
}

/** Bytes with gaps for one number. */
export interface Stencil {
  fill(number: number): Buffer
}

/** The returned stencil gives the same buffer every time: use it up before the next fill. */
export function createStencil(text: string): Stencil {
  const bytes = Buffer.from(text)
  const gaps: number[] = []
  for (let gap = bytes.indexOf(NUMBER_GAP); gap >= 0; gap = bytes.indexOf(NUMBER_GAP, gap + 1)) gaps.push(gap)
  return {
    fill: (number) => {
      const digits = String(number).padStart(NUMBER_DIGITS, '0')
      for (const gap of gaps) bytes.write(digits, gap, 'latin1')
      return bytes
    },
  }
}
