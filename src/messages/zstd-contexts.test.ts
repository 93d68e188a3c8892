/** Frames are those of Node's zstd in both directions, also after damaged ones. */
import { randomBytes } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { assert } from 'chai'
import fc from 'fast-check'
import { compressFrame, createFrameReader } from './zstd-contexts.ts'

const MAX = 400_000
const readFrame = createFrameReader(MAX)

describe('zstd contexts', () => {
  it('write and read what Node reads and writes, one frame after another', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(3000), (text, repeats) => {
        const octets = Buffer.from(text.repeat(repeats).slice(0, 100_000))
        assert.ok(zstdDecompressSync(compressFrame(octets)).equals(octets))
        for (const frame of [compressFrame(octets), zstdCompressSync(octets)])
          assert.ok(readFrame(frame)?.equals(octets) === true)
      }),
    ))

  for (const length of [0, 1, 40_000, 130_000, MAX])
    it(`restore ${length} octets that do not become smaller`, () => {
      const octets = randomBytes(length)
      assert.ok(readFrame(compressFrame(octets))?.equals(octets) === true)
    })

  it('are not disturbed by a frame that ends early, wherever it ends', () => {
    const octets = Buffer.from('A mail of a few words. '.repeat(500))
    const whole = compressFrame(octets)
    for (let end = 1; end < whole.length; end++) {
      assert.strictEqual(readFrame(whole.subarray(0, end))?.length ?? 0, 0, `cut at ${end}`)
      assert.ok(readFrame(whole)?.equals(octets) === true, `after one that was cut at ${end}`)
    }
  })

  it('refuse more octets than are allowed', () => {
    assert.ok(readFrame(compressFrame(Buffer.alloc(MAX + 1))) === null)
    assert.strictEqual(readFrame(compressFrame(Buffer.alloc(MAX)))?.length, MAX)
  })

  it('give results of their own', () => {
    const [first, second] = [compressFrame(Buffer.alloc(9000, 'a')), compressFrame(Buffer.alloc(9000, 'b'))]
    const [one, two] = [readFrame(first), readFrame(second)]
    assert.strictEqual(one?.toString(), 'a'.repeat(9000))
    assert.strictEqual(two?.toString(), 'b'.repeat(9000))
  })
})
