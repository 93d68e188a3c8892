/** Findings of a review, above all whether every message contains the unsubscribe link. */
import { assert } from 'chai'
import { createEngine } from './engine.ts'
import { findVariables } from './variable-names.ts'
import { validateForCampaign, review, type Review } from './review.ts'

const URL_CASES: readonly [html: string, isGood: boolean][] = [
  ['<a href="{{unsubscribeUrl}}">x</a>', true],
  ['<a href="{{{unsubscribeUrl}}}">x</a>', true],
  ['{{&unsubscribe_url}}', true],
  ['{{~unsubscribeUrl~}}', true],
  ['{{@root.unsubscribeUrl}}', true],
  ['<style>p{}</style>{{#if a}}x{{/if}}{{unsubscribeUrl}}', true],
  ['{{#if a}}{{unsubscribeUrl}}{{else}}{{unsubscribeUrl}}{{/if}}', true],
  ['{{#eq a 1}}{{unsubscribeUrl}}{{else if b}}{{unsubscribeUrl}}{{else}}{{unsubscribeUrl}}{{/eq}}', true],
  ['<!-- a --><p>{{unsubscribeUrl}}</p><!-- b -->', true],
  ['<!--[if !mso]><!-->{{unsubscribeUrl}}<!--<![endif]-->', true],
  ['x', false],
  ['unsubscribeUrl', false],
  ['\\{{unsubscribeUrl}}', false],
  ['{{! unsubscribeUrl }}', false],
  ['{{!-- {{unsubscribeUrl}} --}}', false],
  ['<!-- {{unsubscribeUrl}} -->', false],
  ['<!--[if mso]>{{unsubscribeUrl}}<![endif]-->', false],
  ['{{#if a}}{{unsubscribeUrl}}{{/if}}', false],
  ['{{#if a}}{{unsubscribeUrl}}{{else}}x{{/if}}', false],
  ['{{#if unsubscribeUrl}}x{{/if}}', false],
  ['{{#each l}}{{unsubscribeUrl}}{{/each}}', false],
  ['{{#with workspace}}{{unsubscribeUrl}}{{else}}{{unsubscribeUrl}}{{/with}}', false],
  ['{{#a}}{{unsubscribeUrl}}{{/a}}', false],
  ['{{#unsubscribeUrl}}x{{/unsubscribeUrl}}', false],
  ['{{upper unsubscribeUrl}}', false],
  ['{{campaign.unsubscribeUrl}}', false],
  ['{{../unsubscribeUrl}}', false],
  ['{{unsubscribeUrl.x}}', false],
  ['{{lookup this "unsubscribeUrl"}}', false],
]

const NAME_CASES: readonly [source: string, names: string][] = [
  ['{{a}} {{b.c}} {{{d}}} {{&e}}', 'a b.c d e'],
  ['{{upper a}} {{default a b "x"}} {{date at zone=z}}', 'a a b at z'],
  ['{{#if a}}{{b}}{{else}}{{c}}{{/if}}{{#unless (eq d 1)}}{{e}}{{/unless}}', 'a b c d e'],
  [
    '{{#each items as |one|}}{{one.name}}{{name}}{{this}}{{@index}}{{../a}}{{@root.b}}{{else}}{{c}}{{/each}}',
    'items a b c',
  ],
  ['{{#with a}}{{b}}{{#if c}}{{../d}}{{/if}}{{/with}}{{#e}}{{f}}{{/e}}{{^g}}{{h}}{{/g}}', 'a d e g h'],
  ['{{date}} {{number}} {{[odd name]}} {{this}} {{.}}', 'date number odd name'],
]

const AUTHOR = { attributes: ['plan'], declared: ['code'], params: '{"code":"X"}' }
const check = (body: string, more: object = {}, author: object = {}): Promise<Review> =>
  review(createEngine(), {
    authored: { subject: 's', body, text: 'text', format: null, ...more },
    partials: { foot: '\n{{who}}<img src=x>' },
    ...AUTHOR,
    ...author,
  })
const rulesOf = ({ findings }: Review): string[] =>
  findings
    .filter(({ rule }) => rule !== 'missing-unsubscribe-url')
    .map(({ rule, part, line }) => `${rule} ${part} ${line}`)

const FOUND: readonly [what: string, body: string, found: string[], more?: object][] = [
  [
    'nothing',
    '<p>{{firstName}} {{last_name}} {{plan}} {{attributes.plan}} {{code}} {{code.x}} ' +
      '{{campaign.name}} {{workspace.name}} {{event.any.thing}}</p>',
    [],
  ],
  [
    'variables that nobody declared',
    '<p>{{a}}\n{{b.c}}{{b.c}}</p>{{attributes.x}}{{campaign.x}}',
    [
      'undeclared-variable body 1',
      'undeclared-variable body 2',
      'undeclared-variable body 2',
      'undeclared-variable body 2',
    ],
  ],
  [
    'them in subject and text',
    '<p>x</p>',
    ['undeclared-variable subject 1', 'undeclared-variable text 2'],
    { subject: '{{a}}', text: '\n{{b}}' },
  ],
  [
    'what is wrong in a partial',
    '<p>x</p>\n\n{{> foot}}',
    ['undeclared-variable partial foot 2', 'image-without-alt partial foot 2'],
  ],
  ['images', '<p>\n<img src="{{code}}"><IMG SRC=x ALT=""><img alt="{{code}}">', ['image-without-alt body 2']],
  [
    'images of MJML',
    '<mjml><mj-body><mj-section><mj-column>\n' +
      '<mj-image src="x"/><mj-image src="x" alt="y"/></mj-column></mj-section></mj-body></mjml>',
    ['image-without-alt body 2'],
  ],
  ['HTML without text', '<p>x</p>', ['missing-text-part null null'], { text: null }],
  ['nothing in a text', 'plain {{firstName}}', [], { text: null }],
  ['CSS that is not inlined', '<style>p{top:0}</style>{{#if code}}<div>{{/if}}<p>x</p>', ['css-not-inlined null null']],
  ['what is too large', `<p>${'x'.repeat(105_000)}</p>`, ['too-large body null']],
  ['what is too large once encoded', `<p>${'é'.repeat(20_000)}</p>`, ['too-large body null']],
  ['what is not, though it is long', `<p>${'x'.repeat(90)}</p>\n`.repeat(1000), []],
  ['what cannot be rendered', '<p>{{number code}}</p>', ['cannot-be-rendered null null']],
  ['what cannot be saved', '{{#if a}}', ['cannot-be-saved null null']],
]

describe('a review', () => {
  for (const [html, isGood] of URL_CASES) {
    it(`${isGood ? 'allows' : 'blocks'} a campaign with ${html}`, () => {
      assert.deepEqual(
        validateForCampaign(createEngine(), { subject: 's', html, text: null }).map(({ rule }) => rule),
        isGood ? [] : ['missing-unsubscribe-url'],
      )
    })
  }
  it('checks the text if there is no HTML', () => {
    const rules = (html: string | null, text: string): string[] =>
      validateForCampaign(createEngine(), { subject: 's', html, text }).map(({ rule }) => rule)
    assert.deepEqual(
      [rules(null, '<!-- {{unsubscribeUrl}}'), rules('{{unsubscribeUrl}}', 'x'), rules('x', '{{unsubscribeUrl}}')],
      [[], [], ['missing-unsubscribe-url']],
    )
    assert.deepEqual(rules('{{#if', 'x'), ['cannot-be-saved'])
  })

  for (const [source, names] of NAME_CASES)
    it(`finds the variables of ${source}`, () =>
      assert.strictEqual(
        findVariables(source)
          .map(({ path }) => path.join('.'))
          .join(' '),
        names,
      ))

  for (const [what, body, found, more = {}] of FOUND)
    it(`finds ${what}`, async () => assert.deepEqual(rulesOf(await check(body, { sampleData: null, ...more })), found))

  for (const [body, question] of [
    ['{{Plan}}', 'Did you mean {{plan}}?'],
    ['{{attributes.Plan}}', 'Did you mean {{attributes.plan}}?'],
    ['{{companySice}}', 'Did you mean {{attributes.[Company Size]}}?'],
    ['{{fristName}}', 'Did you mean {{firstName}}?'],
    ['{{something}}', null],
    ['{{campaign.x}}', null],
  ] as const)
    it(`suggests ${question ?? 'nothing'} for ${body}`, async () => {
      const { findings } = await check(body, {}, { attributes: ['plan', 'Company Size'] })
      const [message = ''] = findings.flatMap((one) => (one.rule === 'undeclared-variable' ? [one.message] : []))
      assert.match(message, /neither a variable/)
      assert.strictEqual(/Did you mean .*$/.exec(message)?.[0] ?? null, question)
    })

  it('returns the generated text, and limits the number of findings', async () => {
    assert.strictEqual(
      (await check('<p>Hi <a href="{{unsubscribeUrl}}">bye</a> {{code}}</p>', { text: null })).text,
      'Hi bye X',
    )
    assert.strictEqual((await check('<img>'.repeat(1000))).findings.length, 200)
  })
})
