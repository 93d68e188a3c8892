import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { createSink } from './sink.ts'
import { createSource } from './source.ts'

const mail = Buffer.from('Subject: x\r\n\r\n.dot\r\n')
const options = {
  batches: [
    { mail, from: 1, count: 20, sessions: 3 },
    { mail, from: 21, count: 5, sessions: 1 },
  ],
  sender: 'a@bench.example',
  site: 'site.example',
}

describe('the SMTP source', () => {
  it('sends each number once', async () => {
    const sink = createSink()
    const port = await sink.listen()
    await sink.begin({ from: 1, count: 25, hasNumberedBody: false })
    await createSource().send({ ...options, port })
    const { distinct, duplicates, unexpected } = await sink.finish()
    await sink.close()
    assert.deepEqual({ distinct, duplicates, unexpected }, { distinct: 25, duplicates: 0, unexpected: 0 })
  })

  it('fails when the server refuses a message', async () => {
    const server = createServer((socket) => {
      socket.end('554 no\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    await assert.isRejected(createSource().send({ ...options, port: (server.address() as AddressInfo).port }), /554 no/)
    server.close()
  })
})
