/**
 * Positions of expressions, checked against Handlebars: the masked source contains nothing to evaluate, and the found
 * text is the original expression.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import Handlebars from 'handlebars'
import { validateSource } from './source-validator.ts'
import { findExpressions, lineAt, maskExpressions } from './expressions.ts'

const CASES: readonly [source: string, found: string][] = [
  ['a {{b}} c', 'value:{{b}}'],
  ['{{{b}}}{{&b}}{{~b~}}', 'raw-value:{{{b}}} raw-value:{{&b}} value:{{~b~}}'],
  ['{{#if a}}x{{else if b}}y{{^}}z{{/if}}', 'open:{{#if a}} else:{{else if b}} else:{{^}} close:{{/if}}'],
  ['{{^a}}x{{else}}y{{/a}}', 'open:{{^a}} else:{{else}} close:{{/a}}'],
  ['{{upper "}}"}}{{upper \'}}\'}}{{[}}]}}', 'value:{{upper "}}"}} value:{{upper \'}}\'}} value:{{[}}]}}'],
  ['{{! a }}{{!-- }} --}}{{!--}}x', 'comment:{{! a }} comment:{{!-- }} --}} comment:{{!--}}'],
  ['\\{{a}} {{b}} \\\\{{c}}', 'value:{{b}} value:{{c}}'],
  ['{{> header}}{{~>footer}}', 'partial:{{> header}} partial:{{~>footer}}'],
  ['{{{{raw}}}} {{a}} {{{{/raw}}}} {{b}}', 'raw-block:{{{{raw}}}} {{a}} {{{{/raw}}}} value:{{b}}'],
]

describe('expressions in a source', () => {
  for (const [source, found] of CASES) {
    it(`are found in ${source}`, () => {
      assert.strictEqual(
        findExpressions(source)
          .map(({ kind, start, end }) => `${kind}:${source.slice(start, end)}`)
          .join(' '),
        found,
      )
    })
  }

  it('masking removes everything that Handlebars would evaluate and keeps every offset', () => {
    const piece = fc.constantFrom(
      '{{a}}',
      '{{{a}}}',
      '{{#if a}}',
      '{{/if}}',
      '{{else}}',
      '{{! x }}',
      '{{!-- }} --}}',
      '{{upper "}}"}}',
      '{{lookup a "\\""}}',
      "{{upper 'it\\'s'}}",
      '\\',
      '"',
      'text',
      '\n',
      '{',
      '}',
      '<p>',
      '{{&a}}',
      '{{~a~}}',
      '{{[a }} b]}}',
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join('')),
        (source) => {
          try {
            validateSource(source)
          } catch {
            return
          }
          const expressions = findExpressions(source)
          const masked = maskExpressions(source, expressions)
          assert.strictEqual(masked.length, source.length)
          assert.strictEqual(lineAt(masked, masked.length), lineAt(source, source.length))
          assert.deepEqual(
            Handlebars.parse(masked).body.filter(({ type }) => type !== 'ContentStatement'),
            [],
          )
          // what is between them is all text
          let from = 0
          for (const { start, end } of expressions) {
            assert.strictEqual(masked.slice(from, start), source.slice(from, start))
            from = end
          }
        },
      ),
      { numRuns: 3000 },
    )
  })
})
