import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { assert } from 'chai'
import { sendsGreeting } from './wait.ts'

describe('the wait for an SMTP server', () => {
  const rows: readonly (readonly [what: string, serve: (socket: Socket) => void, expected: boolean])[] = [
    ['greets', (socket) => socket.write('220 mx.example\r\n'), true],
    ['refuses', (socket) => socket.write('421 mx.example\r\n'), false],
    ['closes the connection', (socket) => socket.end(), false],
    ['is silent', () => undefined, false],
  ]
  for (const [what, serve, expected] of rows)
    it(`ends when it ${what}`, async () => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket.on('error', () => undefined))
        serve(socket)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      assert.strictEqual(await sendsGreeting((server.address() as AddressInfo).port), expected)
      for (const socket of sockets) socket.destroy()
      server.close()
    })
})
