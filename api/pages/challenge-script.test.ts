/** The script of the form, run with the few elements that it uses, finds what the server accepts. */
import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { assert } from 'chai'
import { CHALLENGE_SCRIPT } from './challenge-script.ts'

function solve(challenge: string, bits: number): Promise<{ readonly solution: string; readonly isEnabled: boolean }> {
  const { promise, resolve } = Promise.withResolvers<{ solution: string; isEnabled: boolean }>()
  const button = { disabled: false }
  const solution = { value: '' }
  const form = { elements: { solution }, querySelector: () => button }
  const field = { value: challenge, dataset: { bits: String(bits) }, form }
  const note = { remove: () => resolve({ solution: solution.value, isEnabled: !button.disabled }) }
  const document = { querySelector: () => field, getElementById: () => note }
  runInNewContext(CHALLENGE_SCRIPT, { document, setTimeout })
  return promise
}

describe('the script of a proof of work', () => {
  for (const [challenge, bits] of [
    ['m0abcdef.abcdefghijklmnop.ABCDEFGHIJKLMNOP', 12],
    ['m0abcdefg.-_-_-_-_-_-_-_-_.0123456789abcdef', 9],
    ['x', 1],
  ] as const)
    it(`solves ${bits} bits of ${challenge}`, async () => {
      const { solution, isEnabled } = await solve(challenge, bits)
      assert.match(solution, /^\d+$/)
      assert.ok(isEnabled)
      const hash = createHash('sha256').update(`${challenge}:${solution}`).digest()
      assert.ok(Math.clz32(hash.readUInt32BE(0)) >= bits, hash.toString('hex'))
    })
})
