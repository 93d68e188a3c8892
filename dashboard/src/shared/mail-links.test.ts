/** What a sender should know about the links of a mail. */
import { assert } from 'chai'
import { assessLink, hasRemoteImages } from './mail-links.ts'

const assess = (url: string, text = '') => assessLink({ kind: 'link', url, text })

describe('links of a mail', () => {
  const schemes: readonly [string, string][] = [
    ['https://example.com/', 'https'],
    [' HTTP://example.com', 'http'],
    ['mailto:a@example.com', 'mailto'],
    ['tel:+49', 'tel'],
    ['cid:logo', 'cid'],
    ['#top', 'anchor'],
    ['javascript:alert(1)', 'other'],
    ['/relative', 'invalid'],
    ['', 'invalid'],
  ]
  for (const [url, scheme] of schemes)
    it(`${url || 'no URL'} is ${scheme}`, () => assert.strictEqual(assess(url).scheme, scheme))

  it('knows the links of this server by their form', () => {
    const token = 'AbCdEf0123456789_-x'
    assert.strictEqual(assess(`https://track.example.com/c/${token}`).own, 'click')
    assert.strictEqual(assess(`https://track.example.com/u/${token}`).own, 'unsubscribe')
    assert.isNull(assess('https://example.com/c/short').own)
    assert.isNull(assess(`https://example.com/x/${token}`).own)
  })

  it('finds text that shows another host than the link', () => {
    assert.isTrue(assess('https://evil.example/', 'https://bank.example/login').hasOtherText)
    assert.isTrue(assess('https://evil.example/', 'bank.example').hasOtherText)
    for (const [url, text] of [
      ['https://www.bank.example/', 'bank.example'],
      ['https://bank.example/', 'www.bank.example/login'],
      ['https://shop.example/', 'Read more. Now'],
      ['mailto:a@bank.example', 'bank.example'],
      ['https://track.example/c/AbCdEf0123456789_-x', 'bank.example'],
    ] as const)
      assert.isFalse(assess(url, text).hasOtherText, `${text} → ${url}`)
  })

  it('finds images of other servers', () => {
    for (const html of [
      '<img src="https://a.example/x.png">',
      '<img src=http://a.example/x>',
      "<td background='//a.example/x'>",
      '<p style="background:url( https://a.example/x )">',
    ])
      assert.isTrue(hasRemoteImages(html), html)
    for (const html of [
      '<img src="cid:x">',
      '<img src="data:image/png;base64,x">',
      '<a href="https://a.example">x</a>',
    ])
      assert.isFalse(hasRemoteImages(html), html)
  })
})
