import { createHash } from 'node:crypto'
import { assert } from 'chai'
import { hashKey, hasKeyFormat, generateKey } from './key-format.ts'

const PART = '0190a1b2c3d47e5f8a9b0c1d2e3f4a5b'
const SECRET = 'ab'.repeat(32)
/** What existing clients check. */
const CLIENTS = /^[a-z]+_[a-f0-9]+\.(live|adm)_[a-f0-9]+$/

const CASES: readonly [text: string, isKey: boolean][] = [
  [`ms_${PART}.live_${SECRET}`, true],
  [`ms_${PART}.adm_${SECRET}`, true],
  [`other_${PART}.live_${SECRET}`, true],
  [`ms_${PART}.live_${SECRET}0`, false],
  [`ms_${PART}.live_${SECRET.slice(1)}`, false],
  [`ms_${PART}.root_${SECRET}`, false],
  [`MS_${PART}.live_${SECRET}`, false],
  [`ms_${PART}.live_${SECRET.toUpperCase()}`, false],
  [`ms_${PART}.live_${SECRET}\n`, false],
  [` ms_${PART}.live_${SECRET}`, false],
  [`ms_.live_${SECRET}`, false],
  [`${'m'.repeat(100_000)}_${PART}.live_${SECRET}`, false],
  ['', false],
]

describe('key format', () => {
  for (const [text, isKey] of CASES) {
    it(`${isKey ? 'accepts' : 'rejects'} ${JSON.stringify(text.slice(0, 60))} (${text.length})`, () =>
      assert.strictEqual(hasKeyFormat(text), isKey))
  }

  it('generates unique keys that clients and the server recognise', () => {
    for (const kind of ['regular', 'admin'] as const) {
      const key = generateKey('ms', PART, kind)
      assert.match(key, CLIENTS)
      assert.strictEqual(hasKeyFormat(key), true)
      assert.strictEqual(key.includes(kind === 'admin' ? '.adm_' : '.live_'), true)
      assert.notStrictEqual(generateKey('ms', PART, kind), key)
    }
  })

  it('rejects a prefix that clients do not accept', () => {
    for (const prefix of ['', 'MS', 'm1', 'my-mail', 'a'.repeat(40)])
      assert.throws(() => generateKey(prefix, PART, 'admin'), /KEY_PREFIX/)
  })

  it('stores the SHA-256 of the whole key', () => {
    assert.deepEqual(hashKey('a key'), createHash('sha256').update('a key').digest())
  })
})
