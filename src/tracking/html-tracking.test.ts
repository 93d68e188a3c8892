import { assert } from 'chai'
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { isRedirectTarget } from './href.ts'
import { trackHtml, type TrackingMarkup } from './html-tracking.ts'

const WRAPPED = 'https://t.example/c/'
const wrap = (url: string): string => WRAPPED + Buffer.from(url).toString('base64url')
const MARKUP: TrackingMarkup = { pixel: null, link: wrap }
const unwrap = (html: string): string =>
  html.replaceAll(
    /https:\/\/t\.example\/c\/([\w-]+)/g,
    (_, coded: string) => `[${Buffer.from(coded, 'base64url').toString()}]`,
  )

/** Tracked HTML, with each rewritten address replaced by its target in brackets. */
const CASES: readonly (readonly [what: string, html: string, expected: string])[] = [
  ['a quoted link', '<a href="https://a.example/x">y</a>', '<a href="[https://a.example/x]">y</a>'],
  ['a single-quoted one', `<a class=b href='http://a.example/'>`, `<a class=b href='[http://a.example/]'>`],
  ['an unquoted one', '<a href=http://a.example/x?y=1&z=2 class=b>', '<a href=[http://a.example/x?y=1&z=2] class=b>'],
  ['unquoted before the end', '<a href=http://a.example/x>', '<a href=[http://a.example/x]>'],
  ['an unquoted one that ends in a slash', '<a href=http://a.example/>', '<a href=[http://a.example/]>'],
  ['upper case and spaces', '<A\n HREF = "HTTPS://A.example/X" >', '<A\n HREF = "[https://a.example/X]" >'],
  ['slashes between attributes', '<a/href="http://a.example/"/title=x>', '<a/href="[http://a.example/]"/title=x>'],
  ['an area', '<area shape=rect href="http://a.example/">', '<area shape=rect href="[http://a.example/]">'],
  ['&amp;', '<a href="http://a.example/?b=1&amp;c=2">', '<a href="[http://a.example/?b=1&c=2]">'],
  ['&amp;amp;', '<a href="http://a.example/?b=1&amp;amp;c=2">', '<a href="[http://a.example/?b=1&amp;c=2]">'],
  ['a bare &', '<a href="http://a.example/?b=1&copy=2&c">', '<a href="[http://a.example/?b=1&copy=2&c]">'],
  ['numeric references', '<a href="http&#58;//a.example/&#x3f;q">', '<a href="[http://a.example/?q]">'],
  ['named references', '<a href="http://a.example/&sol;&quest;a&equals;b">', '<a href="[http://a.example//?a=b]">'],
  ['legacy names without a semicolon', '<a href="http://a.example/?x&copy">', '<a href="[http://a.example/?x%C2%A9]">'],
  [
    'letters that a URL encodes',
    '<a href="http://bücher.example/ü?ö#ä">',
    '<a href="[http://xn--bcher-kva.example/%C3%BC?%C3%B6#%C3%A4]">',
  ],
  [
    'white space around and line ends inside',
    '<a href=" http://a.example/b\r\n\tc ">',
    '<a href="[http://a.example/bc]">',
  ],
  ['a bare host', '<a href="https://a.example">', '<a href="[https://a.example/]">'],
  [
    'the first of two',
    '<a href="http://a.example/" href="http://b.example/">',
    '<a href="[http://a.example/]" href="http://b.example/">',
  ],
  ['a first that is no link', '<a href="#x" href="http://b.example/">', '<a href="#x" href="http://b.example/">'],
  [
    'one behind another attribute that looks like it',
    `<a title='href="http://x.example/"' href="http://a.example/">`,
    `<a title='href="http://x.example/"' href="[http://a.example/]">`,
  ],
  ['> in a value', '<a title="a>b" href="http://a.example/">', '<a title="a>b" href="[http://a.example/]">'],
  [
    "Outlook's comment",
    '<!--[if mso]><a href="http://a.example/"><![endif]-->',
    '<!--[if mso]><a href="[http://a.example/]"><![endif]-->',
  ],
  [
    'all but Outlook',
    '<!--[if !mso]><!--><a href="http://a.example/"><!--<![endif]-->',
    '<!--[if !mso]><!--><a href="[http://a.example/]"><!--<![endif]-->',
  ],
  [
    'a revealed comment',
    '<![if !mso]><a href="http://a.example/"><![endif]>',
    '<![if !mso]><a href="[http://a.example/]"><![endif]>',
  ],
  ['behind an empty comment', '<!--><a href="http://a.example/">', '<!--><a href="[http://a.example/]">'],
  [
    'behind a comment that ends with a bang',
    '<!-- --!><a href="http://a.example/">',
    '<!-- --!><a href="[http://a.example/]">',
  ],
  [
    'behind CDATA',
    '<![CDATA[ <a href="http://b.example/"> ]]><a href="http://a.example/">',
    '<![CDATA[ <a href="http://b.example/"> ]]><a href="[http://a.example/]">',
  ],
  [
    'behind a style',
    '<style>a > b { content: "<a href=http://b.example/>" }</style><a href="http://a.example/">',
    '<style>a > b { content: "<a href=http://b.example/>" }</style><a href="[http://a.example/]">',
  ],
  ['behind < that is none', '1 < 2 <3 << <a href="http://a.example/">', '1 < 2 <3 << <a href="[http://a.example/]">'],
  [
    'behind an end tag with attributes',
    '</p title="<a href=x>"><a href="http://a.example/">',
    '</p title="<a href=x>"><a href="[http://a.example/]">',
  ],
]

const UNTOUCHED: readonly (readonly [what: string, html: string])[] = [
  ['data-no-track', '<a href="http://a.example/" data-no-track>'],
  ['DATA-NO-TRACK with a value', '<a DATA-NO-TRACK="1" href="http://a.example/">'],
  ['mailto', '<a href="mailto:a@b.example">'],
  ['tel', '<a href="tel:+1">'],
  ['javascript', '<a href="javascript:void(0)">'],
  ['ftp', '<a href="ftp://a.example/">'],
  ['a fragment', '<a href="#top">'],
  ['a path', '<a href="/x">'],
  ['no scheme', '<a href="//a.example/x">'],
  ['no host', '<a href="http://">'],
  ['an impossible host', '<a href="http://a b/">'],
  ['an impossible port', '<a href="http://a.example:99999/">'],
  ['an empty value', '<a href="">'],
  ['no value', '<a href>'],
  ['no value but a sign', '<a href= >'],
  [
    'other elements',
    '<link href="http://a.example/"><base href="http://a.example/">' +
      '<img src="http://a.example/"><form action="http://a.example/">',
  ],
  ['other attributes', '<a data-href="http://a.example/" xhref="http://a.example/">'],
  ['abbr', '<abbr href="http://a.example/">'],
  ['a comment', '<!-- <a href="http://a.example/"> -->'],
  ['a comment that does not end', '<!-- x <a href="http://a.example/">'],
  ["Outlook's comment, cut by its end", '<!--[if mso]><a href="http://a.example/--><p>">'],
  ['CDATA', '<svg><![CDATA[<p>x</p><a href="http://a.example/">]]></svg>'],
  ['a style', '<style><a href="http://a.example/"></style>'],
  ['a script', '<script>"<a href=http://a.example/>"</script>'],
  ['a title', '<title><a href="http://a.example/"></title>'],
  ['a text area', '<textarea><a href="http://a.example/"></TEXTAREA >'],
  ['a style that does not end', '<style><a href="http://a.example/">'],
  ['a script in a script', '<script><!-- <script> </script> <a href="http://a.example/"> --></script>'],
  ['plaintext', '<plaintext><a href="http://a.example/">'],
  ['a tag that does not end', '<a href="http://a.example/"'],
  ['a value that does not end', '<a href="http://a.example/>x</a>'],
  ['an end tag', '</a href="http://a.example/">'],
  ['a processing instruction', '<?a href="http://a.example/">'],
  ['a doctype', '<!doctype a href="http://a.example/">'],
  ['text', 'href="http://a.example/"'],
  ['a link that is too long', `<a href="http://a.example/${'x'.repeat(5000)}">`],
]

describe('rewriting of links', () => {
  for (const [what, html, expected] of CASES)
    it(`changes ${what}`, () => assert.strictEqual(unwrap(trackHtml(html, MARKUP)), expected))
  for (const [what, html] of UNTOUCHED)
    it(`leaves ${what} alone`, () => assert.strictEqual(trackHtml(html, MARKUP), html))
  it('rewrites only the links that the caller selects', () => {
    const html = '<a href="http://a.example/"><a href="http://b.example/">'
    assert.strictEqual(
      unwrap(trackHtml(html, { pixel: null, link: (url) => (url.includes('a.example') ? null : wrap(url)) })),
      '<a href="http://a.example/"><a href="[http://b.example/]">',
    )
    assert.strictEqual(trackHtml(html, { pixel: null, link: null }), html)
  })
  it('leaves huge HTML unchanged, and needs linear time for malformed HTML', () => {
    const huge = '<a href="http://a.example/">'.repeat(100_000)
    assert.strictEqual(trackHtml(huge, MARKUP), huge)
    for (const piece of [
      '<',
      '<!--',
      '<a ',
      '<a href="',
      '<![CDATA[',
      '<style>',
      '<!--[if mso]>',
      '</',
      '<a =',
      '<title>x</title ',
      '<![CDATA[>',
      '<script><!--',
      '<style></style>',
    ])
      trackHtml(piece.repeat(60_000), MARKUP)
  })
})

const PIXEL =
  '<img src="https://t.example/o/x" width="1" height="1" alt="" style="display:block;border:0;width:1px;height:1px">'
const PIXEL_CASES: readonly (readonly [html: string, expected: string])[] = [
  ['<body>x</body></html>', '<body>x|</body></html>'],
  ['<p>x', '<p>x|'],
  ['', '|'],
  ['x</BODY >', 'x|</BODY >'],
  ['<html>x</html>', '<html>x|</html>'],
  ['a</body>b</body>', 'a</body>b|</body>'],
  ['<!-- </body> -->x', '<!-- </body> -->x|'],
  ['x<!-- open', 'x|<!-- open'],
  ['x<a href="', 'x|<a href="'],
  ['<!--[if mso]></body><![endif]-->x', '<!--[if mso]></body><![endif]-->x|'],
]

describe('the open pixel', () => {
  for (const [html, expected] of PIXEL_CASES) {
    it(`is inserted into ${html}`, () =>
      assert.strictEqual(trackHtml(html, { pixel: 'https://t.example/o/x', link: null }), expected.replace('|', PIXEL)))
  }
})

describe('tracked HTML, for any input', () => {
  const piece = fc.constantFrom(
    '<a href="http://a.example/?x=1&amp;y=2">',
    `<a href='https://b.example/'>`,
    '<a href=http://c.example/>',
    '<A HREF="http://d.example/" data-no-track>',
    '</a>',
    '<p title="',
    '">',
    "'",
    '<!--',
    '-->',
    '<!--[if mso]>',
    '<![endif]-->',
    '<style>',
    '</style>',
    '<script>',
    '</script>',
    '<![CDATA[',
    ']]>',
    '<',
    '>',
    '/',
    '=',
    ' ',
    '\n',
    'x',
    '&',
    'href="http://e.example/"',
    '</body>',
    '<svg>',
    '</svg>',
  )
  const anyHtml = fc.oneof(
    fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
    fc.string(),
  )
  const markup: TrackingMarkup = { pixel: 'https://t.example/o/x', link: wrap }

  it('differs only in href values and one image', () => {
    fc.assert(
      fc.property(anyHtml, (html) => {
        // the text between the rewritten values stood between values before, in the same order
        const parts = trackHtml(html, markup)
          .replace(PIXEL, '')
          .split(/https:\/\/t\.example\/c\/[\w-]+/)
        let at = 0
        for (const [i, part] of parts.entries()) {
          const found = i === 0 ? (html.startsWith(part) ? 0 : -1) : html.indexOf(part, at)
          assert.ok(found >= 0, `${JSON.stringify(part)} was not there`)
          at = found + part.length
        }
        assert.ok(html.endsWith(parts.at(-1) ?? ''))
      }),
      { numRuns: 1000 },
    )
  })
  it('has the links that another HTML parser finds, each with its original target', () => {
    const linksOf = (html: string): string[] => {
      const found: string[] = []
      const parser = new Parser({
        onopentag: (name, attributes) => {
          if ((name === 'a' || name === 'area') && attributes['href'] !== undefined) found.push(attributes['href'])
        },
      })
      parser.end(html)
      return found
    }
    fc.assert(
      fc.property(anyHtml, (html) => {
        if (/<svg|<!\[/.test(html)) return // the other parser reads these differently
        const before = linksOf(html)
        const after = linksOf(trackHtml(html, { pixel: null, link: wrap }))
        assert.strictEqual(after.length, before.length)
        for (const [i, link] of after.entries()) {
          const wrapped = link.startsWith(WRAPPED)
            ? Buffer.from(link.slice(WRAPPED.length), 'base64url').toString()
            : null
          if (wrapped === null) assert.strictEqual(link, before[i])
          else assert.strictEqual(wrapped, URL.parse(before[i] ?? '')?.href)
        }
      }),
      { numRuns: 1000 },
    )
  })
  it('redirects only to the targets of its links', () => {
    for (const url of ['http://a.example/', 'https://a.example/?b&c=1&amp;d']) assert.ok(isRedirectTarget(url), url)
    for (const url of [
      'javascript:alert(1)',
      'http://a.example/\r\nX: y',
      '//a.example/',
      'http://a.example',
      ' http://a.example/',
      'data:text/html,x',
      '',
    ])
      assert.ok(!isRedirectTarget(url), url)
  })
})
