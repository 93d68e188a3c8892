/** Rendering without threads: the helpers, HTML escaping, and params that try to reach prototypes or functions. */
import { assert } from 'chai'
import { createEngine } from './engine.ts'
import type { TemplateSource } from './template-source.ts'

let versions = 0

function source(body: string, more: Partial<TemplateSource> = {}): TemplateSource {
  return { key: `t:${versions++}`, subject: 's', html: body, text: null, ...more }
}

function render(body: string, params: string | object): string {
  const result = createEngine().render(source(body), typeof params === 'string' ? params : JSON.stringify(params))
  return result.ok ? (result.html ?? '') : `FAILED ${result.reason}`
}

const HELPER_CASES: readonly [body: string, params: object, output: string][] = [
  // variables with the name of a Handlebars helper or hook
  ['{{helperMissing}} {{{log}}} {{if}} {{#each}}x{{/each}}', {}, 'FAILED the body, line 1: each takes 1 value, not 0'],
  ['[{{helperMissing}}{{blockHelperMissing}}{{@helperMissing}}{{log}}{{lookup}}]', {}, '[]'],
  [
    '{{helperMissing}} {{&log}} {{if}} {{each}} {{[with]}}',
    { helperMissing: 1, log: 2, if: 3, each: 4, with: 5 },
    '1 2 3 4 5',
  ],
  ['{{#lookup}}{{name}}{{/lookup}}{{^log}}none{{/log}}', { lookup: { name: 'x' } }, 'xnone'],
  ['{{#each a as |log|}}{{log}}{{/each}}{{log}}', { a: [1, 2], log: 3 }, '123'],
  ['{{eq a 1}} {{eq a "1"}} {{eq b null}} {{eq b undefined}}', { a: 1 }, 'true false true true'],
  ['{{#eq a 1}}yes{{else}}no{{/eq}} {{#eq a 2}}yes{{else}}no{{/eq}}{{#eq a 2}}yes{{/eq}}', { a: 1 }, 'yes no'],
  ['{{#if (ne a 1)}}other{{/if}}', { a: 2 }, 'other'],
  ['{{gt a b}} {{gte a a}} {{lt a b}} {{lte b a}} {{gt missing 1}}', { a: 10, b: '9' }, 'true true false true false'],
  [
    '{{and a b}} {{and a c}} {{or c b}} {{or c d}} {{not d}} {{#or c a}}x{{/or}}',
    { a: 1, b: 'x', c: '', d: [] },
    'true false true false true x',
  ],
  [
    '{{default a "x"}} {{default b "x"}} {{default c d "y"}} {{default zero "x"}}',
    { b: 'B', c: '', zero: 0 },
    'x B y 0',
  ],
  [
    '{{upper a}} {{lower a}} {{capitalize b}} [{{trim c}}]',
    { a: 'aBß', b: 'émile zola', c: '  x ' },
    'ABSS abß Émile zola [x]',
  ],
  [
    '{{truncate a 5}} {{truncate a 50}} {{truncate b 2}} {{truncate a}}',
    { a: 'Hello world', b: '😀😀😀' },
    'FAILED the body, line 1: truncate takes 2 values, not 1',
  ],
  [
    '{{truncate a 6}} {{truncate a 50}} {{truncate b 2}} {{truncate a missing}}',
    { a: 'Hello world', b: '😀😀😀' },
    'Hello… Hello world 😀… Hello world',
  ],
  [
    '{{number a}} {{number a decimals=1}} {{number a locale="de-DE" currency="EUR"}} [{{number missing}}]',
    { a: 1234.567 },
    '1,234.567 1,234.6 1.234,57\u00a0€ []',
  ],
  ['{{number a}}', { a: 'twelve' }, 'FAILED the body, line 1: number takes a number, not "twelve"'],
  [
    '{{number a currency="euro"}}',
    { a: 1 },
    'FAILED the body, line 1: number cannot write a number with currency="euro" decimals=undefined',
  ],
  [
    '{{number a decimals=1000}}',
    { a: 1 },
    'FAILED the body, line 1: number cannot write a number with currency=undefined decimals="1000"',
  ],
  ['{{number a locale="x_!"}}', { a: 1 }, 'FAILED the body, line 1: number does not know the locale "x_!"'],
  [
    '{{date a "yyyy-MM-dd HH:mm"}} {{date a "d LLLL" zone="Europe/Berlin" locale="de-DE"}}',
    { a: '2031-05-04T23:30:00Z' },
    '2031-05-04 23:30 5 Mai',
  ],
  ['{{date a}} {{date b "HH:mm"}} [{{date missing "HH"}}]', { a: '2031-05-04', b: 0 }, 'May 4, 2031 00:00 []'],
  [
    '{{date a "HH:mm" zone="Nowhere/Land"}}',
    { a: 0 },
    'FAILED the body, line 1: date does not know the zone "Nowhere/Land"',
  ],
  [
    '\n{{date a}}',
    { a: 'soon' },
    'FAILED the body, line 2: date takes a time such as 2031-05-04T10:00:00Z, not "soon"',
  ],
  ['{{upper a}}', { a: { b: 1 } }, 'FAILED the body, line 1: upper takes a text, not an object'],
  ['{{upper a}}', { a: [] }, 'FAILED the body, line 1: upper takes a text, not a list'],
  // variables named like helpers are still variables
  [
    '{{date}} {{number}} {{#each list}}{{upper}} {{/each}}',
    { date: 'today', number: 7, list: [{ upper: 'u' }] },
    'today 7 u ',
  ],
  [
    '{{#if a}}1{{else}}2{{/if}}{{#unless a}}3{{/unless}}' +
      '{{#each l}}{{@index}}{{this}}{{/each}}{{#with o}}{{k}}{{/with}}{{lookup l 1}}',
    { a: [], l: ['x', 'y'], o: { k: 'K' } },
    '230x1yKy',
  ],
  ['{{#each o}}{{@key}}={{this}};{{/each}}{{l.length}}', { o: { a: 1, b: 2 }, l: [1, 2] }, 'a=1;b=2;2'],
]

const HOSTILE: readonly [body: string, params: string, output: string][] = [
  [
    '[{{__proto__}}][{{constructor}}][{{constructor.constructor}}]' +
      '[{{toString}}][{{a.constructor.name}}][{{a.__proto__}}]',
    '{"a":"x"}',
    '[][][][][][]',
  ],
  [
    '[{{lookup this "__proto__"}}][{{lookup this "constructor"}}][{{lookup (lookup this "constructor") "name"}}]',
    '{}',
    '[][][]',
  ],
  ['[{{#with constructor}}x{{name}}{{/with}}][{{#with (lookup this "__proto__")}}x{{/with}}]', '{}', '[][]'],
  ['[{{a.x}}][{{__proto__.x}}][{{x}}]', '{"__proto__":{"x":1},"a":{"__proto__":{"x":2}}}', '[][][]'],
  ['{{#with a}}{{#each this}}{{@key}}{{/each}}{{/with}}', '{"a":{"__proto__":{"x":1},"b":1}}', 'b'],
  ['{{a}}', '{"a":{"toString":"x"}}', 'FAILED the body prints an object, which has no text form'],
  ['{{a}}', '{"a":{"toString":1,"valueOf":2}}', 'FAILED the body prints an object, which has no text form'],
  ['{{a}}', '{"a":{"b":1}}', '[object Object]'],
  ['{{#each a}}{{this}}{{/each}}', '{"a":{"length":1000000000}}', '1000000000'],
  ['{{lookup a b}}', '{"a":{"x":1},"b":{"toString":"x"}}', 'FAILED the body prints an object, which has no text form'],
  ['{{a}}', '{"a":"{{b}}","b":"not rendered again"}', '{{b}}'],
  ['{{a}} {{{a}}}', `{"a":"<script>\\"'\`=&"}`, '&lt;script&gt;&quot;&#x27;&#x60;&#x3D;&amp; <script>"\'`=&'],
  ['{{fn}}{{call}}', '{"fn":"function(){}","call":null}', 'function(){}'],
]

describe('rendering', () => {
  for (const [body, params, output] of HELPER_CASES) {
    it(body.replaceAll('\n', '\\n'), () => assert.strictEqual(render(body, params), output))
  }

  for (const [body, params, output] of HOSTILE) {
    it(`${body} with ${params}`, () => assert.strictEqual(render(body, params), output))
  }

  it('never changes Object.prototype', () => {
    render(
      '{{#each a}}{{#with this}}{{x}}{{/with}}{{/each}}',
      '{"a":[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}]}',
    )
    assert.strictEqual(Reflect.get({}, 'polluted'), undefined)
  })

  it('escapes variables in HTML bodies, but not in subjects and text bodies', () => {
    const engine = createEngine()
    const params = JSON.stringify({ name: `O'Neil & <Sons>` })
    assert.deepEqual(engine.render(source('{{name}}', { subject: 'For {{name}}' }), params), {
      ok: true,
      subject: `For O'Neil & <Sons>`,
      html: 'O&#x27;Neil &amp; &lt;Sons&gt;',
      text: null,
    })
    assert.deepEqual(engine.render(source('', { html: null, text: '{{name}}' }), params), {
      ok: true,
      subject: 's',
      html: null,
      text: `O'Neil & <Sons>`,
    })
  })

  it('names the part that is invalid', () => {
    const engine = createEngine()
    assert.strictEqual(
      engine
        .compile(source('fine', { subject: '{{foo bar}}' }))
        ?.startsWith('the subject, line 1: unknown helper "foo"'),
      true,
    )
    assert.strictEqual(
      engine.compile(source('\n\n{{foo bar}}'))?.startsWith('the body, line 3: unknown helper "foo"'),
      true,
    )
    assert.strictEqual(
      engine.compile(source('{{foo bar}}', { html: null, text: '{{foo bar}}' }))?.startsWith('the body, line 1: '),
      true,
    )
    assert.strictEqual(
      engine
        .compile(source('fine', { text: '\n{{foo bar}}' }))
        ?.startsWith('the text part, line 2: unknown helper "foo"'),
      true,
    )
    assert.strictEqual(engine.compile(source('{{fine}}')), null)
  })

  it('rejects an output that grows without limit', () => {
    const a = Array.from({ length: 3000 }, () => 1)
    for (const body of [
      `{{#each a}}${'x'.repeat(2000)}{{/each}}`,
      `{{#each a}}{{#each ../a}}${'x'.repeat(2000)}{{/each}}{{/each}}`,
    ]) {
      assert.strictEqual(render(body, { a }), 'FAILED the body is longer than 5000000 characters when rendered')
    }
  })

  it('compiles a version once, and again if its key names another source', () => {
    const engine = createEngine()
    const first = source('one {{a}}')
    assert.strictEqual(engine.has(first), false)
    engine.render(first, '{}')
    assert.strictEqual(engine.has(first), true)
    assert.strictEqual(engine.has({ ...first, text: 'x' }), false)
    assert.deepEqual(engine.render({ ...first, html: 'two {{a}}' }, '{"a":1}'), {
      ok: true,
      subject: 's',
      html: 'two 1',
      text: null,
    })
    assert.strictEqual(engine.has(first), false)
  })

  it('limits the size of its cache', () => {
    const engine = createEngine()
    const sources = Array.from({ length: 30 }, (_, i) => source(String(i).padEnd(100_000, 'x')))
    for (const one of sources) engine.render(one, '{}')
    const kept = sources.map((one) => engine.has(one))
    assert.strictEqual(kept.at(-1), true)
    assert.strictEqual(kept[0], false)
    assert.strictEqual(kept.filter(Boolean).length, 19) // 2,000,000 characters, subjects included
  })

  it('generates a text part from the HTML if requested and there is none', () => {
    const textOf = (more: Partial<TemplateSource>): string | null => {
      const result = createEngine().render(source('<p>Hello &amp; <b>{{a}}</b></p>', more), '{"a":"<x>"}')
      return result.ok ? result.text : result.reason
    }
    assert.deepEqual(
      [textOf({}), textOf({ generatesText: true }), textOf({ generatesText: true, text: 'Own {{a}}' })],
      [null, 'Hello & <x>', 'Own <x>'],
    )
  })
})
