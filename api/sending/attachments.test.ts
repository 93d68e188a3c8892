import { assert } from 'chai'
import fc from 'fast-check'
import { attachments, completeAttachment, sanitizeFilename, decodeBase64 } from './attachments.ts'

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

describe('attachments by URL', () => {
  const url = 'https://files.example/2031/invoice%20May.pdf?signature=x'
  const whyNot = (given: object): string[] => {
    const result = attachments.safeParse([given])
    return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  }

  it('keep what the request says; `path` is an alias', () => {
    const wanted = { url, filename: null, contentType: null, contentId: null }
    assert.deepEqual(attachments.parse([{ url }]), [wanted])
    assert.deepEqual(attachments.parse([{ path: url, content: null }]), [wanted])
    assert.deepEqual(
      attachments.parse([{ url, filename: '../a.txt', content_type: 'text/csv', content_id: '<logo>' }]),
      [{ url, filename: 'a.txt', contentType: 'text/csv', contentId: 'logo' }],
    )
  })
  const REFUSED: readonly (readonly [given: object, why: RegExp])[] = [
    [{}, /^0\.content: is required, or url$/],
    [{ url, content: 'YQ==' }, /^0\.url: cannot be given together with content$/],
    [{ url: 'file:///etc/passwd' }, /^0\.url: must be an http or https URL/],
    [{ path: 'invoice.pdf' }, /^0\.path: must be an http or https URL/],
    [{ url: 'https://me:secret@files.example/a' }, /^0\.url: .* without user name and password$/],
    [{ url: `https://files.example/${'x'.repeat(2000)}` }, /^0\.url: at most 2000 characters$/],
  ]
  for (const [given, why] of REFUSED)
    it(`refuse ${JSON.stringify(given).slice(0, 60)}`, () => assert.match(whyNot(given).join('; '), why))

  const NAMED: readonly (readonly [from: string, filename: string | null, served: string | null, expected: string])[] =
    [
      [url, null, null, 'invoice May.pdf application/pdf'],
      [url, 'a.txt', 'application/pdf', 'a.txt text/plain'],
      ['https://files.example/', null, 'image/png', 'attachment image/png'],
      ['https://files.example/x', null, 'text/html; charset=utf-8', 'x text/html; charset=utf-8'],
      ['https://files.example/x', null, 'multipart/mixed', 'x application/octet-stream'],
      ['https://files.example/x', null, 'text/html\r\nBcc: a@b', 'x application/octet-stream'],
      ['https://files.example/%ff', null, null, '%ff application/octet-stream'],
      ['https://files.example/..%2f..%2fpasswd', null, null, 'passwd application/octet-stream'],
    ]
  for (const [from, filename, served, expected] of NAMED)
    it(`${from}, served as ${JSON.stringify(served)}, is ${expected}`, () => {
      const remote = { url: from, filename, contentType: null, contentId: null }
      const made = completeAttachment(remote, { content: Buffer.alloc(0), contentType: served, url: from })
      assert.strictEqual(`${made.filename} ${made.contentType}`, expected)
    })
})
