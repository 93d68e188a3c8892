/** What a library gets from a server that is hostile, slow or private. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { createHttpClient, type HttpClient } from '#src/net/http-client.ts'
import { guardedFetch } from './guarded-fetch.ts'

describe('fetch for libraries', () => {
  let server: Server
  let url: string
  let respond: (res: ServerResponse) => void
  const clients: HttpClient[] = []
  before(async () => {
    server = createServer((_, res) => respond(res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  after(async () => {
    for (const client of clients) client.close()
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  function fetchWith(env: Record<string, string>, timeoutMs?: number): Promise<Response> {
    const settings = { DATABASE_URL: 'postgresql://x', REDIS_URL: 'redis://x' }
    const http = createHttpClient(loadConfig({ ...settings, ...env }))
    clients.push(http)
    return guardedFetch(http, timeoutMs)(url, { method: 'GET', headers: {} })
  }
  const allowed = { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' }

  it('has status, type and body', async () => {
    respond = (res) => res.writeHead(404, { 'content-type': 'text/x' }).end('Ä')
    const response = await fetchWith(allowed)
    assert.deepEqual(
      [response.status, response.headers.get('content-type'), await response.text()],
      [404, 'text/x', 'Ä'],
    )
  })
  it('reaches no private address', async () => {
    respond = () => assert.fail('it was reached')
    await assert.isRejected(fetchWith({}), /private or reserved/)
  })
  it('waits neither for a response that never comes, nor for one that comes byte by byte', async () => {
    respond = () => undefined
    await assert.isRejected(fetchWith(allowed, 50), /no response within/)
    respond = (res) => {
      res.writeHead(200)
      const timer = setInterval(() => res.write('x'), 5)
      res.on('close', () => clearInterval(timer))
    }
    await assert.isRejected(fetchWith(allowed, 300), /too long or too slow|no response within/)
  })
  it('follows no redirect', async () => {
    respond = (res) => res.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    assert.equal((await fetchWith(allowed)).status, 302)
  })
})
