import { assert } from 'chai'
import fc from 'fast-check'
import { readForm, readMultipart } from './form.ts'

const accepted: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['', {}],
  ['email=a%40b.example&first_name=J%C3%BCrgen+M', { email: 'a@b.example', first_name: 'Jürgen M' }],
  ['a=1&a=2', { a: '2' }],
  ['a', { a: '' }],
  ['&&a=&=b', { a: '', '': 'b' }],
  ['constructor=1', { constructor: '1' as never }],
]
const refused: readonly (readonly [string, RegExp])[] = [
  ['a=%00', /characters/],
  ['%00=a', /characters/],
  ['a=%FF', /characters/],
  [Array.from({ length: 101 }, (_, i) => `f${i}=1`).join('&'), /more than 100 fields/],
  ['&'.repeat(10_000_000), /more than 100 fields/],
]

describe('forms', () => {
  for (const [text, fields] of accepted)
    it(`accepts ${JSON.stringify(text)}`, () => assert.deepEqual(readForm(text), { ok: true, value: fields }))
  for (const [text, reason] of refused)
    it(`refuses ${JSON.stringify(text.slice(0, 30))}`, () => {
      const read = readForm(text)
      assert.ok(!read.ok)
      assert.match(read.reason, reason)
    })

  it('accepts __proto__ as an ordinary name', () => {
    const read = readForm('__proto__=x')
    assert.ok(read.ok && Object.getPrototypeOf(read.value) === Object.prototype)
    assert.deepEqual(Object.entries(read.value), [['__proto__', 'x']])
  })
  it('decodes what a browser encodes', () => {
    const texts = fc.string({ unit: 'grapheme' }).filter((text) => !/[\0\uFFFD]/.test(text) && text.isWellFormed())
    fc.assert(
      fc.property(fc.dictionary(texts, texts, { maxKeys: 20 }), (fields) => {
        const read = readForm(new URLSearchParams(Object.entries(fields)).toString())
        assert.ok(read.ok)
        assert.deepEqual(new Map(Object.entries(read.value)), new Map(Object.entries(fields)))
      }),
    )
  })
})

describe('multipart forms', () => {
  const part = (name: string, value: string, more = ''): string =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const TYPE = 'multipart/form-data; boundary=x'
  const CASES: readonly (readonly [what: string, text: string, fields: object | null, type?: string])[] = [
    [
      'fields',
      `${part('a', '1')}${part('List-Unsubscribe', 'One-Click')}--x--\r\n`,
      { a: '1', 'List-Unsubscribe': 'One-Click' },
    ],
    ['a value of lines, and an empty one', `${part('a', 'x\r\ny')}${part('b', '')}--x--`, { a: 'x\r\ny', b: '' }],
    ['the last of two', `${part('a', '1')}${part('a', '2')}--x--`, { a: '2' }],
    [
      'a quoted boundary, and text before the first part',
      `preamble\r\n${part('a', '1')}--x--`,
      { a: '1' },
      'multipart/form-data; charset=utf-8; boundary="x"',
    ],
    ['files are passed over', `${part('f', 'bytes', '; filename="f"')}${part('a', '1')}--x--`, { a: '1' }],
    ['nothing', '', {}],
    ['a part without a name', '--x\r\n\r\n1\r\n--x--', {}],
    ['a part that does not end', part('a', '1'), {}],
    ['no boundary', part('a', '1'), null, 'multipart/form-data'],
    ['a NUL', `${part('a', '\0')}--x--`, null],
    ['endless fields', `${part('a', '1').repeat(101)}--x--`, null],
  ]
  for (const [what, text, fields, type = TYPE] of CASES) {
    it(what, () => {
      const read = readMultipart(text, type)
      assert.deepEqual(read.ok ? { ...read.value } : null, fields)
    })
  }
})
