import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createLinks, isOurLink, UNSUBSCRIBE_PREFIX, type MailRef } from './links.ts'
import { clickDigest } from './click-signer.ts'
import { createTrackingTokens } from './tokens.ts'

const encryption = createEncryption(Buffer.alloc(32, 7))
const HOSTED = 'https://hosted.example'
const links = createLinks({ encryption, config: { bounceDomain: 'bounces.op.example', hostedMailUrl: HOSTED } })
const tokens = createTrackingTokens(encryption)
const REF: MailRef = {
  base: 'https://track.shop.example',
  messageId: newId(),
  n: 3,
  workspaceId: newId(),
  senderId: newId(),
  contactId: newId(),
  audienceId: newId(),
}
const URL_OF_MAIL = 'https://shop.example/a?b=1&c=ü#d'
const { base: _, ...LIST_REF } = REF

/** The parts of a path. */
const partsOf = (link: string): string[] => new URL(link).pathname.split('/').slice(1)
const clickToken = (ref: Omit<MailRef, 'base'>, url: string): string =>
  partsOf(links.click({ ...ref, base: REF.base }, url))[1] ?? ''

describe('tokens of links', () => {
  const anyList = fc.record({
    messageId: fc.uuid(),
    n: fc.integer({ min: 0, max: 65_535 }),
    workspaceId: fc.uuid(),
    senderId: fc.option(fc.uuid()),
    contactId: fc.option(fc.uuid()),
    audienceId: fc.option(fc.uuid()),
  })
  it('decode to the values that were encoded', () => {
    fc.assert(
      fc.property(anyList, fc.webUrl(), (ref, url) => {
        const { messageId, n, senderId, contactId, audienceId } = ref
        assert.deepEqual(tokens.readList(tokens.list(ref)), { ...ref })
        for (const use of ['open', 'view'] as const)
          assert.deepEqual(tokens.readHit(use, tokens.hit(use, ref)), { messageId, n, senderId })
        assert.deepEqual(tokens.readClick(clickToken(ref, url), url), { messageId, n, senderId })
        if (contactId === null) return
        const mailbox = tokens.mailbox({ contactId, audienceId })
        assert.deepEqual(tokens.readMailbox(mailbox.toUpperCase()), { contactId, audienceId })
      }),
    )
  })
  it('are invalid with a changed character, for another use and for another URL', () => {
    const all = [
      tokens.hit('open', REF),
      clickToken(REF, URL_OF_MAIL),
      tokens.list(REF),
      tokens.mailbox({ contactId: newId(), audienceId: null }),
    ]
    const read = (token: string): unknown[] =>
      [
        tokens.readHit('open', token),
        tokens.readHit('view', token),
        tokens.readClick(token, URL_OF_MAIL),
        tokens.readList(token),
        tokens.readMailbox(token),
      ].filter((found) => found !== null)
    for (const token of all) {
      assert.strictEqual(read(token).length, 1)
      for (let i = 0; i < token.length; i++) {
        const other = token.charAt(i) === 'a' ? 'b' : 'a'
        assert.deepEqual(read(token.slice(0, i) + other + token.slice(i + 1)), [], `${token} at ${i}`)
      }
    }
    assert.strictEqual(tokens.readClick(clickToken(REF, URL_OF_MAIL), `${URL_OF_MAIL}x`), null)
    assert.strictEqual(
      createTrackingTokens(createEncryption(Buffer.alloc(32, 8))).readHit('open', tokens.hit('open', REF)),
      null,
    )
    fc.assert(fc.property(fc.string(), (text) => assert.deepEqual(read(text), [])))
  })
  it('of earlier versions, which do not name the sender, are valid', () => {
    const hex = (id: string | null): Buffer => Buffer.from((id ?? '').replaceAll('-', ''), 'hex')
    const recipient = Buffer.concat([hex(REF.messageId), Buffer.from([0, 3])])
    const list = Buffer.concat([recipient, hex(REF.workspaceId), hex(REF.contactId), hex(REF.audienceId)])
    const sealed = (purpose: 'tracking-open' | 'unsubscribe', plain: Buffer): string =>
      Buffer.concat([plain, encryption.mac(purpose, plain).subarray(0, 12)]).toString('base64url')
    const click = Buffer.concat([recipient, clickDigest(encryption.mac('tracking-click', recipient), URL_OF_MAIL)])
    const hit = { messageId: REF.messageId, n: 3, senderId: null }
    assert.deepEqual(tokens.readHit('open', sealed('tracking-open', recipient)), hit)
    assert.deepEqual(tokens.readClick(click.toString('base64url'), URL_OF_MAIL), hit)
    assert.deepEqual(tokens.readList(sealed('unsubscribe', list)), { ...LIST_REF, senderId: null })
  })
})

describe('links of a mail', () => {
  it('start with its base address and contain its identifiers', () => {
    const [use, token = '', coded = ''] = partsOf(links.click(REF, URL_OF_MAIL))
    assert.strictEqual(use, 'c')
    assert.strictEqual(Buffer.from(coded, 'base64url').toString(), URL_OF_MAIL)
    assert.deepEqual(tokens.readClick(token, URL_OF_MAIL), { messageId: REF.messageId, n: 3, senderId: REF.senderId })
    for (const [link, path] of [
      [links.unsubscribe(REF), 'u'],
      [links.preferences(REF), 'p'],
    ] as const) {
      const [prefix, text = ''] = partsOf(link)
      assert.strictEqual(prefix, path)
      assert.deepEqual(tokens.readList(text), LIST_REF)
    }
    assert.ok(links.open(REF).startsWith('https://track.shop.example/o/'))
    assert.ok(links.view(REF).startsWith(`${HOSTED}/v/`))
  })
  it('need no escaping in any attribute', () => {
    for (const link of [
      links.open(REF),
      links.click(REF, `${URL_OF_MAIL}"'<>&`),
      links.unsubscribe(REF),
      links.view(REF),
    ])
      assert.match(link, /^https:\/\/[\w./-]+$/)
  })
  it('for unsubscribing have both header fields, and an address with a local part of at most 64 octets', () => {
    const [[name, value], post] = links.listUnsubscribe(REF) as [[string, string], [string, string]]
    assert.strictEqual(name, 'List-Unsubscribe')
    assert.deepEqual(post, ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'])
    const [, https, local = '', domain, subject = ''] =
      /^<(https:[^>]+)>, <mailto:([^@>]+)@([^?>]+)\?subject=([^>]+)>$/.exec(value) ?? []
    assert.strictEqual(https, links.unsubscribe(REF))
    assert.ok(local.startsWith(UNSUBSCRIBE_PREFIX) && local.length <= 64)
    assert.strictEqual(domain, 'bounces.op.example')
    assert.deepEqual(tokens.readMailbox(local.slice(2)), { contactId: REF.contactId, audienceId: REF.audienceId })
    assert.deepEqual(tokens.readList(subject), LIST_REF)
  })
  it('for unsubscribing have no mail address without a contact', () => {
    const [field] = links.listUnsubscribe({ ...REF, contactId: null })
    assert.strictEqual(field?.[1], `<${links.unsubscribe({ ...REF, contactId: null })}>`)
  })
  it('are recognised by isOurLink, and no others are', () => {
    for (const link of [
      links.open(REF),
      links.click(REF, URL_OF_MAIL),
      links.unsubscribe(REF),
      links.preferences(REF),
      links.view(REF),
    ])
      assert.ok(isOurLink([REF.base, HOSTED], link), link)
    for (const link of [
      'https://track.shop.example/s/abc',
      'https://track.shop.example.evil.example/u/' + 'a'.repeat(50),
      'https://track.shop.example/u/help',
    ])
      assert.ok(!isOurLink([REF.base, HOSTED], link), link)
  })
})
