import { assert } from 'chai'
import fc from 'fast-check'
import { parseAddress } from './address.ts'
import { canonicalMailbox } from './canonical-mailbox.ts'
import { spellingsOf } from './mailbox-spellings.ts'

const DOMAINS = [
  ['gmail.com', 'googlemail.com'],
  ['proton.me', 'protonmail.com', 'pm.me'],
  ['yandex.ru', 'ya.ru'],
  ['yahoo.com', 'ymail.com'],
  ['icloud.com', 'me.com'],
  ['fastmail.com', 'fastmail.fm'],
  ['x.example'],
] as const

/** As a table has it: parsed, in lower case. Null: an address that is never stored. */
function stored(text: string): string | null {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.address.address.toLowerCase() : null
}

/** In the order of an index with COLLATE "C". */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The number of ranges that have the address, or 0 if the pattern does not match it. */
function countFound(email: string, other: string): number {
  const { lows, highs, pattern, domains } = spellingsOf(email)
  if (!new RegExp(pattern).test(other)) return 0
  if (/^[\0-\u007f]*$/.test(other) && !domains.some((domain) => other.endsWith(domain))) return 0
  return lows.filter((low, i) => compare(other, low) >= 0 && compare(other, highs[i] ?? '') < 0).length
}

/** Characters of a local part, with those that providers ignore, tags, letters beyond ASCII and what needs quotes. */
const CHARACTERS = fc.constantFrom(...Array.from("aAbzZ09._-+'!#ａＡ．＋ﬁKſéü"), 'e\u0301', 'İ', '"', ' ')

/** A local part in another spelling: other case, characters that are ignored by some providers, wide forms, a tag. */
const CHANGES = fc.array(fc.tuple(fc.nat(64), fc.constantFrom('case', '.', '-', '_', 'wide', '+tag', '-tag')), {
  maxLength: 6,
})

function respell(local: string, changes: readonly (readonly [number, string])[]): string {
  let text = local
  for (const [place, change] of changes) {
    const at = place % (text.length + 1)
    const char = text[at] ?? ''
    if (change === 'case') text = text.slice(0, at) + char.toUpperCase() + text.slice(at + 1)
    else if (change === 'wide' && /[a-z]/.test(char))
      text = text.slice(0, at) + String.fromCharCode(char.charCodeAt(0) + 0xfee0) + text.slice(at + 1)
    else if (change.endsWith('tag')) text += change
    else if (change !== 'wide') text = text.slice(0, at) + change + text.slice(at)
  }
  return text
}

describe('the spellings of a mailbox', () => {
  const provider = fc.constantFrom(...DOMAINS)
  const local = fc.oneof(
    fc.stringMatching(/^[a-z][a-z0-9._-]{0,24}$/),
    fc.string({ unit: CHARACTERS, minLength: 1, maxLength: 12 }),
  )

  it('are each in one range, and match the pattern', () => {
    let same = 0
    const check = (one: string, other: string): void => {
      const address = stored(other)
      if (stored(one) === null || address === null || canonicalMailbox(one) !== canonicalMailbox(other)) return
      same++
      assert.strictEqual(countFound(one, address), 1, `${one} finds ${address}`)
    }
    fc.assert(
      fc.property(local, provider, fc.tuple(fc.nat(3), fc.nat(3)), CHANGES, (text, domains, [a, b], changes) => {
        const [one, other] = [domains[a % domains.length] ?? '', domains[b % domains.length] ?? '']
        check(`${text}@${one}`, `${respell(text, changes)}@${other}`)
        check(`${respell(text, changes)}@${one}`, `${text}@${other}`)
        check(`"${text}"@${one}`, `"${respell(text, changes)}"@${other}`)
        if (domains[0] === 'fastmail.com') check(`${text}@${one}`, `${respell('x', changes)}@${text}.${other}`)
      }),
      { numRuns: 3000 },
    )
    assert.isAbove(same, 1000)
  })

  it('are in disjoint ranges, which are few', () => {
    fc.assert(
      fc.property(local, provider, (text, [domain]) => {
        const email = `${text}@${domain}`
        if (stored(email) === null) return
        const { lows, highs } = spellingsOf(email)
        const ranges = lows.map((low, i) => [low, highs[i] ?? ''] as const).toSorted(([a], [b]) => compare(a, b))
        assert.isAtMost(ranges.length, 600)
        for (const [i, [low, high]] of ranges.entries()) {
          assert.isBelow(compare(low, high), 0, email)
          const [next] = ranges[i + 1] ?? []
          if (next !== undefined) assert.isAtMost(compare(high, next), 0, `${email}: ${high} and ${next}`)
        }
      }),
    )
  })

  it('of other people are in the ranges only where an expected prefix ends', () => {
    const others = ['zelda.quill@gmail.com', 'zeldaquuxx@gmail.com', 'zelda.quux@example.org', 'z.elda@gmail.com']
    for (const other of others) assert.strictEqual(countFound('zelda.quux@gmail.com', other), 0, other)
    assert.strictEqual(countFound('user1234567@x.example', 'user1234568@x.example'), 0)
  })
})
