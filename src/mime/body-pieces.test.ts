import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { joinMessage, joinPieces, joinReady } from './body-pieces.ts'

describe('a body of pieces', () => {
  it('has texts, octets and files in their order, files in base64', async () => {
    const file = randomBytes(100)
    const { body } = await joinPieces(['a\r\n', Buffer.from('b'), { file }, 'ü', { file: Buffer.alloc(0) }], 0)
    const lines = file.toString('base64').match(/.{1,76}/g) ?? []
    assert.strictEqual(body.toString('latin1'), `a\r\nb${lines.join('\r\n')}ü`)
  })

  it('has a large file in whole lines', async () => {
    const file = randomBytes(2_500_000)
    const { body } = await joinPieces([{ file }], 0)
    const lines = body.toString('latin1').split('\r\n')
    assert.deepEqual(
      lines.slice(0, -1).filter(({ length }) => length !== 76),
      [],
    )
    assert.ok(Buffer.from(lines.join(''), 'base64').equals(file))
  })
})

describe('a message of a body with room', () => {
  const BODY = 'body\r\n'
  const HEAD = 'Subject: ü\r\n\r\n'

  it('is written before the body, which is not copied', () => {
    const joined = joinReady([BODY], HEAD.length)
    const message = joinMessage(HEAD, joined)
    assert.strictEqual(message.toString('latin1'), HEAD + BODY)
    assert.strictEqual(message.buffer, joined.body.buffer)
  })

  it('does not change when a second one is made of the same body', () => {
    const joined = joinReady([BODY], HEAD.length)
    const first = joinMessage(HEAD, joined)
    const second = joinMessage('Subject: other\r\n\r\n', joined)
    assert.strictEqual(first.toString('latin1'), HEAD + BODY)
    assert.strictEqual(second.toString('latin1'), `Subject: other\r\n\r\n${BODY}`)
  })

  it('is copied where there is no room', () => {
    const long = `X-Long: ${'x'.repeat(10_000)}\r\n${HEAD}`
    // its buffer is not part of a larger one, so that nothing can be written before the room
    const body = BODY.repeat(20_000)
    for (const joined of [joinReady([body], HEAD.length), { body: Buffer.from(body) }])
      assert.ok(joinMessage(long, joined).equals(Buffer.from(long + body, 'latin1')))
  })
})
