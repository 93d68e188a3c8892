import { assert } from 'chai'
import { parseHeaderFields, parseFieldGroups } from './header-fields.ts'
import { parseMail, decodeText, walkParts } from './mime.ts'

const mail = (text: string): ReturnType<typeof parseMail> => parseMail(Buffer.from(text, 'latin1'))
const typesIn = (text: string): string[] => [...walkParts(mail(text))].map(({ type }) => type)

describe('header fields', () => {
  const ROWS: readonly (readonly [what: string, text: string, fields: readonly string[], rest: string])[] = [
    ['plain', 'A: 1\nB: 2\n\nrest', ['a=1', 'b=2'], 'rest'],
    ['folded', 'A: 1\n 2\n\t3\n\n', ['a=1 2 3'], ''],
    ['after an mbox line', 'From x Mon\n>From y\nA: 1\n\n', ['a=1'], ''],
    [
      'with a boundary on an unfolded line',
      'C: multipart/report;\nboundary="x"\n\n',
      ['c=multipart/report; boundary="x"'],
      '',
    ],
    ['with a space before the colon', 'A : 1\n\n', ['a=1'], ''],
    ['without an empty line', 'A: 1\nhello world', ['a=1'], 'hello world'],
    ['missing', 'hello world', [], 'hello world'],
    ['of an empty text', '', [], ''],
  ]
  for (const [what, text, fields, rest] of ROWS) {
    it(what, () => {
      const read = parseHeaderFields(text)
      assert.deepEqual([read.fields.map(({ name, value }) => `${name}=${value}`), read.rest], [fields, rest])
    })
  }
  it('are limited in number and length', () => {
    assert.ok(parseHeaderFields('A: b\n'.repeat(100_000)).fields.length <= 500)
    assert.ok((parseHeaderFields(`A: ${'b\n c'.repeat(100_000)}\n\n`).fields[0]?.value.length ?? 0) < 20_000)
  })
  it('form groups, with other text in between', () => {
    const groups = parseFieldGroups('A: 1\n\n\nsome noise\nB: 2\nC: 3\n\nmore noise')
    assert.deepEqual(
      groups.map((fields) => fields.map(({ name }) => name).join()),
      ['a', 'b,c'],
    )
  })
})

describe('MIME parts', () => {
  const REPORT =
    'Content-Type: multipart/report; boundary="b"\n\nprologue\n--b\n\nhello\n' +
    '--b\nContent-Type: message/delivery-status\n\nA: 1\n--b--\nepilogue\n'
  it('of a report', () =>
    assert.deepEqual(typesIn(REPORT), ['multipart/report', 'text/plain', 'message/delivery-status']))
  it('with CRLF line ends', () => assert.deepEqual(typesIn(REPORT.replaceAll('\n', '\r\n')), typesIn(REPORT)))
  it('without the closing boundary', () => assert.deepEqual(typesIn(REPORT.replace('--b--', '')), typesIn(REPORT)))
  it('with a boundary other than the declared one', () => {
    const text =
      'Content-Type: multipart/report; boundary="said"\n\n' +
      '--anotherone\nContent-Type: text/plain\n\nhello\n--anotherone--\n'
    assert.deepEqual(typesIn(text), ['multipart/report', 'text/plain'])
  })
  it('of a mail in a mail', () =>
    assert.deepEqual(typesIn('Content-Type: message/rfc822\n\nSubject: x\n\nhello'), ['message/rfc822', 'text/plain']))

  const TEXTS: readonly (readonly [what: string, head: string, body: string, text: string])[] = [
    ['base64', 'Content-Transfer-Encoding: base64', 'SGVsbG8=', 'Hello'],
    ['quoted-printable', 'Content-Transfer-Encoding: quoted-printable', 'a=3Db=\nc', 'a=bc'],
    ['an unknown encoding', 'Content-Transfer-Encoding: rot13', 'Hello', 'Hello'],
    ['undeclared UTF-8', 'X: y', '\xc3\xa4', 'ä'],
    ['a charset', 'Content-Type: text/plain; charset=iso-8859-1', '\xe4', 'ä'],
    ['a wrong charset', 'Content-Type: text/plain; charset=utf-8', '\xe4', '\xe4'],
    ['an unknown charset', 'Content-Type: text/plain; charset=x-klingon', 'abc', 'abc'],
  ]
  for (const [what, head, body, text] of TEXTS)
    it(`in ${what}`, () => assert.strictEqual(decodeText(mail(`${head}\n\n${body}`)), text))

  it('are limited in depth, number and line length', () => {
    const deep = Array.from(
      { length: 500 },
      (_, i) => `Content-Type: multipart/mixed; boundary="b${i}"\n\n--b${i}\n`,
    ).join('')
    const wide = `Content-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(5000)}`
    assert.ok(typesIn(deep).length < 20)
    assert.ok(typesIn(wide).length <= 201)
    const longest = Math.max(
      ...mail(`A: b\n\n${'x'.repeat(100_000)}`)
        .body.split('\n')
        .map(({ length }) => length),
    )
    assert.ok(longest <= 2000)
  })
})
