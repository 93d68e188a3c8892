import { assert } from 'chai'
import fc from 'fast-check'
import { canonicalMailbox } from './canonical-mailbox.ts'

describe('the mailbox of an address', () => {
  const SAME: readonly (readonly string[])[] = [
    ['anna.berg@gmail.com', 'annaberg@gmail.com', 'A.n.n.a.B.e.r.g+shop@googlemail.com', ' AnnaBerg@GMAIL.com '],
    ['anna.berg@proton.me', 'annaberg+x@pm.me', 'anna_berg@protonmail.com', 'anna-berg@protonmail.ch'],
    ['anna.berg@yandex.com', 'anna-berg@ya.ru'],
    ['anna@icloud.com', 'Anna+x@me.com'],
    ['anna@yahoo.com', 'anna-shop@yahoo.com', 'anna+x@ymail.com'],
    ['anna@fastmail.com', 'anna+x@fastmail.fm', 'anything@anna.fastmail.com'],
    ['anna@shop.example', 'Anna+1@SHOP.example', '"anna"@shop.example'],
    ['anna@xn--bcher-kva.example', 'anna@bücher.example'],
  ]
  for (const same of SAME)
    it(`${same.join(', ')} are one`, () => {
      assert.strictEqual(new Set(same.map(canonicalMailbox)).size, 1, JSON.stringify(same.map(canonicalMailbox)))
    })
  const DIFFERENT: readonly (readonly [string, string])[] = [
    ['anna.berg@shop.example', 'annaberg@shop.example'],
    ['anna-berg@shop.example', 'anna@shop.example'],
    ['anna-berg@gmail.com', 'anna@gmail.com'],
    ['anna.berg@yahoo.com', 'annaberg@yahoo.com'],
    ['anna@gmail.com', 'anna@shop.example'],
    ['+a@gmail.com', '+b@gmail.com'],
  ]
  for (const [one, other] of DIFFERENT)
    it(`${one} and ${other} are two`, () => assert.notStrictEqual(canonicalMailbox(one), canonicalMailbox(other)))
  it('is the same for itself, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string()), (text) => {
        const once = canonicalMailbox(text)
        assert.strictEqual(typeof once, 'string')
      }),
    )
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-z.]{0,20}[a-z]$/), (local) => {
        const dotted = local.replaceAll(/\.+/g, '.')
        assert.strictEqual(
          canonicalMailbox(`${dotted}@gmail.com`),
          canonicalMailbox(`${local.replaceAll('.', '')}@gmail.com`),
        )
      }),
    )
  })
})
