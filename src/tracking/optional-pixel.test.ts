import { assert } from 'chai'
import { trackHtml } from './html-tracking.ts'

const PIXEL =
  '<img src="https://t.example/o/x" width="1" height="1" alt="" style="display:block;border:0;width:1px;height:1px">'

describe('an open pixel that nobody asked for', () => {
  const pixel = 'https://t.example/o/x'
  const track = (html: string): string => trackHtml(html, { pixel, isPixelOptional: true, link: null })
  const cases: readonly (readonly [what: string, html: string, isInserted: boolean])[] = [
    ['a short mail', '<p>Your code is 123456</p>', false],
    ['a short mail that names an image', '<p>&lt;img&gt; <imgx></p>', false],
    ['a short mail with an image', '<p>Hi</p><IMG src="https://a.example/logo.png">', true],
    ['a mail of 3,200 characters with the pixel', 'x'.repeat(3200 - PIXEL.length), false],
    ['a longer mail', 'x'.repeat(3201 - PIXEL.length), true],
  ]
  for (const [what, html, isInserted] of cases)
    it(`is ${isInserted ? '' : 'not '}inserted into ${what}`, () =>
      assert.strictEqual(track(html), isInserted ? html + PIXEL : html))
  it('is inserted on request', () => assert.strictEqual(trackHtml('<p>Hi', { pixel, link: null }), `<p>Hi${PIXEL}`))
})
