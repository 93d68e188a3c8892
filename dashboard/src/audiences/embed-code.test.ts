import { assert } from 'chai'
import fc from 'fast-check'
import { embedCode } from './embed-code.ts'

const URL = 'https://mail.example.com/s/c07b'

describe('code to embed a form', () => {
  it('posts to the form of the audience', () => {
    assert.strictEqual(embedCode('link', URL, 'News'), `<a href="${URL}">Subscribe to News</a>`)
    assert.include(embedCode('form', URL, 'News'), `action="${URL}"`)
    assert.include(embedCode('fetch', URL, 'News'), `fetch("${URL}"`)
  })

  it('a name never ends the markup around it', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const markup = embedCode('form', URL, `${name}"'><script>`)
        assert.notInclude(markup, '<script>')
        assert.strictEqual(markup.split('<h2>')[1]?.split('</h2>')[0]?.includes('<'), false)
      }),
    )
  })
})
