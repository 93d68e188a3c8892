import { assert } from 'chai'
import fc from 'fast-check'
import { parseAddress } from './address.ts'
import { canonicalMailbox, spellingsOf } from './canonical-mailbox.ts'

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
  /** As a store has it: parsed, compared in lower case. */
  const isFound = (one: string, other: string): boolean => {
    const parsed = parseAddress(other.trim())
    const stored = (parsed.ok ? parsed.address.address : other).toLowerCase()
    const { prefix, pattern } = spellingsOf(one)
    return stored.startsWith(prefix) && new RegExp(pattern).test(stored)
  }
  for (const same of SAME)
    it(`${same.join(', ')} find each other`, () => {
      for (const one of same) for (const other of same) assert.ok(isFound(one, other), `${one} does not find ${other}`)
    })
  it('any address finds its spellings', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9][a-z0-9.!#$%&'*/=?^_`{|}~-]{0,20}[a-z0-9]$/),
        fc.constantFrom(
          'gmail.com',
          'googlemail.com',
          'pm.me',
          'ya.ru',
          'yahoo.com',
          'me.com',
          'fastmail.fm',
          'x.example',
        ),
        fc.stringMatching(/^[a-z0-9]{0,5}$/),
        (local, domain, tag) => {
          const plain = local.replaceAll(/\.+/g, '.')
          const one = `${plain}@${domain}`
          assert.ok(isFound(one, one) && isFound(one, `${plain.toUpperCase()}+${tag}@${domain}`), one)
        },
      ),
    )
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
