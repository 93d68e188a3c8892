/** The memory of large bodies, with clients that disconnect at any time. */
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import Koa from 'koa'
import { until } from '#test/support/until.ts'
import { createBodyBudget, type BodyBudget } from './body-budget.ts'
import { createBodyReader, type BodyResult } from './body-reader.ts'

const MB = 1024 * 1024
const DISCONNECTS = 20

describe('the budget of large bodies', () => {
  let budget: BodyBudget
  let server: Server
  let results: (BodyResult | Error)[]
  /** What happens between the headers and the body; the default is nothing. */
  let authorise: (koa: Koa.Context) => Promise<void>
  let work: Promise<void>

  beforeEach(async () => {
    budget = createBodyBudget(64 * MB)
    results = []
    authorise = () => Promise.resolve()
    work = Promise.resolve()
    const readBody = createBodyReader({ maxMessageBytes: 25 * MB, maxImportBytes: MB }, budget)
    const app = new Koa()
    app.silent = true
    app.use(async (koa) => {
      await authorise(koa)
      const read = await readBody(koa, { kinds: ['json'], isUnauthenticated: false }).catch((error: Error) => error)
      results.push(read)
      if (!(read instanceof Error) && read.ok) await read.memory.keepFor(work)
      koa.status = 200
    })
    const handle = app.callback()
    server = createServer((req, res) => void handle(req, res))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  function send(headers: string, body: Uint8Array | string): Socket {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`)
    socket.write(body)
    return socket
  }
  const allRead = (): Promise<void> => until(() => results.length === DISCONNECTS)
  const errorsOf = (): unknown[] => [...new Set(results.map((read) => (read instanceof Error ? read : read.ok)))]

  const zeros = Buffer.from(`"${'0'.repeat(8 * MB)}"`)
  const packed = gzipSync(zeros)
  const packedHeaders = `Content-Encoding: gzip\r\nContent-Length: ${packed.length}`

  it('is empty again after clients disconnect before their body is complete', async () => {
    for (const headers of [`Content-Length: ${2 * MB}`, 'Transfer-Encoding: chunked']) {
      results = []
      const half = headers.startsWith('T') ? `${MB.toString(16)}\r\n${'0'.repeat(MB)}` : '0'.repeat(MB)
      const sockets = Array.from({ length: DISCONNECTS }, () => send(headers, half))
      await until(() => budget.bytes >= DISCONNECTS * MB)
      for (const socket of sockets) socket.destroy()
      await allRead()
      assert.deepEqual(errorsOf(), [false])
      await until(
        () => budget.bytes === 0,
        () => `${budget.bytes} bytes are left`,
      )
    }
  })
  it('is empty again after clients disconnect while their key is checked', async () => {
    let waiting = 0
    authorise = (koa) =>
      new Promise((resolve) => {
        waiting++
        koa.res.once('close', () => resolve())
      })
    const sizes = [2 * MB, 1000] // a small body is refused when it is read, a large one before
    const sockets = Array.from({ length: DISCONNECTS }, (_, i) => send(`Content-Length: ${sizes[i % 2]}`, '0'))
    await until(() => waiting === DISCONNECTS)
    for (const socket of sockets) socket.destroy()
    await allRead()
    assert.deepEqual([errorsOf(), budget.bytes], [[false], 0])
  })
  it('is empty again after clients disconnect while their body is decompressed', async () => {
    for (let i = 0; i < DISCONNECTS; i++) {
      const socket = send(packedHeaders, packed)
      await until(() => budget.bytes > 0 || results.length > i)
      socket.destroy()
      await until(() => results.length > i)
    }
    await until(
      () => budget.bytes === 0,
      () => `${budget.bytes} bytes are left`,
    )
  })
  it('is kept while a body is parsed, though its client has gone', async () => {
    let finish = (): void => undefined
    work = new Promise((resolve) => {
      finish = resolve
    })
    const socket = send(packedHeaders, packed)
    await until(() => results.length === 1)
    socket.destroy()
    const read = results[0]
    assert.ok(read !== undefined && !(read instanceof Error) && read.ok)
    await until(() => read.memory.isClosed())
    assert.strictEqual(budget.bytes, zeros.length)
    assert.isFalse(read.memory.reserve(1))
    finish()
    await until(() => budget.bytes === 0)
  })
  it('a compressed body of many values is large, as without compression', async () => {
    const values = Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, () => 1)))
    const bytes = gzipSync(values)
    send(`Content-Encoding: gzip\r\nContent-Length: ${bytes.length}`, bytes)
    send(`Content-Length: ${values.length}`, values)
    await until(() => results.length === 2)
    assert.deepEqual(
      results.map((read) => !(read instanceof Error) && read.ok && read.isLarge),
      [true, true],
    )
  })
})
