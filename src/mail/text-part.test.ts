import { assert } from 'chai'
import * as fc from 'fast-check'
import { textFromHtml } from './html-text.ts'
import { createTextParts } from './text-part.ts'

const long = (words: string): string => `<p>${words} ${'and so on '.repeat(100)}</p>`

describe('the text part', () => {
  it('is converted twice and then remembered', () => {
    let conversions = 0
    const textPartOf = createTextParts((html) => {
      conversions++
      return textFromHtml(html)
    })
    const html = long('Hello')
    const texts = Array.from({ length: 5 }, () => textPartOf(html))
    assert.deepEqual(new Set(texts), new Set([textFromHtml(html)]))
    assert.strictEqual(conversions, 2)
  })

  it('is never that of other HTML, even if only one character differs', () => {
    const textPartOf = createTextParts()
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900 }), fc.constantFrom('x', 'y', 'é', '→'), (at, letter) => {
        const html = long('Hello')
        const other = `${html.slice(0, at)}${letter}${html.slice(at + 1)}`
        for (const each of [html, html, other, other, html]) assert.strictEqual(textPartOf(each), textFromHtml(each))
      }),
    )
  })

  it('of short and of very long HTML is not remembered', () => {
    let conversions = 0
    const textPartOf = createTextParts(() => String(++conversions))
    const texts = ['<p>Hi', 'x'.repeat(200_000)].flatMap((html) => [html, html, html].map(textPartOf))
    assert.deepEqual(texts, ['1', '2', '3', '4', '5', '6'])
  })
})
