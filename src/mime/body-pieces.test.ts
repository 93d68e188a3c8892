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
    const first = joinMessage(`X-First: 1\r\n${HEAD}`, joined)
    const second = joinMessage(HEAD, joined)
    assert.strictEqual(first.toString('latin1'), `X-First: 1\r\n${HEAD}${BODY}`)
    assert.strictEqual(second.toString('latin1'), HEAD + BODY)
  })

  it('is copied where there is no room', () => {
    const long = `X-Long: ${'x'.repeat(10_000)}\r\n${HEAD}`
    for (const joined of [joinReady([BODY], HEAD.length), { body: Buffer.from(BODY) }])
      assert.strictEqual(joinMessage(long, joined).toString('latin1'), long + BODY)
  })
})
