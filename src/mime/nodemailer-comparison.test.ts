import { assert } from 'chai'
import * as fc from 'fast-check'
import type { ParsedMail } from 'mailparser'
import MailComposer from 'nodemailer/lib/mail-composer'
import { HEX, addresses, checkWire, octetsOf, parse, plain } from './compose.test-data.ts'
import type { Attachment } from 'nodemailer/lib/mailer'
import type { Draft, DraftAttachment } from './draft.ts'
import { bodyTextsOf } from './mime-writer.ts'

/** What a reader gets to see of a message. */
const meaning = async (mail: ParsedMail): Promise<object> => ({
  from: addresses(mail.from),
  to: addresses(mail.to),
  cc: addresses(mail.cc),
  replyTo: addresses(mail.replyTo),
  subject: mail.subject ?? '',
  date: mail.date?.getTime(),
  messageId: mail.messageId,
  text: lines(mail.text),
  html: lines(mail.html || undefined),
  custom: await decode(mail.headers.get('x-custom')),
  files: mail.attachments.map((file) => ({
    filename: file.filename,
    type: file.contentType,
    disposition: file.contentDisposition,
    cid: file.cid,
    isRelated: file.related,
    content: file.content.toString('base64'),
  })),
  types: mail.headerLines.filter(({ key }) => key === 'mime-version').length,
})
/** The parser leaves fields that it does not know encoded. */
const decode = async (value: unknown): Promise<string | undefined> =>
  typeof value === 'string' ? (await parse(Buffer.from(`Subject: ${value}\r\n\r\n`))).subject : undefined
/** Composers differ in whether a last line without an end gets one. */
const lines = (text: string | undefined): string => (text ?? '').replace(/\r?\n/g, '\n').replace(/\n$/, '')

const theirMailbox = ({ email, name }: Draft['from']): { address: string; name: string } => ({
  address: email,
  name: name ?? '',
})

function describeFile({ filename, contentType, contentId, content }: DraftAttachment, html: string): Attachment {
  const cid = (contentId ?? '').replaceAll(/[<>]/g, '')
  const file = { filename, contentType, content }
  if (cid !== '' && html.includes(`cid:${cid}`)) return { ...file, cid, contentDisposition: 'inline' }
  return { ...file, contentDisposition: 'attachment', headers: cid === '' ? {} : { 'Content-ID': `<${cid}>` } }
}

/** nodemailer leaves a bare CR alone. */
const withCrlf = (text: string): string => text.replace(/\r\n?|\n/g, '\r\n')

async function composeByNodemailer(draft: Draft): Promise<Buffer> {
  const texts = bodyTextsOf(draft)
  return await new MailComposer({
    from: theirMailbox(draft.from),
    to: draft.to.map(theirMailbox),
    cc: draft.cc.map(theirMailbox),
    ...(draft.replyTo ? { replyTo: theirMailbox(draft.replyTo) } : {}),
    subject: draft.subject,
    html: withCrlf(texts.html),
    text: withCrlf(texts.text),
    attachments: draft.attachments.map((file) => describeFile(file, draft.html ?? '')),
    messageId: `<${HEX}@${draft.from.email.split('@').at(-1)}>`,
    date: draft.createdAt,
    headers: draft.headers.map(([key, value]) => ({ key, value })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}

async function assertSameMeaning(draft: Draft): Promise<void> {
  const bytes = await octetsOf(draft)
  checkWire(bytes)
  assert.deepEqual(await meaning(await parse(bytes)), await meaning(await parse(await composeByNodemailer(draft))))
}

const file = (content: Buffer): DraftAttachment => ({
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  contentId: null,
  content,
})

const word = fc
  .oneof(
    fc.stringMatching(/^[!-~]{1,20}$/),
    fc.stringMatching(/^[à-ÿα-ωа-я一-龯ก-๛]{1,12}$/),
    fc.constantFrom('😀', '👨‍👩‍👧', 'é', '"', ',', '<a@b.co>', '\\', "O'Neil"),
  )
  .filter((text) => !text.includes('=?'))
const phrase = fc.array(word, { minLength: 1, maxLength: 12 }).map((list) => list.join(' '))
const mailbox = fc.record({
  email: fc.constantFrom('a@b.co', 'first.last+tag@sub.example.org', "o'neil@x.yz", 'x_y@xn--bcher-kva.de'),
  name: fc.option(phrase),
})
const oddLine = fc.constantFrom(
  '',
  '.',
  '..',
  ' ',
  'From me',
  'trailing  ',
  '\ttab',
  '=3D',
  'x'.repeat(1200),
  'ü'.repeat(600),
  '--=_',
  '\f',
)
const bodyText = fc
  .array(fc.oneof(phrase, oddLine), { maxLength: 20 })
  .chain((list) => fc.constantFrom('\n', '\r\n').map((end) => list.join(end)))
const files: fc.Arbitrary<DraftAttachment> = fc.record({
  filename: fc.oneof(
    fc.constantFrom(
      'a.pdf',
      'my file.txt',
      'Übersicht "x".pdf',
      `${'long'.repeat(70)}.png`,
      'back\\slash',
      '.',
      'a=?b',
    ),
    phrase,
  ),
  contentType: fc.constantFrom('application/pdf', 'image/png', 'text/csv; charset=utf-8', 'application/x; a="b c"'),
  contentId: fc.constantFrom(null, '<shown@x>', 'other@x'),
  content: fc.uint8Array({ maxLength: 400 }).map((octets) => Buffer.from(octets)),
})
const drafts: fc.Arbitrary<Draft> = fc.record({
  messageId: fc.constant(plain.messageId),
  createdAt: fc.integer({ min: 1e9, max: 4e9 }).map((seconds) => new Date(seconds * 1000)),
  from: mailbox,
  replyTo: fc.option(mailbox),
  to: fc.array(mailbox, { minLength: 1, maxLength: 4 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  subject: fc.oneof(fc.constant(''), phrase),
  html: fc.option(bodyText.map((text) => (text === '' ? '' : `<p>${text}</p><img src="cid:shown@x">`))),
  text: fc.option(bodyText),
  headers: fc.oneof(
    fc.constant([]),
    phrase.map((value): [string, string][] => [['X-Custom', value]]),
  ),
  attachments: fc.oneof(fc.constant([]), fc.array(files, { maxLength: 3 })),
  raw: fc.constant(null),
})

describe("direct composing has the same meaning as nodemailer's composer", () => {
  const table: readonly [string, Partial<Draft>][] = [
    ['plain text', {}],
    ['text without a last line end', { text: 'abc' }],
    ['nothing', { text: '' }],
    ['CR, LF and CRLF', { text: 'a\rb\nc\r\nd\n\re' }],
    ['HTML', { text: null, html: '<p>Hi' }],
    ['both', { html: '<p>Hi' }],
    ['UTF-8', { text: 'Grüße aus Köln 😀\n', html: '<p>Grüße aus Köln 😀\n' }],
    ['a large file', { attachments: [file(Buffer.from(Array.from({ length: 2_000_000 }, (_, i) => (i * 7) & 255)))] }],
    ['files of 56, 57, 58 and no octets', { attachments: [56, 57, 58, 0].map((size) => file(Buffer.alloc(size, 7))) }],
    ['mostly foreign', { text: 'こんにちは世界\n'.repeat(100) }],
    ['lines of 998 and 999', { text: `${'x'.repeat(998)}\n${'y'.repeat(999)}\n` }],
    ['dots', { text: '.\n..\n.a\n' }],
    ['NUL and controls', { text: 'a\0b\u0007\u001b[0m\u007f\n' }],
    ['trailing white space', { text: 'ä  \n\t\n  \nü\t' }],
    ['lone surrogates', { text: 'x\ud800y', html: 'x\udc00y' }],
    ['emoji subject', { subject: '😀👨‍👩‍👧 Grüße '.repeat(10).trim() }],
    ['quoted names', { from: { email: 'a@b.co', name: 'Doe, "J" \\ <x@y.zz>' } }],
    ['names', { from: { email: 'a@b.co', name: 'Zoë Ünïcode' }, replyTo: { email: 'r@b.co', name: 'R. E. Ply' } }],
  ]
  for (const [what, change] of table) it(what, () => assertSameMeaning({ ...plain, ...change }))

  it('for any draft', () => fc.assert(fc.asyncProperty(drafts, assertSameMeaning), { numRuns: 400 }))
})
