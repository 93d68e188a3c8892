import { assert } from 'chai'
import { createMessageReader } from './message-reader.ts'

describe('the reader of the inbound port', () => {
  it('stores the beginning of a mail, and counts all of it', () => {
    const mail = createMessageReader(100).start(5)
    for (const chunk of ['abc', 'defg', 'h']) mail.write(Buffer.from(chunk))
    const { raw, size } = mail.complete()
    assert.strictEqual(`${raw.toString()} ${size}`, 'abcde 8')
    mail.release()
  })
  it('stores a whole mail up to the limit, and refuses one beyond it', () => {
    const reader = createMessageReader(5)
    const [whole, beyond] = [reader.start(Infinity), reader.start(Infinity)]
    for (const chunk of ['abc', 'de']) whole.write(Buffer.from(chunk))
    for (const chunk of ['abc', 'def']) beyond.write(Buffer.from(chunk))
    assert.strictEqual(whole.complete().raw.toString(), 'abcde')
    assert.throws(() => beyond.complete(), /^5\.3\.4 /)
  })
  it('limits what all mails have in memory, until they are released', () => {
    const reader = createMessageReader(100, 10)
    const [first, second] = [reader.start(100), reader.start(100)]
    first.write(Buffer.from('123456'))
    second.write(Buffer.from('123456'))
    assert.strictEqual(first.complete().raw.toString(), '123456')
    assert.throws(() => second.complete(), /^4\.3\.1 /)
    first.release()
    second.release()
    const third = reader.start(100)
    third.write(Buffer.from('123456'))
    assert.strictEqual(third.complete().size, 6)
  })
  it('does not need more memory for a mail in many small chunks', () => {
    const mail = createMessageReader(1_000_000).start(Infinity)
    for (let n = 0; n < 100_000; n++) mail.write(Buffer.from('x'))
    const { raw } = mail.complete()
    assert.strictEqual(raw.length, 100_000)
    assert.isAtMost(raw.buffer.byteLength, 200_000)
  })
})
