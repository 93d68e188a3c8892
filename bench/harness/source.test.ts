import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { createSink } from './sink.ts'
import { createSource } from './source.ts'

const order = { count: 25, sessions: 4, bytes: 4096, sender: 'a@bench.example', site: 'site.example' }

describe('the SMTP source', () => {
  it('sends each number once', async () => {
    const sink = createSink()
    const port = await sink.listen()
    await sink.begin({ from: 1, count: 25, isOwnLetter: false })
    await createSource().send({ ...order, port })
    const { distinct, doubled, strays } = await sink.finish()
    await sink.close()
    assert.deepEqual({ distinct, doubled, strays }, { distinct: 25, doubled: 0, strays: 0 })
  })

  it('fails on a refusal', async () => {
    const server = createServer((socket) => {
      socket.end('554 no\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    await assert.isRejected(createSource().send({ ...order, port: (server.address() as AddressInfo).port }), /554 no/)
    server.close()
  })
})
