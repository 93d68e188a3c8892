import { assert } from 'chai'
import { isHtml } from '#src/mail/html-detection.ts'
import { parseWith } from '#api/http/request-reader.ts'
import { sendBody, type SendBody } from './body.ts'

describe('detection of HTML', () => {
  for (const text of [
    '<p>x</p>',
    '<!DOCTYPE html><html></html>',
    'Hello<br>you',
    'a <B>b</B>',
    '<div\nclass="x">',
    '<br/>',
    'see <a href="https://x.example">x</a>',
    '</p>',
  ])
    it(`${JSON.stringify(text)} is HTML`, () => assert.ok(isHtml(text)))
  for (const text of [
    '',
    'plain',
    'a < b and c > d',
    'mail <john@example.com>',
    'I <3 you',
    '<project> name',
    '<p',
    '1<a',
    '&nbsp;',
    '<https://example.com>',
    '<abc>',
  ])
    it(`${JSON.stringify(text)} is not HTML`, () => assert.ok(!isHtml(text)))
  it('is detected in linear time', () => {
    // a backtracking pattern would need minutes for these
    for (const text of ['<p '.repeat(500_000), '<'.repeat(2_000_000), '<!doctype '.repeat(200_000)])
      assert.ok(!isHtml(text))
  })
})

describe('parts of a message', () => {
  const read = (given: object): ReturnType<typeof parseWith<SendBody>> =>
    parseWith(sendBody, { to: 'a@b.example', subject: 's', ...given })
  const RULES: readonly (readonly [rule: string, given: object, html: string | null, text: string | null])[] = [
    ['body is HTML, detected', { body: '<p>x</p>' }, '<p>x</p>', null],
    ['body is text, detected', { body: 'x' }, null, 'x'],
    ['html', { html: 'x' }, 'x', null],
    ['text', { text: '<p>x</p>' }, null, '<p>x</p>'],
    ['html and text together make multipart/alternative', { html: '<p>x</p>', text: 'x' }, '<p>x</p>', 'x'],
    ['is_html true overrules detection', { body: 'x', is_html: true }, 'x', null],
    ['is_html false overrules detection', { body: '<p>x</p>', is_html: false }, null, '<p>x</p>'],
    ['an HTML body beside a text', { body: '<p>x</p>', text: 'x' }, '<p>x</p>', 'x'],
    ['a text body beside html', { body: 'x', html: '<p>x</p>' }, '<p>x</p>', 'x'],
    ['the same said twice', { body: '<p>x</p>', html: '<p>x</p>' }, '<p>x</p>', null],
  ]
  for (const [rule, given, html, text] of RULES)
    it(rule, () => {
      const result = read(given)
      assert.deepEqual(result.ok && [result.value.html, result.value.text], [html, text])
    })
  it('two different HTML parts are an error', () =>
    assert.deepEqual(read({ body: '<p>x</p>', html: '<p>y</p>' }), {
      ok: false,
      details: [{ path: 'html', message: 'contradicts body, which is html too' }],
    }))
  it('two different text parts are an error', () =>
    assert.deepEqual(read({ body: 'x', text: 'y' }), {
      ok: false,
      details: [{ path: 'text', message: 'contradicts body, which is text too' }],
    }))
})
