/**
 * The loads of the benchmark: mails of one kind, or the mixture of a sender of transactional mail. A pool of different
 * mails is generated once per process; the number of a message makes each copy of them unique.
 */
import { compose } from '#src/mime/compose.ts'
import type { Draft } from '#src/mime/draft.ts'
import { newsletter } from './newsletter.ts'
import { plainText } from './plain-text.ts'
import { seededRandom, type Random } from './random.ts'
import { NUMBER_DIGITS, NUMBER_PLACEHOLDER, type SampleMail } from './sample-mail.ts'
import { invoice, oneTimeCode, receipt, smallHtml } from './transactional.ts'

export const MIXES = ['mixed', 'html', 'text', 'newsletter'] as const
export type MailMix = (typeof MIXES)[number]

/** What the tables call a load. */
export const MIX_NAMES: Readonly<Record<MailMix, string>> = {
  mixed: 'mixed mail',
  html: '4 KB HTML without text part',
  text: '4 KB plain text',
  newsletter: 'newsletter of 60 KB',
}

interface MailKind {
  readonly share: number
  readonly make: (random: Random) => SampleMail
}

/** Shares in per cent. */
const KINDS: Readonly<Record<MailMix, readonly MailKind[]>> = {
  mixed: [
    { share: 45, make: oneTimeCode },
    { share: 40, make: receipt },
    { share: 10, make: (random) => newsletter(random) },
    { share: 5, make: invoice },
  ],
  html: [{ share: 100, make: smallHtml }],
  text: [{ share: 100, make: plainText }],
  newsletter: [{ share: 100, make: (random) => newsletter(random) }],
}
const POOL = 100
/** Coprime to the pool's size: consecutive messages are of different kinds. */
const STEP = 37
const SEED = 20_261_126

/** 100 mails in the order in which they are sent; their kinds alternate. */
export function mailPool(mix: MailMix): SampleMail[] {
  const random = seededRandom(SEED)
  const mails = KINDS[mix].flatMap(({ share, make }) =>
    Array.from({ length: mix === 'text' ? 1 : share }, () => make(random)),
  )
  return Array.from({ length: POOL }, (_, i) => mails[(i * STEP) % mails.length] as SampleMail)
}

export interface FinishedMail {
  /** In per cent. */
  readonly share: number
  readonly mail: Buffer
}

/** One finished mail for each kind, as a server receives it by SMTP: composed, without a signature. */
export async function finishedMails(mix: MailMix, from: string, to: string): Promise<FinishedMail[]> {
  const random = seededRandom(SEED)
  return Promise.all(
    KINDS[mix].map(async ({ share, make }) => ({ share, mail: await finish(make(random), { from, to }) })),
  )
}

async function finish(mail: SampleMail, { from, to }: { from: string; to: string }): Promise<Buffer> {
  const number = '1'.padStart(NUMBER_DIGITS, '0')
  const filled = (text: string): string => text.replaceAll(NUMBER_PLACEHOLDER, number)
  const draft: Draft = {
    messageId: '019a0000-0000-7000-8000-000000000001',
    createdAt: new Date(),
    from: { email: from, name: null },
    replyTo: null,
    to: [{ email: to, name: null }],
    cc: [],
    subject: filled(mail.subject),
    html: mail.html === null ? null : filled(mail.html),
    text: mail.text === null ? null : filled(mail.text),
    headers: [],
    attachments: mail.attachments.map(({ filename, contentType, content }) => ({
      filename,
      contentType,
      contentId: null,
      content: Buffer.from(filled(content), 'base64'),
    })),
    raw: null,
  }
  const { head, body } = await compose(draft)
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}
