/** MJML with Handlebars expressions: which positions are allowed, and which are rejected with their line. */
import { assert } from 'chai'
import { createEngine } from './engine.ts'
import { compileTemplate } from './compile-template.ts'

const mail = (inside: string, head = ''): string => `<mjml>${head}<mj-body>${inside}</mj-body></mjml>`
const column = (inside: string): string => `<mj-section><mj-column>${inside}</mj-column></mj-section>`
const PARAMS = JSON.stringify({
  a: true,
  no: false,
  name: 'A & B',
  list: ['one', 'two'],
  url: 'https://x.example/?a=1&b=2',
  colour: '#123456',
  html: '<b>bold</b>',
})

async function render(body: string, partials: Record<string, string> = {}): Promise<string> {
  const engine = createEngine()
  const finished = await compileTemplate(engine, { subject: 's', body, text: null, format: null }, partials)
  if (!finished.ok) return finished.reason
  assert.strictEqual(finished.format, 'mjml')
  const rendered = engine.render({ key: 'k', subject: 's', html: finished.html, text: null }, PARAMS)
  return rendered.ok ? (rendered.html ?? '') : rendered.reason
}

const KEPT: readonly [rule: string, body: string, seen: readonly RegExp[], unseen?: RegExp][] = [
  ['a variable in a text', mail(column('<mj-text>Hi {{name}} {{{html}}}</mj-text>')), [/Hi A &amp; B <b>bold<\/b>/]],
  [
    'a block around sections',
    mail(`{{#if a}}${column('<mj-text>yes</mj-text>')}{{else}}${column('<mj-text>never</mj-text>')}{{/if}}`),
    [/>yes</],
    />never</,
  ],
  [
    'a loop around columns',
    mail('<mj-section>{{#each list}}<mj-column><mj-text>[{{this}}]</mj-text></mj-column>{{/each}}</mj-section>'),
    [/\[one\][^]*\[two\]/],
  ],
  [
    'a block around parts of a column',
    mail(column('{{#if no}}<mj-text>never</mj-text>{{/if}}{{#if a}}<mj-button href="{{url}}">go</mj-button>{{/if}}')),
    [/href="https:\/\/x\.example\/\?a&#x3D;1&amp;b&#x3D;2"/],
    />never</,
  ],
  [
    'a block in an attribute',
    mail(
      '<mj-section background-color="{{#if a}}#ffffff{{else}}#000000{{/if}}">' +
        '<mj-column><mj-text>x</mj-text></mj-column></mj-section>',
    ),
    [/background-color:#ffffff/, /bgcolor="#ffffff"/],
    /#000000;margin/,
  ],
  [
    'a value with quotes in an attribute',
    mail(
      '<mj-section background-color="{{default none "#00ff00"}}">' +
        '<mj-column><mj-text>x</mj-text></mj-column></mj-section>',
    ),
    [/background-color:#00ff00/],
  ],
  [
    'a loop in a table',
    mail(column('<mj-table>{{#each list}}<tr><td>{{this}}</td></tr>{{/each}}</mj-table>')),
    [/<tr><td>one<\/td><\/tr><tr><td>two<\/td><\/tr>/],
  ],
  [
    'a block in a tag of HTML',
    mail(column('<mj-text><p {{#if a}}class="y"{{else}}class="n"{{/if}}>x</p></mj-text>')),
    [/<p class="y">x<\/p>/],
  ],
  [
    'the head',
    mail(
      column('<mj-text>x</mj-text>'),
      '<mj-head><mj-title>{{name}}</mj-title><mj-preview>{{#if a}}soon{{/if}}</mj-preview>' +
        '<mj-style>.x{color:{{colour}} }</mj-style></mj-head>',
    ),
    [/<title>A &amp; B<\/title>/, />soon</, /\.x\{color:#123456 \}/],
  ],
  [
    'attributes for all',
    mail(
      column('<mj-text>x</mj-text>'),
      '<mj-head><mj-attributes><mj-text color="{{colour}}"/></mj-attributes></mj-head>',
    ),
    [/color:#123456;"\s*>x/],
  ],
  [
    'CSS that is to be inlined',
    mail(
      column('<mj-text><p class="x" {{#if a}}id="i"{{/if}}>x</p></mj-text>'),
      '<mj-head><mj-style inline="inline">.x{color:{{colour}} }</mj-style></mj-head>',
    ),
    [/<p class="x" id="i" ?style="color: ?#123456;?"|<p class="x" id="i"\s+style="color: #123456;"/],
  ],
  ['text with an escape', mail(column('<mj-text>\\{{name}}</mj-text>')), [/>\{\{name\}\}</]],
  [
    'a comment',
    mail(`{{! nobody sees }}<!-- {{name}} -->${column('<mj-text>x</mj-text>')}`),
    [/<!-- A &amp; B -->/],
    /nobody sees/,
  ],
  ['partials', mail('{{> head}}{{> foot}}'), [/>head A &amp; B<[^]*>foot</]],
  ['no font that nobody named', mail(column('<mj-text>x</mj-text>')), [/>x</], /fonts\.googleapis/],
]
const PARTIALS = {
  head: column('<mj-text>head {{name}}</mj-text>'),
  foot: column('\n\n<mj-text>foot</mj-text>'),
  bad: '<mj-section>\n<mj-wrong></mj-wrong></mj-section>',
}

const REFUSED: readonly [rule: string, body: string, reason: RegExp][] = [
  [
    'an element that is not there',
    mail('\n<mj-section><mj-colum></mj-colum></mj-section>'),
    /^the body, line 2: Element mj-colum doesn't exist or is not registered$/,
  ],
  [
    'an element in the wrong place',
    mail('\n\n<mj-text>x</mj-text>'),
    /^the body, line 3: mj-text cannot be used inside mj-body/,
  ],
  [
    'an attribute that is not there',
    mail(column('<mj-text colour="red">x</mj-text>')),
    /^the body, line 1: Attribute colour is illegal$/,
  ],
  [
    'a value that is wrong',
    mail(column('<mj-text color="{">x</mj-text>')),
    /^the body, line 1: Attribute color has invalid value/,
  ],
  ['no body', '<mjml>\n</mjml>', /^the body: the MJML is malformed/],
  [
    'an include',
    mail('\n<mj-include path="/etc/passwd" />'),
    /^the body, line 2: mj-include is not supported; use a partial$/,
  ],
  [
    'an expression between attributes',
    mail('\n<mj-section {{#if a}}full-width="full-width"{{/if}}></mj-section>'),
    /^the body, line 2: \{\{#if a\}\} is inside an MJML tag but not in an attribute value; line 2: /,
  ],
  [
    'an expression that MJML computes with',
    mail('\n<mj-section padding="{{p}}"></mj-section>'),
    /^the body, line 2: padding cannot contain an expression: MJML computes with it$/,
  ],
  ['one outside of the body', `<mjml>\n{{#if a}}<mj-body></mj-body>{{/if}}</mjml>`, /^the body, line 2: /],
  [
    'one where nothing may be',
    mail(column('x'), '<mj-head><mj-attributes>\n{{#if a}}<mj-text color="red"/>{{/if}}</mj-attributes></mj-head>'),
    /line 2: /,
  ],
  ['a block that is not closed', mail('{{#if a}}'), /^the body, line 1: cannot be read/],
  ['the line of a partial', mail('\n{{> foot}}\n{{> bad}}'), /^the body, line 2 of the partial bad: Element mj-wrong/],
  ['the line behind a partial', mail('\n{{> foot}}\n<mj-wrong></mj-wrong>'), /^the body, line 3: Element mj-wrong/],
]

describe('MJML', () => {
  for (const [rule, body, seen, unseen] of KEPT) {
    it(`keeps ${rule}`, async () => {
      const html = await render(body, PARTIALS)
      for (const one of seen) assert.match(html, one)
      if (unseen !== undefined) assert.notMatch(html, unseen)
      assert.notMatch(html, /hbs\d+z|<mj-/)
    })
  }
  for (const [rule, body, reason] of REFUSED) {
    it(`rejects ${rule}`, async () => assert.match(await render(body, PARTIALS), reason))
  }
  it('lists only the first problems if there are many', async () => {
    const reason = await render(mail('<mj-wrong></mj-wrong>'.repeat(30)))
    assert.match(reason, /; and \d+ more$/)
    assert.strictEqual(reason.length < 1500, true)
  })
})
