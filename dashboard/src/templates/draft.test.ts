import { assert } from 'chai'
import { draftOf, kindOf, lineOfProblem, newDraft, previewBody, readSampleData, saveBody } from './draft.ts'
import { contrastOf, readableOn } from './contrast.ts'
import { insertLink, readSpans, toggleMark } from './inline-text.ts'
import { removeUrls } from './mail-html.ts'
import { sketchOf } from './template-sketch.ts'
import { findVariables, unknownVariables } from './template-variables.ts'
import { changedParts } from './version-parts.ts'

describe('drafts of templates', () => {
  it('of blocks send what their blocks compile to, and the document', () => {
    const draft = { ...newDraft('blocks'), name: 'A', subject: 'B' }
    const body = saveBody(draft)
    assert.include(body.body, 'Hello {{default firstName "there"}}')
    assert.strictEqual(body.document?.['version'], 1)
    assert.strictEqual(previewBody(draft, null).body, body.body)
  })

  it('of code have no document, and empty texts are null', () => {
    const body = saveBody({ ...newDraft('html'), name: 'A', subject: 'B' })
    assert.deepEqual([body.document, body.text, body.description, body.sample_data], [null, null, null, null])
    assert.notProperty(body, 'id')
  })

  it('of a document that cannot be read are code', () => {
    const stored = {
      id: 'x',
      name: 'A',
      subject: 'B',
      body: '<p>',
      text: null,
      format: 'html' as const,
      sample_data: null,
      document: { version: 99 },
      description: null,
      category: null,
    }
    assert.isNull(draftOf(stored).document)
    assert.strictEqual(kindOf(stored), 'blocks')
  })

  it('read sample data only from objects', () => {
    assert.deepEqual(readSampleData(' '), { isValid: true, data: null })
    assert.deepEqual(readSampleData('{"a":1}'), { isValid: true, data: { a: 1 } })
    for (const text of ['[1]', 'null', '"x"', '{', '1']) assert.isFalse(readSampleData(text).isValid, text)
  })

  it('find the line of the body in a message of the API', () => {
    assert.strictEqual(lineOfProblem('The template cannot be rendered: the body, line 12: unknown helper x'), 12)
    assert.isNull(lineOfProblem('The template is invalid: the subject, line 1: x'))
    assert.isNull(lineOfProblem('The template is invalid: the body is too long'))
  })
})

describe('variables of templates', () => {
  it('are found once, without helpers, texts, comments and partials', () => {
    assert.deepEqual(
      findVariables(
        '{{firstName}} {{#if order.total}}{{number order.total}}{{else}}{{default a "b c"}}{{/if}}{{! x }}{{> p}}' +
          '{{{raw}}} {{firstName}} {{#each tags}}{{this}}{{/each}}',
      ),
      ['firstName', 'order.total', 'a', 'raw', 'tags'],
    )
  })

  it('are unknown if neither contacts nor sample data have them', () => {
    assert.deepEqual(unknownVariables('{{firstName}} {{order.total}} {{code}} {{campaign.id}}', ['order']), ['code'])
  })

  it('are read from long hostile texts in bounded time', () => {
    assert.deepEqual(findVariables('{{'.repeat(50_000)), [])
  })
})

describe('text of blocks', () => {
  it('is marked, and unmarked again', () => {
    const marked = toggleMark('a word here', 2, 6, '**')
    assert.deepEqual(marked, { text: 'a **word** here', from: 4, to: 8 })
    assert.deepEqual(toggleMark(marked.text, marked.from, marked.to, '**'), { text: 'a word here', from: 2, to: 6 })
    const link = insertLink('a word', 2, 6, { label: 'word', href: 'https://example.com/' })
    assert.strictEqual(link.text, 'a [word](https://example.com/)')
  })

  it('keeps what is not a mark', () => {
    for (const text of ['2 * 3', '**', '[a](b', '*', '[x]', '****'])
      assert.strictEqual(
        readSpans(text)
          .map((span) => span.text)
          .join(''),
        text,
      )
  })
})

describe('pictures and comparisons of templates', () => {
  it('a sketch shows the shape of the source', () => {
    const body = '<h1>a</h1><p>b</p><a style="background:red">c</a><a href="x">d</a><img><hr>'
    assert.deepEqual(sketchOf({ format: 'html', body }), ['heading', 'text', 'button', 'image', 'line'])
    assert.deepEqual(sketchOf({ format: 'text', body: 'a\n\nb' }), ['text', 'text'])
  })

  it('colours have the contrast of WCAG', () => {
    assert.strictEqual(contrastOf('#000000', '#ffffff'), 21)
    assert.strictEqual(readableOn('#1f4fd8'), '#ffffff')
    assert.strictEqual(readableOn('#ffff00'), '#111827')
  })

  it('images of style sheets are removed', () => {
    assert.strictEqual(removeUrls('a{background:URL("https://x/y.png") top}'), 'a{background:none top}')
  })

  it('only parts that differ are compared', () => {
    const version = { name: 'A', subject: 'S', body: '<p>', text: null, sample_data: null, partials: [] }
    assert.deepEqual(changedParts(version, { ...version, body: '<b>', text: '' }), [
      { name: 'body', before: '<p>', after: '<b>' },
    ])
  })
})
