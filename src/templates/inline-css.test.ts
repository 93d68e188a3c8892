/**
 * Inlines CSS in sources with Handlebars expressions: what is inlined, what stays, and that no byte of the author's
 * source is lost.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import { validateSource } from './source-validator.ts'
import { createEngine } from './engine.ts'
import { findExpressions } from './expressions.ts'
import { inlineCss } from './inline-css.ts'
import { AFTER_SHEET_CASES, WHOLE_SOURCE_CASES } from './inline-css.test-data.ts'

describe('inlining of CSS', () => {
  for (const [rule, css, html, inlined] of AFTER_SHEET_CASES) {
    it(rule, () => {
      const sheet = `<style>${css}</style>`
      assert.strictEqual(inlineCss(sheet + html), sheet + inlined)
    })
  }

  for (const [rule, html, inlined] of WHOLE_SOURCE_CASES) it(rule, () => assert.strictEqual(inlineCss(html), inlined))

  const piece = fc.constantFrom(
    '<p class="a">',
    '</p>',
    '<td style="x:{{y}}">',
    '<b class="{{c}} a"',
    '>',
    '<i {{#if a}}style="top:0"{{/if}}>',
    "<u style='a:b'>",
    '<br/>',
    '<img src={{u}} class=a>',
    '{{a}}',
    '{{{a}}}',
    '{{#if a}}',
    '{{else}}',
    '{{/if}}',
    '{{#each l}}',
    '{{/each}}',
    '{{! c }}',
    '{{upper "}}"}}',
    'text',
    '<!-- {{a}} -->',
    '\n',
    ' ',
    '"',
    '<style>.b{top:1px}</style>',
    '<style>.a{left:{{l}} }</style>',
    '<style>{{#if a}}.a{x:y}{{/if}}</style>',
    '<',
    '&lt;',
    '<a href="{{u}}?x={{default y "z"}}">',
    'style="',
    '</style>',
  )
  const source = fc
    .array(piece, { maxLength: 14 })
    .map((pieces) => `<style>.a{color:red}p{margin:0}*{left:1px}</style>${pieces.join('')}`)
    .filter((text) => {
      try {
        validateSource(text)
        return true
      } catch {
        return false
      }
    })

  it('keeps every byte of the source and adds only styles', () => {
    fc.assert(
      fc.property(source, (written) => {
        const inlined = inlineCss(written)
        // every expression, in its order; those of sheets may come again in a style
        const expressions = (text: string): string[] =>
          findExpressions(text).map(({ start, end }) => text.slice(start, end))
        const [before, after] = [expressions(written), expressions(inlined)]
        let at = 0
        for (const expression of after) if (expression === before[at]) at++
        assert.strictEqual(at, before.length, inlined)
        assert.doesNotThrow(() => validateSource(inlined))
        const bare = (text: string): string => text.replaceAll(/\sstyle=(?:"[^"]*"|'[^']*')/g, '').replaceAll(/\s/g, '')
        // as text, it looks like an attribute to `bare`
        const hasStyleText = /style="/.test(written.replaceAll(/<[^>]*>/g, ''))
        if (!hasStyleText && !/style="(?![^<]*>)|\{\{[^}]*"/.test(written))
          assert.strictEqual(bare(inlined).length >= bare(written).length, true)
      }),
      { numRuns: 600 },
    )
  })

  it('renders the same text as the original source, for any params', () => {
    const engine = createEngine()
    const textOf = (html: string, params: string): string => {
      const rendered = engine.render({ key: html, subject: '', html, text: null }, params)
      return rendered.ok ? (rendered.html ?? '').replaceAll(/\sstyle=(?:"[^"]*"|'[^']*')/g, '') : rendered.reason
    }
    const plain = fc.array(
      fc.constantFrom(
        '<p class="a">{{a}}</p>',
        '{{#if a}}<b class="a">x</b>{{else}}y{{/if}}',
        '{{#each l}}<i>{{this}}</i>{{/each}}',
        '<td style="x:{{a}}">z</td>',
        '{{{a}}}',
      ),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(plain, fc.constantFrom('{}', '{"a":"<x>","l":[1,2]}', '{"a":"b","l":[]}'), (pieces, params) => {
        const written = `<style>.a{color:red}*{left:1px}</style>${pieces.join('')}`
        assert.strictEqual(textOf(inlineCss(written), params), textOf(written, params))
      }),
      { numRuns: 200 },
    )
  })
})
