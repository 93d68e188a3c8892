import { assert } from 'chai'
import * as fc from 'fast-check'
import { OctetBuffer } from './octet-buffer.ts'

describe('a buffer of octets', () => {
  it('joins chunks of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 40 }), (chunks) => {
        const buffer = new OctetBuffer()
        for (const chunk of chunks) buffer.add(Buffer.from(chunk))
        assert.isTrue(buffer.octets.equals(Buffer.concat(chunks)))
        assert.isAtMost(buffer.capacity, Math.max(300, buffer.octets.length * 2))
      }),
    )
  })
  it('does not copy a single chunk', () => {
    const chunk = Buffer.from('text')
    const buffer = new OctetBuffer()
    buffer.add(chunk)
    assert.strictEqual(buffer.octets.buffer, chunk.buffer)
    assert.strictEqual(buffer.octets.byteOffset, chunk.byteOffset)
  })
  it('leaves a chunk as it is that another one follows', () => {
    const first = Buffer.from('first second').subarray(0, 6)
    const buffer = new OctetBuffer()
    buffer.add(first)
    buffer.add(Buffer.from('third'))
    assert.strictEqual(buffer.octets.toString(), 'first third')
    assert.strictEqual(Buffer.from(first.buffer, first.byteOffset, 12).toString(), 'first second')
  })
  it('grows in few steps with many small chunks', () => {
    const buffer = new OctetBuffer()
    const capacities = new Set<number>()
    for (let n = 0; n < 100_000; n++) {
      buffer.add(Buffer.from('x'))
      capacities.add(buffer.capacity)
    }
    assert.isBelow(capacities.size, 20)
    assert.strictEqual(buffer.octets.length, 100_000)
  })
  it('allocates what is expected once, and nothing before the second chunk', () => {
    const buffer = new OctetBuffer({ expected: 10 })
    assert.strictEqual(buffer.capacity, 0)
    for (const chunk of ['1234', '56', '7890']) buffer.add(Buffer.from(chunk))
    assert.strictEqual(buffer.octets.toString(), '1234567890')
    assert.strictEqual(buffer.octets.buffer.byteLength, 10)
  })
  it('holds more than what is expected', () => {
    const buffer = new OctetBuffer({ expected: 5 })
    for (const chunk of ['1234', '5678']) buffer.add(Buffer.from(chunk))
    assert.strictEqual(buffer.octets.toString(), '12345678')
  })
  it('allocates at least and at most what it may', () => {
    const buffer = new OctetBuffer({ least: 6, most: 9 })
    for (const [chunk, capacity] of [
      ['1', 1],
      ['2', 6],
      ['3456', 6],
      ['7', 9],
    ] as const) {
      buffer.add(Buffer.from(chunk))
      assert.strictEqual(buffer.capacity, capacity)
    }
  })
  it('is empty when it is cleared', () => {
    const buffer = new OctetBuffer()
    buffer.add(Buffer.from('text'))
    buffer.clear()
    assert.strictEqual(buffer.capacity, 0)
    buffer.add(Buffer.from('more'))
    assert.strictEqual(buffer.octets.toString(), 'more')
  })
})
