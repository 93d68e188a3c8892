/**
 * Reading received mail: real mail of the corpora, and mail that was made to confuse parsers. mailparser reads the
 * parts, so the tests are about what is ours: bounds, text that PostgreSQL stores, and no failure for any octets.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import type { ReceivedContent } from '#src/inbound-mail/received-content.ts'
import { parseReceivedMail, type ParsedEmail } from './received-mail-parser.ts'

const CORPORA = join(import.meta.dirname, '../../test/corpora')
/** All of the JSON: texts, headers, inline files in base64, and the rest. */
const MAX_JSON = 700_000

const resolve = (): Promise<never> => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
const parse = (raw: Buffer | string): Promise<ParsedEmail> =>
  parseReceivedMail(
    {
      raw: Buffer.from(raw),
      mailFrom: 'a@b.example',
      peer: '192.0.2.1',
      helo: 'mail.b.example',
      recipient: 'c@d.example',
    },
    { serverName: 'mx.example', resolve, filter: null },
  )

function assertStorable({ content }: ParsedEmail): void {
  const json = JSON.stringify(content)
  assert.isBelow(json.length, MAX_JSON)
  assert.ok(!json.includes('\\u0000'), 'NUL')
  assert.notMatch(json, /\\ud[89a-f]/, 'half of a surrogate pair')
}

function lines(...text: string[]): string {
  return text.join('\r\n')
}

const HEAD = lines('From: a@b.example', 'Subject: s', 'Date: Thu, 1 Jan 2026 10:00:00 +0000', 'Message-ID: <1@b>', '')
const multipart = (...parts: string[]): string =>
  lines(`${HEAD}Content-Type: multipart/mixed; boundary=b`, '', ...parts.map((part) => `--b\r\n${part}`), '--b--', '')
const file = (disposition: string, body = 'eA==', type = 'application/octet-stream'): string =>
  multipart(
    lines(
      `Content-Type: ${type}`,
      `Content-Disposition: ${disposition}`,
      'Content-Transfer-Encoding: base64',
      '',
      body,
    ),
  )

function nested(depth: number): string {
  let text = 'Content-Type: text/plain\r\n\r\ndeep\r\n'
  for (let i = 0; i < depth; i++)
    text = lines(`Content-Type: multipart/mixed; boundary=b${i}x`, '', `--b${i}x`, text, `--b${i}x--`, '')
  return HEAD + text
}

describe('reading received mail', () => {
  for (const folder of ['bounces', 'complaints', 'not-bounces'])
    it(`reads the corpus ${folder} as mailparser does`, async () => {
      for (const name of readdirSync(join(CORPORA, folder))) {
        const raw = readFileSync(join(CORPORA, folder, name))
        const [ours, theirs] = await Promise.all([
          parse(raw),
          simpleParser(raw, { skipHtmlToText: true, skipTextToHtml: true, keepDeliveryStatus: true } as object),
        ])
        assertStorable(ours)
        const text = (theirs.text ?? '').slice(0, 65_536).replaceAll('\0', '\u{FFFD}').toWellFormed()
        assert.equal(ours.content.text ?? '', text, name)
        assert.deepEqual(
          ours.attachments.map(({ content, contentType }) => [contentType, Buffer.from(content).toString('hex')]),
          theirs.attachments.map(({ content, contentType }) => [contentType, content.toString('hex')]),
          name,
        )
      }
    })

  const KINDS: readonly [
    what: string,
    raw: string | Buffer,
    expected: (content: ReceivedContent) => unknown,
    is: unknown,
  ][] = [
    ['nothing', '', (c) => [c.from, c.text, c.attachments], [null, null, []]],
    ['no empty line', 'From: a@b.example', (c) => c.from?.address, 'a@b.example'],
    ['no header', '\r\nHello', (c) => c.text, 'Hello'],
    ['bare LF', 'From: a@b.example\nSubject: s\n\nHello\n', (c) => [c.subject, c.text?.trim()], ['s', 'Hello']],
    [
      'a boundary that never ends',
      `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello`,
      (c) => c.text,
      'Hello',
    ],
    [
      'a boundary that never begins',
      `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\nHello`,
      (c) => c.attachments,
      [],
    ],
    ['a multipart without a boundary', `${HEAD}Content-Type: multipart/mixed\r\n\r\nHello`, (c) => c.attachments, []],
    ['wrong base64', file('attachment', '*** not = base64 ***'), (c) => c.attachments.length, 1],
    [
      'a name in RFC 2231',
      file("attachment; filename*=utf-8''%E2%82%AC%20rates.txt"),
      (c) => c.attachments[0]?.filename,
      '€ rates.txt',
    ],
    [
      'a name in sections',
      file("attachment; filename*0*=utf-8''%E2%82; filename*1*=%AC.txt"),
      (c) => c.attachments[0]?.filename,
      '€.txt',
    ],
    [
      'a name in an encoded word',
      file('attachment; filename="=?utf-8?b?4oKs?="'),
      (c) => c.attachments[0]?.filename,
      '€',
    ],
    ['a name with a path', file('attachment; filename="../../etc/passwd"'), (c) => c.attachments.length, 1],
    ['a name with NUL', file('attachment; filename="a\0b"'), (c) => c.attachments[0]?.filename?.includes('\0'), false],
    [
      'a very long name',
      file(`attachment; filename="${'n'.repeat(9000)}"`),
      (c) => c.attachments[0]?.filename?.length,
      255,
    ],
    ['an unknown charset', `${HEAD}Content-Type: text/plain; charset=klingon\r\n\r\nHello`, (c) => c.text, 'Hello'],
    [
      'Latin-1',
      Buffer.from(`${HEAD}Content-Type: text/plain; charset=iso-8859-1\r\n\r\n\xFC`, 'latin1'),
      (c) => c.text,
      'ü',
    ],
    ['UTF-7', `${HEAD}Content-Type: text/plain; charset=utf-7\r\n\r\n+AOQ-`, (c) => typeof c.text, 'string'],
    ['8-bit headers', Buffer.from('Subject: \xC3\xBC\r\n\r\nx', 'latin1'), (c) => c.subject, 'ü'],
    ['NUL in the text', `${HEAD}\r\na\0b`, (c) => c.text, 'a\u{FFFD}b'],
    ['two From fields', `From: z@z.example\r\n${HEAD}\r\nx`, (c) => c.spam.reasons.includes('several-from'), true],
    ['a group', 'To: friends: a@b.example, c@d.example;\r\n\r\nx', (c) => c.to.length, 2],
    [
      'ten thousand recipients',
      `To: ${Array.from({ length: 10_000 }, (_, i) => `a${i}@b.example`).join(', ')}\r\n\r\nx`,
      (c) => c.to.length,
      100,
    ],
    [
      'ten thousand headers',
      `${'X-A: b\r\n'.repeat(10_000)}\r\nx`,
      (c) => [c.headers.length, c.is_truncated],
      [200, true],
    ],
    ['one header of a megabyte', `Subject: ${'s'.repeat(1_000_000)}\r\n\r\nx`, (c) => c.headers.length <= 1, true],
    [
      'a text of two megabytes',
      `${HEAD}\r\n${'x'.repeat(2_000_000)}`,
      (c) => [c.text?.length, c.is_truncated],
      [65_536, true],
    ],
    [
      'many attachments',
      multipart(...Array.from({ length: 500 }, () => 'Content-Disposition: attachment\r\n\r\nx')),
      (c) => [c.attachments.length, c.is_truncated],
      [100, true],
    ],
    [
      'a zip bomb',
      file('attachment; filename=b.gz', gzipSync(Buffer.alloc(50_000_000)).toString('base64')),
      (c) => (c.attachments[0]?.size ?? 0) < 60_000,
      true,
    ],
    [
      'a large file',
      file('attachment', Buffer.alloc(40_000).toString('base64')),
      (c) => [c.attachments[0]?.size, c.attachments[0]?.content_base64],
      [40_000, null],
    ],
    ['a program', file('attachment; filename=run.exe'), (c) => c.spam.reasons.includes('executable-attachment'), true],
    ['an automatic reply', `Auto-Submitted: auto-replied\r\n${HEAD}\r\nx`, (c) => c.is_automatic, true],
    ['a list', `List-Id: <l.example>\r\n${HEAD}\r\nx`, (c) => c.is_automatic, true],
    ['mail of a person', `Auto-Submitted: no\r\n${HEAD}\r\nx`, (c) => c.is_automatic, false],
    ['a date that is none', 'Date: yesterday\r\n\r\nx', (c) => c.date, null],
    ['a name of an object', '__proto__: x\r\nconstructor: y\r\n\r\nx', (c) => c.headers.length, 2],
    ['nested a hundred times', nested(100), (c) => c.attachments.length, 0],
  ]
  for (const [what, raw, pick, expected] of KINDS)
    it(`reads ${what}`, async () => {
      const parsed = await parse(raw)
      assertStorable(parsed)
      assert.deepEqual(pick(parsed.content), expected)
    })

  it('reads at most ten DKIM signatures', async () => {
    const signature = 'DKIM-Signature: v=1; a=rsa-sha256; d=b.example; s=s; h=from; bh=x; b=y\r\n'
    const { content } = await parse(`${signature.repeat(40)}${HEAD}\r\nx`)
    assert.isAtMost(content.authentication.dkim.length, 10)
  })

  it('reads any octets, and real mail with octets changed, into what PostgreSQL stores', async () => {
    const sample = readFileSync(join(CORPORA, 'bounces', readdirSync(join(CORPORA, 'bounces'))[0] ?? ''))
    const changes = fc.array(fc.tuple(fc.nat(sample.length - 1), fc.nat(255)), { maxLength: 20 })
    const changed = changes.map((list) => {
      const copy = Buffer.from(sample)
      for (const [at, octet] of list) copy[at] = octet
      return copy
    })
    const octets = fc.uint8Array({ maxLength: 2000 }).map((array) => Buffer.from(array))
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, octets), async (raw) => assertStorable(await parse(raw))),
      { numRuns: 60 },
    )
  })
})
