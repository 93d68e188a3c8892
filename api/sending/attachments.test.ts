import { assert } from 'chai'
import fc from 'fast-check'
import { attachments, sanitizeFilename, decodeBase64 } from './attachments.ts'

describe('base64', () => {
  it('is decoded, with and without line breaks', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64')
        for (const written of [text, text.replace(/.{60}/g, '$&\n'), text.replace(/.{76}/g, '$&\r\n')])
          assert.deepEqual(decodeBase64(written), Buffer.from(bytes))
      }),
    )
  })
  for (const text of [
    'a',
    'ab',
    'abc',
    'abcde',
    'ab=c',
    'a===',
    '====',
    'ab==cd==',
    'ab-_',
    'ab c',
    'ab\u00e9=',
    'data:text/plain;base64,YQ==',
    'YQ==\u0000',
    'YQ= =',
    '{}',
  ])
    it(`refuses ${JSON.stringify(text)}`, () => assert.strictEqual(decodeBase64(text), null))
})

describe('names of attachments', () => {
  const NAMES: readonly (readonly [given: string, sanitized: string])[] = [
    ['invoice.pdf', 'invoice.pdf'],
    ['Rechnung März.pdf', 'Rechnung März.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\evil.exe', 'evil.exe'],
    ['a\r\nX-Evil: 1.txt', 'aX-Evil 1.txt'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['a"b;c=d.txt', 'ab;c=d.txt'],
    ['...', 'attachment'],
    ['', 'attachment'],
    ['/', 'attachment'],
    ['.htaccess', 'htaccess'],
    ['a\0b', 'ab'],
    ['日本語.txt', '日本語.txt'],
  ]
  for (const [given, sanitized] of NAMES)
    it(`${JSON.stringify(given)} becomes ${sanitized}`, () => assert.strictEqual(sanitizeFilename(given), sanitized))
  it('are short, have whole and visible characters, and keep their extension', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (given) => {
        const name = sanitizeFilename(given)
        assert.ok(
          name !== '' && Buffer.byteLength(name) <= 200 && name.isWellFormed() && !/[\p{Cc}\p{Cf}/\\"]/u.test(name),
          name,
        )
      }),
    )
    assert.match(sanitizeFilename(`${'ä'.repeat(500)}.pdf`), /^ä+\.pdf$/)
  })
})

describe('attachments', () => {
  const read = (item: Record<string, unknown>): unknown =>
    attachments.safeParse([{ filename: 'a.pdf', content: 'YQ==', ...item }])
  it('have the documented fields, and resolve aliases', () => {
    assert.deepEqual(
      attachments.parse([
        { filename: 'a.pdf', content: 'YQ==', content_type: 'text/calendar; method=REQUEST', content_id: '<logo@x>' },
        { content: '', contentType: 'image/png' },
        { filename: 'b.csv', content: '' },
      ]),
      [
        {
          filename: 'a.pdf',
          contentType: 'text/calendar; method=REQUEST',
          contentId: 'logo@x',
          content: Buffer.from('a'),
        },
        { filename: 'attachment', contentType: 'image/png', contentId: null, content: Buffer.alloc(0) },
        { filename: 'b.csv', contentType: 'text/csv', contentId: null, content: Buffer.alloc(0) },
      ],
    )
  })
  const REFUSED: readonly Record<string, unknown>[] = [
    { content_type: 'multipart/mixed' },
    { content_type: 'text' },
    { content_type: 'text/plain\r\nBcc: x@y.z' },
    { content_type: 'text/html; a="\r\n"' },
    { content_id: 'a b' },
    { content_id: '<a>\r\n' },
    { content: 5 },
    { content: undefined },
    { filename: {} },
  ]
  for (const item of REFUSED)
    it(`refuse ${JSON.stringify(item)}`, () => assert.ok(!(read(item) as { success: boolean }).success))
})
