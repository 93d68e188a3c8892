import { randomBytes } from 'node:crypto'
import { constants, zstdCompressSync } from 'node:zlib'
import { assert } from 'chai'
import fc from 'fast-check'
import { submissionOf } from '#test/support/submission.ts'
import { bodyOf, compressBody, decompressBody, isCompressible, type StoredBody } from './body-compression.ts'
import type { Submission } from './submission.ts'

const PADDING = 'A mail of a few words. '.repeat(1000)

function restored(body: StoredBody): StoredBody | null {
  return decompressBody(compressBody(body) ?? assert.fail('it was not compressed'))
}

describe('body compression', () => {
  it('restores any body', () => {
    const text = fc.option(fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(text, text, fc.option(fc.uint8Array()), (html, plain, raw) => {
        const body = {
          html: html === null ? null : PADDING + html,
          text: plain,
          raw: raw === null ? null : Buffer.concat([Buffer.from(PADDING), raw]),
        }
        if (body.html !== null || body.raw !== null) assert.deepEqual(restored(body), body)
      }),
    )
  })

  const bodies: readonly [what: string, body: StoredBody][] = [
    ['a text without HTML', { html: null, text: PADDING, raw: null }],
    ['empty parts beside a long one', { html: '', text: PADDING, raw: Buffer.alloc(0) }],
    ['characters of four octets', { html: '📬'.repeat(5000), text: null, raw: null }],
    ['octets that are no UTF-8', { html: null, text: null, raw: Buffer.alloc(9000, 0xff) }],
  ]
  for (const [what, body] of bodies) it(`restores ${what}`, () => assert.deepEqual(restored(body), body))

  it('restores texts that were given as octets', () => {
    const compressed = compressBody({ html: Buffer.from(PADDING), text: 'é', raw: null })
    assert.deepEqual(decompressBody(compressed ?? assert.fail('it was not compressed')), {
      html: PADDING,
      text: 'é',
      raw: null,
    })
  })

  it('restores the longest body that is compressed, in characters of three octets', () => {
    const html = '€'.repeat(131_072)
    assert.isTrue(isCompressible(submissionOf('w', { html, text: null })))
    assert.strictEqual(restored({ html, text: null, raw: null })?.html, html)
  })

  const submissions: readonly [what: string, fields: Partial<Submission>, is: boolean][] = [
    ['a short mail', { html: 'x'.repeat(8000), text: null }, false],
    ['a receipt', { html: 'x'.repeat(12_000), text: null }, true],
    ['a short mail with a large file', { attachments: [fileOf(100_000)] }, false],
    ['HTML and text that are short', { html: 'x'.repeat(5000), text: 'x'.repeat(5000) }, true],
    ['a mail that was submitted complete', { smtp: { raw: Buffer.alloc(20_000), envelope: { from: '' } } }, true],
    ['a mail that was submitted with a file', { smtp: { raw: Buffer.alloc(200_000), envelope: { from: '' } } }, false],
    ['HTML of megabytes', { html: Buffer.alloc(3_000_000), text: null }, false],
    ['scheduled mail, which may be changed', { html: 'x'.repeat(12_000), scheduledAt: new Date() }, false],
  ]
  for (const [what, fields, is] of submissions)
    it(`${is ? 'is' : 'is not'} for ${what}`, () => assert.strictEqual(isCompressible(submissionOf('w', fields)), is))

  it('leaves longer bodies as they are', () => {
    assert.isNull(compressBody({ html: '€'.repeat(131_072), text: 'x', raw: null }))
  })

  it('leaves octets as they are that hardly become smaller', () => {
    assert.isNull(compressBody({ html: null, text: null, raw: randomBytes(20_000) }))
  })

  it('reports damage, whatever octet it is in', () => {
    const whole = compressBody({ html: PADDING, text: 'Hello', raw: null }) ?? assert.fail('it was not compressed')
    for (let at = 0; at < whole.length; at++) {
      const damaged = Buffer.from(whole)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      assert.isNull(decompressBody(damaged), `octet ${at}`)
    }
    assert.isNull(decompressBody(whole.subarray(0, -1)))
    assert.isNull(decompressBody(Buffer.alloc(0)))
  })

  const hostile: readonly [what: string, octets: Buffer][] = [
    ['lengths that are missing', Buffer.alloc(11)],
    ['lengths beyond the end', Buffer.from('ff00000000000000ffffffff', 'hex')],
    ['octets behind the end', Buffer.alloc(13)],
    ['more than any body has', Buffer.alloc(1_000_000)],
  ]
  for (const [what, octets] of hostile)
    it(`reports ${what}`, () => {
      const params = { [constants.ZSTD_c_checksumFlag]: 1 }
      assert.isNull(decompressBody(zstdCompressSync(octets, { params })))
    })

  it('reads a row that is not compressed as it is', () => {
    const row = { html: '<p>Hi</p>', text: null, raw: null }
    assert.deepEqual(bodyOf({ ...row, compressed: null }), row)
  })
})

function fileOf(length: number): Submission['attachments'][number] {
  return { filename: 'a.pdf', contentType: 'application/pdf', contentId: null, content: Buffer.alloc(length) }
}
