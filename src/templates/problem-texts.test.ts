/** Problems of templates have a code: those that the compiler really reports, and each sentence in its sources. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { compileTemplate } from './compile-template.ts'
import { createEngine } from './engine.ts'
import { findTemplateTranslation } from './problem-texts.ts'

type Row = readonly [
  codes: string,
  authored: { readonly subject?: string; readonly body: string; readonly text?: string },
]

const ROWS: readonly Row[] = [
  ['at_line unknown_helper', { body: 'a\n{{shout name}}' }],
  ['at_line takes_one', { body: '{{upper a b}}' }],
  ['at_line takes_values', { body: '{{truncate a}}' }],
  ['at_line takes_range', { body: '{{date a b c}}' }],
  ['at_line is_block', { body: '{{{if a}}}' }],
  ['at_line not_a_block', { body: '{{#upper a}}{{/upper}}' }],
  ['at_line ends_too_early', { body: '<p>{{#if a}}</p>' }],
  ['at_line not_readable', { body: '<p>{{a b=}}</p>' }],
  ['at_line other_end', { body: '{{#if a}}{{/each}}' }],
  ['at_line decorator', { body: '{{* a}}' }],
  ['at_line partial_block', { body: '{{#> a}}{{/a}}' }],
  ['at_line partial_not_here', { subject: '{{> a}}', body: 'x' }],
  ['at_line partial_without_values', { body: '{{> foot a}}' }],
  ['at_line no_partial', { body: '{{> head}}' }],
  ['at_line unknown_helper', { body: '<p>x</p>', text: '{{shout a}}' }],
  ['at_line mjml_include', { body: '<mjml><mj-body><mj-include path="x"/></mj-body></mjml>' }],
  ['in_part mjml_malformed', { body: '<mjml></mjml>' }],
  ['in_part many_expressions', { body: '{{a}}'.repeat(15_001) }],
]

const RENDERED: readonly (readonly [codes: string, subject: string, params: object])[] = [
  ['at_line takes_text_not_list', '{{upper a}}', { a: [] }],
  ['at_line takes_number', '{{number a}}', { a: 'x' }],
  ['at_line takes_time', '{{date a}}', { a: 'x' }],
  ['at_line unknown_zone', '{{date a zone="x"}}', { a: '2031-05-04' }],
  ['at_line unknown_locale', '{{number a locale="?"}}', { a: 1 }],
  ['at_line not_a_format', '{{number a decimals=1000}}', { a: 1 }],
  ['part_prints_object', '{{a}}', { a: { toString: 1 } }],
]

function codesOf(sentence: string): string {
  const codes: string[] = []
  for (let at = findTemplateTranslation(sentence); at !== null; at = at.param_translations?.['problem'] ?? null)
    codes.push(at.code.replace('template.', ''))
  return codes.join(' ')
}

describe('problems of templates have a code', () => {
  const engine = createEngine()

  for (const [codes, { subject = 's', body, text = null }] of ROWS)
    it(`${codes} of ${body.slice(0, 40)}`, async () => {
      const result = await compileTemplate(engine, { subject, body, text, format: null }, { foot: 'x' })
      if (result.ok) assert.fail('the template is valid')
      assert.strictEqual(codesOf(result.reason), codes, result.reason)
      assert.isDefined(findTemplateTranslation(result.reason)?.param_translations?.['part'], result.reason)
    })

  for (const [codes, subject, params] of RENDERED)
    it(`${codes} of ${subject}`, () => {
      const result = engine.render({ key: 'test', subject, html: null, text: 'x' }, JSON.stringify(params))
      if (result.ok) assert.fail('it is rendered')
      assert.strictEqual(codesOf(result.reason), codes, result.reason)
    })

  it('wherever one is written', () => {
    const literal = `'(?:[^'\\\\\\n]|\\\\.)*'|"[^"\\n]*"|\`[^\`]*\``
    const said = new RegExp(`(?:TemplateError\\(|reject\\(\\w+,|\\breason:)\\s*(${literal})`, 'g')
    const files = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !file.includes('.test'))
    const sentences = files
      .flatMap((file) => [...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(said)])
      .map(([, text = '']) => text.slice(1, -1).replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '7'))
      .filter((text) => text.includes(' ') && !JOINED.has(text))
      .map((text) => text.replace(/^(?:line )?7: /, ''))
    assert.isAbove(sentences.length, 20)
    assert.deepEqual(
      sentences.filter((text) => findTemplateTranslation(text) === null && codesOf(`the body ${text}`) === ''),
      [],
    )
  })
})

/** Put together from parts that have codes, or from words that the rows above have. */
const JOINED = new Set([
  'takes a text, not 7',
  '7 takes 7, not 7',
  'line 7: 7',
  'line 7: 7 7',
  'the 77',
  'the 77 7',
  '7 it takes longer than 7 ms',
])
