import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { SMTPServer } from 'smtp-server'
import { certificateFor } from '#test/support/certificate.ts'
import { createSink } from './sink.ts'
import { createSource, type SourceOptions } from './source.ts'

const mail = Buffer.from('Subject: x\r\n\r\n.dot\r\n')
const options = {
  batches: [
    { mail, from: 1, count: 20, sessions: 3 },
    { mail, from: 21, count: 5, sessions: 1 },
  ],
  sender: 'a@bench.example',
  site: 'site.example',
}

const auth = Buffer.from('\0user\0secret').toString('base64')

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

  const ways: readonly { name: string; way: Partial<SourceOptions>; connections: number; login: string }[] = [
    { name: 'one message a connection', way: {}, connections: 25, login: 'plain -' },
    { name: 'many messages a connection', way: { messagesPerConnection: 10 }, connections: 4, login: 'plain -' },
    { name: 'AUTH PLAIN', way: { messagesPerConnection: 10, auth }, connections: 4, login: 'plain user secret' },
    { name: 'STARTTLS', way: { messagesPerConnection: 10, tls: true }, connections: 4, login: 'tls -' },
    { name: 'STARTTLS and AUTH', way: { tls: true, auth }, connections: 25, login: 'tls user secret' },
  ]
  for (const { name, way, connections, login } of ways) {
    it(`sends with ${name}`, async () => {
      const received: { readonly session: string; readonly login: string; readonly to: string }[] = []
      const server = new SMTPServer({
        ...(await certificateFor(['localhost'])),
        authOptional: true,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, reply) => reply(null, { user: `${username} ${password}` }),
        onData: (stream, { id, secure, user, envelope: { rcptTo } }, reply) => {
          stream.resume().on('end', reply)
          received.push({
            session: id,
            login: `${secure ? 'tls' : 'plain'} ${user || '-'}`,
            to: rcptTo[0]?.address ?? '',
          })
        },
      })
      server.listen(0, '127.0.0.1')
      await once(server.server, 'listening')
      await createSource().send({ ...options, ...way, port: (server.server.address() as AddressInfo).port })
      server.close()
      assert.sameMembers(
        received.map(({ to }) => to),
        Array.from({ length: 25 }, (_, i) => `${i + 1}r@site.example`),
      )
      assert.strictEqual(new Set(received.map(({ session }) => session)).size, connections)
      assert.deepEqual([...new Set(received.map((one) => one.login))], [login])
    })
  }

  it('fails when the server refuses the login', async () => {
    const server = new SMTPServer({
      ...(await certificateFor(['localhost'])),
      allowInsecureAuth: true,
      onAuth: (_auth, _session, reply) => reply(new Error('not you')),
    })
    server.listen(0, '127.0.0.1')
    await once(server.server, 'listening')
    const { port } = server.server.address() as AddressInfo
    await assert.isRejected(createSource().send({ ...options, port, auth }), /535 not you/)
    server.close()
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
