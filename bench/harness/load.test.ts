import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { parseResponse } from './http-connection.ts'
import { createLoad } from './load.ts'

interface Seen {
  readonly path: string | undefined
  readonly key: string | undefined
  readonly json: { to: string[]; text: string }
}

type Responder = (request: IncomingMessage, response: ServerResponse, json: string) => void

async function serve(answer: Responder): Promise<{ port: number; close(): void }> {
  const server = createServer((request, response) => {
    let json = ''
    request.on('data', (chunk: Buffer) => {
      json += chunk.toString()
    })
    request.on('end', () => answer(request, response, json))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

function batch(port: number, count: number) {
  return {
    target: { port, key: 'k' },
    path: '/send',
    sender: 'a@bench.example',
    site: 'site.example',
    from: 1000,
    count,
  }
}

describe('the HTTP load', () => {
  it('sends every number once, in recipient and body, over keep-alive connections', async () => {
    const seen: Seen[] = []
    const ports = new Set<number | undefined>()
    const server = await serve((request, response, json) => {
      ports.add(request.socket.remotePort)
      seen.push({ path: request.url, key: request.headers.authorization, json: JSON.parse(json) as Seen['json'] })
      response.end('{"success":true}')
    })
    const result = await createLoad().post(batch(server.port, 40), 4)
    server.close()
    assert.strictEqual(result.accepted, 40)
    assert.ok(result.endedAt > result.startedAt)
    assert.strictEqual(ports.size, 4)
    const wanted = Array.from({ length: 40 }, (_, index) => `m00000${1000 + index}@site.example`)
    assert.deepEqual(new Set(seen.map(({ json }) => json.to[0])), new Set(wanted))
    assert.strictEqual(seen.length, 40)
    for (const { json, key, path } of seen) {
      assert.ok(json.text.includes(`message number ${json.to[0]?.slice(1, 10)}.`))
      assert.strictEqual(json.text.length, 4096)
      assert.ok(json.text.split('\n').every((line) => line.length < 78))
      assert.deepEqual([key, path], ['Bearer k', '/send'])
    }
  })

  it('requests the paths in turn', async () => {
    const requested: string[] = []
    const server = await serve((request, response) => {
      requested.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.end('{"n":1}')
    })
    const result = await createLoad().get(
      { target: { port: server.port, key: 'k' }, paths: ['/a?id=1', '/b'], count: 6 },
      3,
    )
    server.close()
    assert.deepEqual([result.accepted, result.sample], [6, '{"n":1}'])
    assert.deepEqual(requested.toSorted(), [
      ...Array(3).fill('GET /a?id=1 Bearer k'),
      ...Array(3).fill('GET /b Bearer k'),
    ])
  })

  it('counts only accepted messages and returns the first error', async () => {
    const server = await serve((_request, response) => {
      response.statusCode = 403
      response.write('{"error":')
      response.end('"FORBIDDEN"}')
    })
    const result = await createLoad().post(batch(server.port, 3), 1)
    server.close()
    assert.strictEqual(result.accepted, 0)
    assert.match(result.firstError ?? '', /^403 .*FORBIDDEN/s)
  })

  it('fails when the server closes the connection', async () => {
    const server = await serve((request) => request.socket.destroy())
    await assert.isRejected(createLoad().post(batch(server.port, 3), 1))
    server.close()
  })

  it('sends probes on schedule although responses are late', async () => {
    const waiting: ServerResponse[] = []
    const server = await serve((_request, response) => {
      waiting.push(response)
      // no response comes before the last request
      if (waiting.length === 5) for (const one of waiting) one.end('{}')
    })
    const probes = await createLoad().probe(batch(server.port, 5), 2)
    server.close()
    assert.deepEqual(
      probes.map(({ number }) => number),
      [1000, 1001, 1002, 1003, 1004],
    )
    assert.ok((probes[4]?.sentAt ?? 0) < (probes[0]?.acceptedAt ?? 0))
  })
})

describe('parseAnswer', () => {
  for (const [text, expected] of [
    ['HTTP/1.1 200 OK\r\nContent-Le', null],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{', null],
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}', { status: 200, text: '{}' }],
    ['HTTP/1.1 204 No Content\r\n\r\n', { status: 204, text: '' }],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n', null],
    [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
      { status: 200, text: '2\r\n{}\r\n0\r\n\r\n' },
    ],
  ] as const) {
    it(JSON.stringify(text), () => assert.deepEqual(parseResponse(text), expected))
  }
})
