/** A mail of 4 KB of plain text in short lines, the load of most scenarios. */
import { BODY_MARKER, NUMBER_PLACEHOLDER, type SampleMail } from './sample-mail.ts'

const BODY_BYTES = 4096

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

export function plainText(): SampleMail {
  return { subject: 'Your parcel', html: null, text: messageText(), attachments: [] }
}
