import { assert } from 'chai'
import fc from 'fast-check'
import { createBlock, createDocument, DEFAULT_STYLE, type Block, type BlockDocument } from './block-document.ts'
import { compileBlocks, escapeText } from './block-html.ts'

function compile(...blocks: Partial<Block>[]): string {
  const document: BlockDocument = {
    version: 1,
    style: DEFAULT_STYLE,
    blocks: blocks.map((block, index) => ({ ...createBlock(block.type ?? 'text', `b${index}`), ...block })),
  }
  return compileBlocks(document)
}

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

describe('HTML of blocks', () => {
  const cases: readonly (readonly [name: string, text: string, escaped: string])[] = [
    ['markup', '<b> & "quotes"', '&lt;b&gt; &amp; &quot;quotes&quot;'],
    ['a variable', 'Hi {{firstName}}', 'Hi {{firstName}}'],
    ['a helper', '{{default firstName "there"}}!', '{{default firstName "there"}}!'],
    ['a variable that would not be escaped', '{{{html}}}', '&#123;&#123;&#123;html&#125;&#125;&#125;'],
    ['a block of the template language', '{{#if a}}', '&#123;&#123;#if a&#125;&#125;'],
    ['a partial', '{{> other}}', '&#123;&#123;&gt; other&#125;&#125;'],
    ['markup in an argument', '{{default a "<b>"}}', '&#123;&#123;default a &quot;&lt;b&gt;&quot;&#125;&#125;'],
    ['single braces', '{a}', '&#123;a&#125;'],
  ]
  for (const [name, text, escaped] of cases)
    it(`escapes ${name}`, () => {
      assert.strictEqual(escapeText(text), escaped)
    })

  it('no text of any block becomes markup', () => {
    const types = ['heading', 'text', 'button', 'image', 'list', 'footer'] as const
    const html = compile(
      ...types.map((type) => ({
        type,
        text: HOSTILE,
        alt: HOSTILE,
        src: `https://a.example/${HOSTILE}`,
        href: HOSTILE,
      })),
      { type: 'columns', columns: [[{ ...createBlock('text', 'x'), text: HOSTILE }], []] },
    )
    assert.notMatch(html, /<script|<img src=x|"'|onerror=alert\(1\)>/)
  })

  it('links only to web, mail and telephone addresses, and to variables', () => {
    const link = (href: string): boolean => compile({ type: 'button', href }).includes('<a href=')
    assert.deepEqual(
      [
        'https://example.com/',
        'mailto:a@example.com',
        'tel:+49301234',
        '{{viewInBrowserUrl}}',
        'javascript:alert(1)',
        ' JavaScript:alert(1)',
        'data:text/html,x',
        '//example.com',
        '',
      ].map(link),
      [true, true, true, true, false, false, false, false, false],
    )
    assert.notInclude(compile({ type: 'text', text: '[here](javascript:alert(1))' }), 'href')
  })

  it('an image without an address is left out', () => {
    assert.notInclude(compile({ type: 'image', src: 'file:///etc/passwd' }), '<img')
  })

  it('bold, italic and links are written as such', () => {
    assert.include(
      compile({ type: 'text', text: '**bold *both*** and [a *link*](https://example.com/?a=1&b=2)' }),
      `<strong>bold </strong><strong><em>both</em></strong> and <a href="https://example.com/?a=1&amp;b=2"`,
    )
  })

  it('a new document has an unsubscribe link', () => {
    assert.include(compileBlocks(createDocument()), 'href="{{unsubscribeUrl}}"')
  })

  it('any text leaves only the tags of the compiler', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const inner = /<p [^>]*>([\s\S]*)<\/p>/.exec(compile({ type: 'text', text }))?.[1] ?? ''
        assert.notMatch(inner.replaceAll(/<\/?(?:p|br|strong|em|a)(?: [^<>]*)?>/g, ''), /[<>]/)
      }),
    )
  })
})
