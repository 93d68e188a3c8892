import { assert } from 'chai'
import type { Branding } from '#dashboard/src/api/endpoints.ts'
import { bodyOf, draftOf, isChanged, withText } from './branding-draft.ts'

const STORED: Branding = {
  accent_color: '#7a1f3d',
  background_color: null,
  text_color: null,
  default_language: 'en',
  languages: ['en', 'de'],
  texts: { de: { 'subscribe.button': 'Jetzt anmelden' } },
  catalogue: { 'subscribe.button': 'Subscribe' },
  defaults: { en: { 'subscribe.button': 'Subscribe' } },
  logo_url: null,
  logo_alt: null,
}

describe('branding draft', () => {
  it('shows defaults as empty fields, and sends empty fields as null', () => {
    const draft = draftOf(STORED)
    assert.strictEqual(draft.background_color, '')
    assert.deepEqual(bodyOf({ ...draft, accent_color: ' ' }), {
      accent_color: null,
      background_color: null,
      text_color: null,
      logo_alt: null,
      default_language: 'en',
      texts: STORED.texts,
    })
  })

  it('is changed only by what the server would store', () => {
    const draft = draftOf(STORED)
    assert.isFalse(isChanged(draft, STORED))
    assert.isTrue(isChanged({ ...draft, text_color: '#000000' }, STORED))
    assert.isFalse(isChanged({ ...draft, texts: withText(draft.texts, 'en', 'subscribe.button', '') }, STORED))
  })

  const TEXTS: [string, Branding['texts'], [string, string, string | undefined], Branding['texts']][] = [
    ['adds a text to a new language', {}, ['fr', 'a', 'b'], { fr: { a: 'b' } }],
    ['replaces a text', { fr: { a: 'b', c: 'd' } }, ['fr', 'a', 'x'], { fr: { a: 'x', c: 'd' } }],
    ['removes a text', { fr: { a: 'b', c: 'd' } }, ['fr', 'a', undefined], { fr: { c: 'd' } }],
    [
      'removes a language without texts',
      { fr: { a: 'b' }, de: { a: 'b' } },
      ['fr', 'a', undefined],
      { de: { a: 'b' } },
    ],
  ]
  for (const [what, before, change, after] of TEXTS)
    it(what, () => assert.deepEqual(withText(before, ...change), after))
})
