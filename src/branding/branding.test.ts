import { assert } from 'chai'
import fc from 'fast-check'
import { contrastOf, LEAST_CONTRAST, lightenedFor, textColourOn } from './contrast.ts'
import { MAX_LOGO_BYTES, readLogo } from './logo.ts'
import { CATALOGUE, chooseLanguage, filled, TEXT_KEYS, textsIn } from './texts.ts'

const colour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

describe('contrast of colours', () => {
  const CASES: readonly [one: string, other: string, contrast: string][] = [
    ['#000000', '#ffffff', '21.00'],
    ['#ffffff', '#ffffff', '1.00'],
    ['#767676', '#ffffff', '4.54'],
    ['#777777', '#ffffff', '4.48'],
    ['#ff0000', '#ffffff', '4.00'],
  ]
  for (const [one, other, contrast] of CASES)
    it(`of ${one} and ${other} is ${contrast}`, () => assert.strictEqual(contrastOf(one, other).toFixed(2), contrast))

  it('of text on a button, and of links in dark mode, can be read with any colour', () => {
    fc.assert(
      fc.property(colour, (one) => {
        assert.isAtLeast(contrastOf(textColourOn(one), one), 4)
        assert.isAtLeast(contrastOf(lightenedFor(one, '#16181b'), '#16181b'), LEAST_CONTRAST)
      }),
    )
  })
})

function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(33)
  bytes.write('\x89PNG\r\n\x1a\n', 0, 'latin1')
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const jpeg = Buffer.from('ffd8ffe000044a46ffc0000b080001000101011100ffd9', 'hex')

describe('logos', () => {
  const CASES: readonly [what: string, bytes: Buffer, result: string][] = [
    ['a PNG image', png(200, 80), 'image/png'],
    ['a GIF image', gif, 'image/gif'],
    ['a JPEG image', jpeg, 'image/jpeg'],
    ['a PNG image of too many pixels', png(60_000, 60_000), 'must be at most 2000 pixels wide and 1000 pixels high'],
    ['a PNG image without a size', png(0, 0), 'is a broken image'],
    ['a PNG image that ends early', png(1, 1).subarray(0, 20), 'is a broken image'],
    ['a JPEG image without a frame', jpeg.subarray(0, 8), 'is a broken image'],
    ['SVG', Buffer.from('<svg onload="alert(1)"/>'), 'must be a PNG, JPEG or GIF image; SVG is not accepted'],
    ['HTML', Buffer.from('<script>alert(1)</script>'), 'must be a PNG, JPEG or GIF image; SVG is not accepted'],
    ['nothing', Buffer.alloc(0), 'must be a PNG, JPEG or GIF image; SVG is not accepted'],
    ['a file that is too large', Buffer.concat([gif, Buffer.alloc(MAX_LOGO_BYTES)]), 'must be at most 200 KB'],
  ]
  for (const [what, bytes, result] of CASES)
    it(`${what}: ${result}`, () => {
      const read = readLogo(bytes)
      assert.strictEqual(read.kind === 'logo' ? read.type : read.reason, result)
    })

  it('of any bytes end in a result', () => {
    const start = fc.constantFrom('ffd8ff', '474946383961', '89504e470d0a1a0a', '')
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 200 }), (head, rest) => {
        readLogo(Buffer.concat([Buffer.from(head, 'hex'), rest]))
      }),
    )
  })
})

describe('texts of pages', () => {
  it('have every key in every language of the catalogue, with the same placeholders', () => {
    const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([found]) => found).toSorted()
    for (const [language, texts] of Object.entries(CATALOGUE))
      for (const key of TEXT_KEYS)
        assert.deepEqual(placeholders(texts[key]), placeholders(CATALOGUE['en']?.[key] ?? ''), `${language} ${key}`)
  })

  it('of the workspace come first, then the catalogue, then the default language', () => {
    const texts = textsIn('de', { de: { 'subscribe.button': 'Los' }, en: { 'subscribe.button': 'Go' } }, 'en')
    assert.strictEqual(texts['subscribe.button'], 'Los')
    assert.strictEqual(texts['unsubscribe.button'], 'Abbestellen')
    assert.strictEqual(textsIn('fr', { fr: { 'subscribe.title': 'A' } }, 'de')['unsubscribe.button'], 'Abbestellen')
  })

  it('are filled in once: a name that looks like a placeholder stays', () => {
    assert.strictEqual(filled('{list}, {email}', { list: '{email}', email: 'a@b.example' }), '{email}, a@b.example')
  })

  const LANGUAGES: readonly [ofContact: string | null, accepted: string | undefined, chosen: string][] = [
    [null, undefined, 'en'],
    [null, 'de-AT,de;q=0.9,en;q=0.8', 'de'],
    [null, 'fr, en;q=0.3, de;q=0.7', 'de'],
    [null, 'de;q=0, fr', 'en'],
    [null, '*;;q=x,,,', 'en'],
    ['de-CH', 'en', 'de'],
    ['xx', 'de', 'de'],
  ]
  for (const [ofContact, accepted, chosen] of LANGUAGES)
    it(`a contact with ${ofContact ?? 'no language'} and a browser with ${accepted ?? 'none'} gets ${chosen}`, () =>
      assert.strictEqual(chooseLanguage({ ofContact, accepted, available: ['de', 'en'], byDefault: 'en' }), chosen))
})
