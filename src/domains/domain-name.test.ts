import { assert } from 'chai'
import { readDomainName, readNewDomainName } from './domain-name.ts'

const GOOD: readonly [text: string, name: string][] = [
  ['example.com', 'example.com'],
  ['Example.COM', 'example.com'],
  [' example.com. ', 'example.com'],
  ['a.b.c.example.co.uk', 'a.b.c.example.co.uk'],
  ['münchen.de', 'xn--mnchen-3ya.de'],
  ['MÜNCHEN.de', 'xn--mnchen-3ya.de'],
  ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  ['hello.mailstead.test', 'hello.mailstead.test'],
]
const BAD = [
  '',
  ' ',
  '.',
  'com',
  'a@example.com',
  '@example.com',
  'https://example.com',
  'example.com/',
  'example.com:25',
  '127.0.0.1',
  '[127.0.0.1]',
  '-a.com',
  'a-.com',
  'a..com',
  '.a.com',
  'exa mple.com',
  'example.com\r\nX: y',
  'exam\0ple.com',
  'a_b.com',
  `${'a'.repeat(64)}.com`,
  `${'a.'.repeat(130)}com`,
  '*.example.com',
  'x'.repeat(1_000_000),
]

describe('domain names', () => {
  for (const [text, name] of GOOD) {
    it(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(readDomainName(text), { ok: true, name }))
  }
  for (const text of BAD) {
    it(`rejects ${JSON.stringify(text.slice(0, 40))}`, () => assert.strictEqual(readDomainName(text).ok, false))
  }
})

describe('names of new domains', () => {
  const bounces = 'bounces.mail.example.net'
  const cases: readonly [text: string, reason: RegExp | null][] = [
    ['shop.com', null],
    ['a.shop.co.uk', null],
    ['me.github.io', null],
    ['hello.mailstead.test', null],
    ['mail.example.net', null],
    ['notbounces.mail.example.net', null],
    ['co.uk', /public suffix/],
    ['xn--p1ai.', /no dot|public suffix/],
    ['公司.香港', /public suffix/],
    ['com.au', /public suffix/],
    [bounces, /belongs to this service/],
    [`X.${bounces}.`, /belongs to this service/],
    [`${'a.'.repeat(115)}com`, /longer than/],
  ]
  for (const [text, reason] of cases) {
    it(`${text.slice(0, 40)} is ${reason === null ? 'accepted' : 'rejected'}`, () => {
      const read = readNewDomainName(text, bounces)
      if (reason === null) assert.strictEqual(read.ok, true)
      else assert.match(read.ok ? 'accepted' : read.reason, reason)
    })
  }
})
