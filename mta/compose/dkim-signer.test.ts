/**
 * A second opinion on the body hash: dkim-signer 0.2.2 signs the same message, and its bh= (relaxed/relaxed,
 * SHA-256) must equal ours.
 *
 * It is only a second opinion, and only on plain 7-bit mail. RFC 6376 §3.4.4 knows two white space characters,
 * space and tab; dkim-signer accepts all of JavaScript's. It treats a bare CR as a line end and the message as
 * UTF-8 text, and for an empty body it hashes CRLF or the header. So its signature fails on an empty body, NBSP,
 * Latin-1, form feed and bare CR. It cannot list From twice (oversigning) and does not support Ed25519. Its time is
 * quadratic in blank lines: 100 KB of them block the process for 4 s. mailauth verifies whole signatures
 * (sign.test.ts); dkim-signer never signs mail that is sent.
 */
import { createPrivateKey } from 'node:crypto'
import { assert } from 'chai'
import { DKIMSign } from 'dkim-signer'
import * as fc from 'fast-check'
import { compose } from '#src/mime/compose.ts'
import type { Composed, Draft } from '#src/mime/draft.ts'
import { sign } from './sign.ts'
import { AT, draft, key, rsa } from './sign-messages.test-data.ts'

const privateKey = createPrivateKey({ key: rsa.privateKey, format: 'der', type: 'pkcs8' })
const HEADER = 'From: Ann <ann@example.com>\r\nTo: bob@example.org\r\nSubject: Hello\r\n\r\n'

const raw = (body: string): Draft => ({ ...draft, raw: Buffer.from(HEADER + body, 'latin1') })

/** The bh= tag of the first DKIM-Signature field; white space in it means nothing (RFC 6376 §3.5). */
function bodyHashOf(message: string): string {
  const [, tag] = /[;\s]bh=([^;]+);/.exec(message) ?? assert.fail(`no bh= in ${message}`)
  return (tag ?? '').replaceAll(/\s/g, '')
}

const ours = async (composed: Composed): Promise<string> =>
  bodyHashOf((await sign(composed, [key(rsa)], AT)).toString('latin1'))

const theirs = async (composed: Composed): Promise<string> =>
  bodyHashOf(DKIMSign(await sign(composed, []), { domainName: 'example.com', keySelector: 'rsa', privateKey }))

async function assertSame(message: Draft): Promise<void> {
  const composed = await compose(message)
  const hash = await ours(composed)
  assert.match(hash, /^[\w+/]{43}=$/)
  assert.strictEqual(hash, await theirs(composed))
}

describe('body hash compared with dkim-signer', () => {
  const report = { filename: 'a.csv', contentType: 'text/csv', contentId: null, content: Buffer.from('a,b\r\n1,2\r\n') }
  const plain: readonly [what: string, draft: Draft][] = [
    ['a text of ours', draft],
    ['HTML of ours', { ...draft, text: null, html: '<p>Hello  Bob</p>\n' }],
    ['HTML and text', { ...draft, html: '<p>Hello</p>' }],
    ['an attachment', { ...draft, attachments: [report] }],
    ['one line', raw('Hello\r\n')],
    ['no last line end', raw('Hello')],
    ['spaces at the very end', raw('Hello \t ')],
    ['spaces and tabs', raw(' a  b\t\tc \t\r\n\td   e\r\n')],
    ['blank lines between', raw('a\r\n\r\n\r\nb\r\n')],
    ['blank lines first', raw('\r\n\r\na\r\n')],
    ['blank lines last', raw('a\r\n\r\n\r\n\r\n')],
    ['lines of spaces last', raw('a\r\n  \r\n\t\r\n \t \r\n')],
    ['dots and From at line starts', raw('.\r\n..\r\nFrom me\r\n.a\r\n')],
    ['what looks like a header', raw('DKIM-Signature: v=1; bh=x; b=y\r\n\r\nSubject: no\r\n')],
    ['a line of 998', raw(`${'x'.repeat(998)}\r\n`)],
    ['every printable character', raw(`${String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i))}\r\n`)],
  ]
  for (const [what, message] of plain) it(`agrees: ${what}`, () => assertSame(message))

  it('agrees on any plain 7-bit body', () => {
    const printable = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code))
    const unit = fc.oneof(printable, fc.constantFrom(' ', '\t', '  ', '\r\n', '\r\n', '\r\n\r\n'))
    const part = fc.string({ unit, maxLength: 60 })
    // at least one character that is not white space: dkim-signer fails on an empty body
    const body = fc.tuple(part, printable, part).map((parts) => parts.join(''))
    return fc.assert(
      fc.asyncProperty(body, (text) => assertSame(raw(text))),
      { numRuns: 500 },
    )
  })

  /** mailauth agrees with ours on these. When dkim-signer does, too, the comment above is out of date. */
  const wrong: readonly [what: string, body: string][] = [
    ['an empty body', ''],
    ['blank lines only', '\r\n\r\n'],
    ['NBSP', 'a\u00a0b\r\n'],
    ['Latin-1', 'Gr\u00fc\u00dfe\r\n'],
    ['a form feed', 'a\fb\r\n'],
    ['a bare CR', 'a\rb\r\n'],
  ]
  for (const [what, body] of wrong) {
    it(`is wrong about ${what}`, async () => {
      const composed = await compose(raw(body))
      assert.notStrictEqual(await ours(composed), await theirs(composed))
    })
  }
})
