import { assert } from 'chai'
import fc from 'fast-check'
import { listAddresses } from './listed-addresses.ts'

describe('addresses in a text', () => {
  const CASES: readonly (readonly [text: string, addresses: readonly string[]])[] = [
    ['Final-Recipient: rfc822;anna+shop@example.org\r\n', ['anna+shop@example.org']],
    ['From: "Anna" <Anna@Example.org>, bert@b.example.', ['Anna@Example.org', 'bert@b.example']],
    ['<a href="mailto:anna@example.org?subject=x">', ['anna@example.org']],
    ['anna@example.org anna@example.org', ['anna@example.org']],
    ['a@ @b.example @', []],
    ['', []],
  ]
  for (const [text, addresses] of CASES)
    it(JSON.stringify(text), () => assert.deepEqual([...listAddresses(text)], addresses))
  it('are found between any others', () =>
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        assert.include([...listAddresses(`${before} anna@example.org ${after}`)], 'anna@example.org')
      }),
    ))
  it('a text of nothing but signs ends soon', () => {
    assert.strictEqual(listAddresses('@'.repeat(200_000)).size, 0)
    assert.strictEqual(listAddresses('a'.repeat(1_000_000)).size, 0)
  })
})
