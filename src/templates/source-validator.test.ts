import { assert, expect } from 'chai'
import fc from 'fast-check'
import { validateSource } from './source-validator.ts'
import { TemplateError } from './helpers.ts'

const GOOD: readonly string[] = [
  '',
  'no variables',
  '{{name}}',
  '{{{name}}}',
  '{{&name}}',
  '{{a.b.c}}',
  '{{../a}}',
  '{{@root.a}}',
  '{{this}}',
  '{{[odd name]}}',
  '{{! a comment }}',
  '{{#if a}}x{{else}}y{{/if}}',
  '{{#if a}}x{{else if b}}y{{/if}}',
  '{{#unless a}}x{{/unless}}',
  '{{#each list as |item i|}}{{i}}{{item.name}}{{else}}none{{/each}}',
  '{{#with a}}{{b}}{{/with}}',
  '{{lookup list 1}}',
  '{{#section}}x{{/section}}',
  '{{^section}}x{{/section}}',
  '{{~name~}}',
  '\\{{name}}',
  '{{#if (eq a "b")}}x{{/if}}',
  '{{#eq a "b"}}x{{else}}y{{/eq}}',
  '{{upper (default name "friend")}}',
  '{{date at}}',
  '{{date at "yyyy" zone="UTC"}}',
  // variables that happen to be called like a helper
  '{{date}}',
  '{{number}}',
  '{{date.start}}',
]

const BAD: readonly [source: string, reason: RegExp][] = [
  ['{{foo bar}}', /^line 1: unknown helper "foo"; available helpers: if, unless,/],
  ['a\nb\n{{foo bar}}', /^line 3: unknown helper "foo"/],
  ['{{a.b c}}', /unknown helper "a\.b"/],
  ['{{foo x=1}}', /unknown helper "foo"/],
  ['{{#foo a}}x{{/foo}}', /unknown helper "foo"/],
  ['{{#if (foo)}}x{{/if}}', /unknown helper "foo"/],
  ['{{upper (foo a)}}', /unknown helper "foo"/],
  ['{{upper name=(foo a)}}', /takes 1 value, not 0/],
  ['{{date a x=(foo a)}}', /unknown helper "foo"/],
  ['{{log "x"}}', /unknown helper "log"/],
  ['{{constructor "x"}}', /unknown helper "constructor"/],
  ['{{__proto__ "x"}}', /unknown helper "__proto__"/],
  ['{{hasOwnProperty "x"}}', /unknown helper "hasOwnProperty"/],
  ['{{helperMissing "x"}}', /unknown helper "helperMissing"/],
  ['{{#blockHelperMissing "x"}}y{{/blockHelperMissing}}', /unknown helper "blockHelperMissing"/],
  ['{{"quoted" x}}', /unknown helper "quoted"/],
  ['{{1 x}}', /unknown helper/],
  ['{{#if}}x{{/if}}', /^line 1: if takes 1 value, not 0/],
  ['{{#if a b}}x{{/if}}', /if takes 1 value, not 2/],
  ['{{#each}}x{{/each}}', /each takes 1 value, not 0/],
  ['{{if a}}', /if is a block: \{\{#if …\}\}/],
  ['{{upper (if a)}}', /if is a block/],
  ['{{#upper a}}x{{/upper}}', /upper is not a block/],
  ['{{#lookup a b}}x{{/lookup}}', /lookup is not a block/],
  ['{{upper a b}}', /upper takes 1 value, not 2/],
  ['{{date a b c}}', /date takes 1 to 2 values, not 3/],
  ['{{> partial}}', /^line 1: partials .* not supported/],
  ['{{> (lookup . "x")}}', /partials .* not supported/],
  ['{{#> layout}}x{{/layout}}', /partials .* not supported/],
  ['{{#*inline "x"}}y{{/inline}}', /decorators .* not supported/],
  ['{{* decorator}}', /decorators .* not supported/],
  ['{{#if a}}{{> x}}{{/if}}', /partials/],
  ['{{#if a}}\nx{{/each}}', /^line 1: if doesn't match each/],
  ['x\n{{#if a}}', /^line 2: cannot be read at the end of .*too early/],
  ['{{name', /^line 1: cannot be read at the end of "\{\{name"/],
  ['{{}}', /^line 1: cannot be read/],
  ['{{/if}}', /^line 1: cannot be read/],
  ['{{else}}', /^line 1: cannot be read/],
  ['{{#if a}}'.repeat(101) + '{{/if}}'.repeat(101), /nested more than 100 deep/],
  [`{{upper ${'(upper '.repeat(101)}a${')'.repeat(101)}}}`, /nested more than 100 deep/],
]

describe('validation of a template source', () => {
  for (const source of GOOD) {
    it(`accepts ${source.slice(0, 60)}`, () => validateSource(source))
  }

  for (const [source, reason] of BAD) {
    it(`rejects ${source.slice(0, 60).replaceAll('\n', '\\n')}`, () => {
      expect(() => validateSource(source)).to.throw(TemplateError, reason)
    })
  }

  it('rejects a source with too many expressions before parsing it', () => {
    validateSource('{{a}}'.repeat(15_000))
    for (const piece of ['{{a}}', '{{#if a}}', '{{{{a'])
      assert.throws(() => validateSource(piece.repeat(200_000)), /more than 15000 expressions/)
  })
  it('reports every error in one line', () => {
    const piece = fc.constantFrom(
      '{{',
      '}}',
      '{{#',
      '{{/',
      '{{>',
      '{{{',
      '}}}',
      '(',
      ')',
      'if',
      'each',
      'x',
      '"',
      '|',
      ' as |',
      '=',
      '\n',
      '~',
      '&',
      '@',
      '..',
      '.',
      '[',
      ']',
      '!--',
      '\\',
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        (source) => {
          try {
            validateSource(source)
          } catch (error) {
            if (!(error instanceof TemplateError)) throw error
            assert.strictEqual(error.message.includes('\n'), false, error.message)
          }
        },
      ),
      { numRuns: 2000 },
    )
  })
})
