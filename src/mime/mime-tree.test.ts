import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { octetsOf } from './compose.test-data.ts'
import { compose } from './compose.ts'
import type { DraftAttachment, Draft } from './draft.ts'

const file = (change: Partial<DraftAttachment>): DraftAttachment => ({
  filename: 'a.pdf',
  contentType: 'application/pdf',
  contentId: null,
  content: Buffer.from('%PDF'),
  ...change,
})
const draft = (change: Partial<Draft>): Draft => ({
  messageId: '0190a6f0-1111-7222-8333-444455556666',
  createdAt: new Date('2024-07-29T03:03:42Z'),
  from: { email: 'ann@example.com', name: 'Ann' },
  replyTo: null,
  to: [{ email: 'bob@example.org', name: null }],
  cc: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob\n',
  headers: [],
  attachments: [file({})],
  raw: null,
  ...change,
})
const wire = (change: Partial<Draft>): Promise<Buffer> => octetsOf(draft(change))
const parse = async (change: Partial<Draft>) =>
  simpleParser(await wire(change), { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true })
/** The parts in the order they come, by type. */
const types = (bytes: Buffer): string[] =>
  [...bytes.toString('latin1').matchAll(/^content-type: ([\w/.+-]+)/gim)].map((match) => match[1] ?? '')

describe('compose with attachments', () => {
  const shapes: readonly [what: string, change: Partial<Draft>, types: readonly string[]][] = [
    ['text and a file', {}, ['multipart/mixed', 'text/plain', 'application/pdf']],
    [
      'HTML and a file',
      { text: null, html: '<p>Hi' },
      ['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/html', 'application/pdf'],
    ],
    [
      'a shown image',
      { html: '<img src="cid:i@x">', attachments: [file({ contentType: 'image/png', contentId: '<i@x>' })] },
      ['multipart/alternative', 'text/plain', 'multipart/related', 'text/html', 'image/png'],
    ],
    [
      'an image that is not shown',
      { html: '<p>Hi', attachments: [file({ contentType: 'image/png', contentId: 'i@x' })] },
      ['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/html', 'image/png'],
    ],
    ['nothing but a file', { text: null }, ['multipart/mixed', 'text/plain', 'application/pdf']],
    [
      'a message',
      { attachments: [file({ contentType: 'message/rfc822', content: Buffer.from('Subject: x\n\nbody\n') })] },
      ['multipart/mixed', 'text/plain', 'message/rfc822'],
    ],
    [
      'a message that cannot travel',
      { attachments: [file({ contentType: 'message/rfc822', content: Buffer.from('Subject: ü\n\nx') })] },
      ['multipart/mixed', 'text/plain', 'application/octet-stream'],
    ],
    [
      'a type that is a structure',
      { attachments: [file({ contentType: 'multipart/mixed; boundary=x' })] },
      ['multipart/mixed', 'text/plain', 'application/octet-stream'],
    ],
    [
      'a type that is none',
      { attachments: [file({ contentType: 'x\r\nBcc: evil@x.yz' })] },
      ['multipart/mixed', 'text/plain', 'application/octet-stream'],
    ],
  ]
  for (const [what, change, expected] of shapes) {
    it(`has the shape for ${what}`, async () => {
      const bytes = await wire(change)
      assert.deepEqual(types(bytes).slice(0, expected.length), expected)
      assert.notMatch(bytes.toString('latin1'), /\r(?!\n)|(?<!\r)\n|^bcc:/im)
    })
  }

  it('keeps octets, names and text', async () => {
    const content = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) & 255))
    const long = `${'long'.repeat(60)}.png`
    const names = ['plain.txt', 'ünïcødé 😀.pdf', 'a "quoted"; name.bin', long, 'back\\slash']
    const attachments = names.map((filename) => file({ filename, content }))
    const mail = await parse({ text: 'Grüße\r\n.\nFrom here\n', html: '<p>Grüße</p>', attachments })
    assert.deepEqual(
      mail.attachments.map(({ filename }) => filename),
      names,
    )
    assert.ok(mail.attachments.every((one) => one.content.equals(content)))
    assert.strictEqual(mail.text, 'Grüße\n.\nFrom here\n')
    assert.strictEqual(mail.html, '<p>Grüße</p>')
    assert.strictEqual(mail.subject, 'Hello')
  })

  it('gives a text file its charset, unless it has one or is not UTF-8', async () => {
    const typeOf = async (change: Partial<DraftAttachment>): Promise<string | undefined> =>
      /^content-type: (text\/(?!plain; charset=utf-8\r)[^\r]*(?:\r\n [^\r]*)*)/im
        .exec((await wire({ text: 'x', attachments: [file(change)] })).toString('latin1'))?.[1]
        ?.replaceAll(/\r\n\s*/g, ' ')
    const calendar = { filename: 'a.ics', contentType: 'text/calendar', content: Buffer.from('SUMMARY:Büro') }
    assert.strictEqual(await typeOf(calendar), 'text/calendar; charset=utf-8; name=a.ics')
    assert.strictEqual(
      await typeOf({ ...calendar, contentType: 'text/calendar; method=REQUEST;' }),
      'text/calendar; method=REQUEST; charset=utf-8; name=a.ics',
    )
    assert.strictEqual(
      await typeOf({ ...calendar, contentType: 'text/calendar; charset=iso-8859-1' }),
      'text/calendar; charset=iso-8859-1; name=a.ics',
    )
    assert.strictEqual(
      await typeOf({ ...calendar, content: Buffer.from('B\xfcro', 'latin1') }),
      'text/calendar; name=a.ics',
    )
  })

  it('permits no injection by a file name or content id', async () => {
    const evil = 'x\r\nBcc: evil@x.yz\r\n\r\n'
    const bytes = await wire({
      html: '<img src="cid:xBcc:evil@x.yz">',
      attachments: [file({ filename: evil, contentId: evil }), file({ filename: `${evil}2` })],
    })
    const mail = await simpleParser(bytes)
    assert.strictEqual(mail.bcc, undefined)
    assert.notMatch(bytes.toString('latin1'), /^bcc:/im)
    assert.strictEqual(mail.attachments.length, 2)
  })

  it('reads no files and fetches no URLs', async () => {
    const mail = await parse({
      html: '<img src="file:///etc/passwd"><img src="http://127.0.0.1:1/x">',
      attachments: [file({ filename: '/etc/passwd', content: Buffer.alloc(0) })],
    })
    assert.strictEqual(mail.attachments[0]?.content.length ?? 0, 0)
    assert.match(mail.html || '', /127\.0\.0\.1:1/)
  })

  it('chooses boundaries that no content contains', async () => {
    const hex = '0190a6f0111172228333444455556666'
    const lines = `--=_-${hex}-Part_1\r\n--=_-${hex}_-Part_1--\r\n`
    const content = Buffer.from(`Subject: x\r\n\r\n${lines}`)
    const mail = await parse({ text: lines, attachments: [file({ contentType: 'message/rfc822', content })] })
    assert.strictEqual(mail.text, lines.replaceAll('\r\n', '\n'))
    assert.strictEqual(mail.attachments.length, 1)
  })

  it('writes the same header as without attachments', async () => {
    const withFile = (
      await compose(
        draft({
          headers: [
            ['X-Custom', 'ü'],
            ['Bcc', 'x@y.zz'],
          ],
        }),
      )
    ).fields
    const without = (
      await compose(
        draft({
          headers: [
            ['X-Custom', 'ü'],
            ['Bcc', 'x@y.zz'],
          ],
          attachments: [],
        }),
      )
    ).fields
    const own = (fields: typeof withFile): object[] => fields.filter(({ name }) => !name.startsWith('content-'))
    assert.deepEqual(own(withFile), own(without))
    assert.deepEqual(
      withFile.filter(({ name }) => name.startsWith('content-')).map(({ name }) => name),
      ['content-type'],
    )
  })
})
