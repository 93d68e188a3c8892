import { assert } from 'chai'
import * as fc from 'fast-check'
import { compile } from 'html-to-text'
import { mailPool, MIXES } from '#bench/mails/mail-mix.ts'
import { textFromHtml } from './html-text.ts'

const cases: readonly [what: string, html: string, text: string][] = [
  ['nothing', '', ''],
  ['plain words', 'Hello  \n\t world', 'Hello world'],
  ['markup inside of a word', 'un<b>believ</b>able', 'unbelievable'],
  ['space around markup', 'a <b> b </b> c', 'a b c'],
  ['paragraphs', '<p>One</p><p>Two', 'One\n\nTwo'],
  ['divs are lines', '<div>One</div><div>Two<div>Three</div></div>', 'One\nTwo\nThree'],
  ['line breaks', 'One<br>Two<br/><br>Three', 'One\nTwo\n\nThree'],
  ['no more than two blank lines', 'One<br><br><br><br><br><br>Two', 'One\n\n\nTwo'],
  ['headings', '<h1>Title</h1>Text<h2>Next</h2>More', 'Title\n\nText\n\nNext\n\nMore'],
  ['a rule', 'One<hr>Two', `One\n${'-'.repeat(40)}\nTwo`],
  ['entities', '&lt;a&gt; &amp;amp; &euro;5 &#x1F600; &nbsp;&copy &unknown;', '<a> &amp; €5 😀 © &unknown;'],
  ['a link', '<a href="https://x.example/?a=1&amp;b=2">Go</a>.', 'Go [https://x.example/?a=1&b=2].'],
  [
    'a link that says its address',
    '<a href="https://x.example/">x.example</a> <a href="mailto:a@b.co">a@b.co</a>',
    'x.example a@b.co',
  ],
  [
    'a link that leads nowhere',
    '<a href="#top">Top</a> <a href="JavaScript:x()">Run</a> <a name=x>Name</a>',
    'Top Run Name',
  ],
  [
    'a link without an end',
    '<a href=http://a.example>A<a href="http://b.example">B',
    'A [http://a.example]B [http://b.example]',
  ],
  ['a link with line breaks in its address', '<a href="http://a.ex\nample/\r\nx">A</a>', 'A [http://a.example/x]'],
  [
    'a link around an image',
    '<a href="http://a.example/x"><img alt="Shop &amp; Co" src=x></a>',
    'Shop & Co [http://a.example/x]',
  ],
  ['an image without words', 'a<img src="x">b', 'ab'],
  ['a list', '<ul><li>One</li><li>Two</ul>After', '- One\n- Two\n\nAfter'],
  ['a numbered list', 'Before<ol><li>One<li><p>Two</p></li></ol>', 'Before\n\n1. One\n2. Two'],
  ['lists in lists', '<ul><li>A<ol><li>B</li><li>C</li></ol></li><li>D</li></ul>', '- A\n  1. B\n  2. C\n- D'],
  ['an item without a list', '<li>One', '- One'],
  [
    'a wrapped item',
    `<ul><li>${'word '.repeat(20)}</ul>`,
    `- ${'word '.repeat(15).trim()}\n  ${'word '.repeat(5).trim()}`,
  ],
  ['a quote', '<blockquote>Said<blockquote>Deep</blockquote></blockquote>After', '> Said\n\n> > Deep\n\nAfter'],
  ['a table', '<table><tr><th>Item<th>Price<tr><td> Mug <td>5</table>', 'Item  Price\nMug  5'],
  [
    'a layout table',
    '<table><tr><td><table><tr><td><p>One</p></td></tr></table></td></tr><tr><td>Two</td></tr></table>',
    'One\n\nTwo',
  ],
  ['preformatted', '<pre>a  b\n\n  c</pre>d', 'a  b\n\n  c\n\nd'],
  [
    'head, style and script',
    '<head><title>T</title><style>p{}</style></head><script>var a="<p>no</p>"</script><style>x</style><p>Yes',
    'Yes',
  ],
  ['a head without an end', '<head><title>T</title><meta x><p>Yes', 'Yes'],
  ['a head without an end, then text', '<head> <link>Yes', 'Yes'],
  ['the body ends the head', '<html><head><meta><body>Yes', 'Yes'],
  ['a drawing', '<svg><svg><text>no</text></svg><text>no</text></svg>Yes', 'Yes'],
  [
    'comments and what only Outlook sees',
    '<!--[if mso]><p>no</p><![endif]--><![if !mso]>Yes<![endif]><!-- <p>no -->',
    'Yes',
  ],
  [
    'a preheader is kept, its padding is not',
    '<div style="display:none">Soon&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;</div><p>Hi',
    'Soon\n\nHi',
  ],
  [
    'soft hyphens go, joiners stay',
    'Donau&shy;dampf 👨\u200d👩\u200d👧 می\u200cخواهم',
    'Donaudampf 👨\u200d👩\u200d👧 می\u200cخواهم',
  ],
  ['wrapping', 'word '.repeat(30), `${'word '.repeat(15).trim()}\nword ${'word '.repeat(14).trim()}`],
  ['a word longer than a line', `a ${'x'.repeat(100)} b`, `a\n${'x'.repeat(100)}\nb`],
  ['controls are space', 'a\0b\u0007c\fd', 'a b c d'],
  ['an alternative text', '<img alt="5 &lt; 6 &eacute;&hearts;" src="a>b">', '5 < 6 é♥'],
  ['attributes with ">" in quotes', `<p title="a>b" data-x='c>d'>Yes</p>`, 'Yes'],
  ['the first of two addresses', '<a href="http://a.example" HREF="http://b.example">A</a>', 'A [http://a.example]'],
  ['attributes without quotes', '<a class=x href=http://a.example/?a=1&b=2>A</a>', 'A [http://a.example/?a=1&b=2]'],
  ['what only looks like an end tag', '<style>a</styles></style ><script>"</scr"</script\n>Yes', 'Yes'],
  ['text of a form', '<textarea>a <b>c</textarea>', 'a <b>c'],
  ['comments of all kinds', 'a<!-->b<!--->c<!-- > -- -->d<!x>e<?f>g</ h>i', 'abcdegi'],
  [
    'old and unusual entities',
    '&amp &ampx &#x41;&#65 &#128; &#0; &NotEqualTilde; &#xD800;',
    '& &x AA € \ufffd ≂̸ \ufffd',
  ],
  ['broken markup', 'a < b <> c </ > d <b e', 'a < b <> c d'],
  ['unclosed everything', '<div><ul><li><a href="http://x.example"><b>Word', '- Word [http://x.example]'],
  ['end tags of nothing', '</p></ul></ol></li></blockquote></pre></a></svg>Word', 'Word'],
]

describe('textFromHtml', () => {
  for (const [what, html, text] of cases) it(what, () => assert.strictEqual(textFromHtml(html), text))

  it('limits the length of lines', () => {
    const text = textFromHtml(
      '<p>Some words that go on</p><ul><li>and on <a href="http://x.example">and on</a></ul>'.repeat(50),
    )
    assert.ok(text.split('\n').every((line) => line.length <= 78))
  })

  const FIVE_MB = 5_000_000
  const pieces = [
    '<div>',
    '<b>x',
    '<ul><li>x',
    '<blockquote>x',
    '<',
    '&',
    '&amp',
    '<!--',
    '</',
    '<a href="',
    '<a href=x>y',
    '<svg>',
    '<pre>\n',
    '<br>',
    '<td>x',
    ' ',
    'w',
    '\u200c',
    '\u00a0x',
    '<title>&amp;',
    '</b>',
    '<a ',
    '<![CDATA[',
    '<script>',
    '<style></styl',
    '<textarea></',
    '<!-->',
    "<a href='",
    '<img alt="x',
    '&#',
    '&;',
    '&a;',
    'é\u00ad',
    '<a href="x.y">x.y</a>',
    '<p x=',
    '</p ="',
  ]
  for (const piece of pieces) {
    it(`survives 5 MB of ${JSON.stringify(piece)}`, () => {
      // No clock is looked at: what is not linear, or goes as deep as the input, does not come to an end here.
      assert.ok(textFromHtml(piece.repeat(FIVE_MB / piece.length)).length <= 3 * FIVE_MB)
    })
  }
})

/** An independent reader of HTML; layout, links and images set aside, it must find the same words in the same order. */
const oracle = compile({
  wordwrap: false,
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'tr', 'td', 'th', 'dl', 'dd', 'dt', 'li', 'ul', 'ol'].map(
      (selector) => ({ selector, format: 'block' }),
    ),
    { selector: 'a', options: { ignoreHref: true } },
  ],
})
const words = (text: string): string[] => text.match(/[a-z]+/g) ?? []

const { html: fragment } = fc.letrec<{ html: string }>((tie) => ({
  html: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.stringMatching(/^[a-z]{1,6}$/),
    fc.constantFrom(' ', '\n ', '<br>', '<hr>', '&nbsp;', '<!-- no -->', '<style>no{}</style>', '<pre>a  b\nc</pre>'),
    fc
      .tuple(
        fc.constantFrom('p', 'div', 'b', 'i', 'span', 'a', 'h1', 'h3', 'blockquote', 'section'),
        fc.array(tie('html'), { maxLength: 4 }),
      )
      .map(([name, inner]) => `<${name}>${inner.join('')}</${name}>`),
    fc
      .tuple(fc.constantFrom('ul', 'ol'), fc.array(tie('html'), { maxLength: 3 }))
      .map(([name, items]) => `<${name}>${items.map((inner) => `<li>${inner}</li>`).join('')}</${name}>`),
    fc
      .array(tie('html'), { maxLength: 3 })
      .map((cells) => `<table><tr>${cells.map((inner) => `<td>${inner}</td>`).join('')}</tr></table>`),
  ),
}))

describe('textFromHtml compared with html-to-text', () => {
  for (const mix of MIXES) {
    it(`finds the same words in the sample mails of the benchmark: ${mix}`, () => {
      const withoutLinks = (text: string): string[] => words(text.replaceAll(/\[[^\]]*\]/g, ''))
      for (const { html } of mailPool(mix)) {
        const source = html ?? ''
        assert.deepEqual(withoutLinks(textFromHtml(source)), withoutLinks(oracle(source)))
      }
    })
  }

  it('finds the same words', () => {
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 6 }), (parts) => {
        const html = parts.join('')
        assert.deepEqual(words(textFromHtml(html)), words(oracle(html)))
      }),
      { numRuns: 2000 },
    )
  })

  it('never throws for any input', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            '<',
            '>',
            '/',
            '"',
            '=',
            '&',
            ';',
            '!',
            '-',
            'a',
            'li',
            'pre',
            'head',
            ' ',
            '\n',
            '#',
            'x',
            '\0',
          ),
          maxLength: 80,
        }),
        (html) => {
          assert.notMatch(textFromHtml(html), /\r|\0/)
        },
      ),
      { numRuns: 5000 },
    )
  })
})
