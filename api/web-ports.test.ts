/** On which addresses the ports besides HTTP_PORT listen. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { assert } from 'chai'
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import type { HttpServer } from './server.ts'
import { listenOnWebPorts } from './web-ports.ts'

describe('web ports', () => {
  const cases: readonly [string, Record<string, string>, string, string][] = [
    ['HTTP_HOST without HTTPS_HOST', { HTTP_HOST: '127.0.0.2' }, '127.0.0.2', '127.0.0.1'],
    ['HTTPS_HOST', { HTTP_HOST: '127.0.0.1', HTTPS_HOST: '127.0.0.2' }, '127.0.0.2', '127.0.0.1'],
  ]
  for (const [name, env, open, closed] of cases)
    it(`listen on ${name}, and on no other address`, async () => {
      const config = { ...loadConfig(env), httpRedirectPort: 0 }
      const ctx = { config, log: pino({ level: 'silent' }), db: null as never, encryption: null as never }
      const handlers = { app: () => undefined, byPrefix: [] } as never
      const server = (await listenOnWebPorts(ctx, handlers, null))[0] as HttpServer
      try {
        assert.strictEqual(await connectTo(open, server.port), 'connected')
        assert.strictEqual(await connectTo(closed, server.port), 'ECONNREFUSED')
      } finally {
        await server.stop(0)
      }
    })
})

async function connectTo(host: string, port: number): Promise<string> {
  const socket = connect({ host, port })
  try {
    await once(socket, 'connect')
    return 'connected'
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  } finally {
    socket.destroy()
  }
}
