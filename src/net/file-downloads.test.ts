import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { OPEN } from './http-client.test-data.ts'
import { createFileDownloads, DOWNLOAD_LIMITS, type DownloadResult, type FileDownloads } from './file-downloads.ts'

const MAX_BYTES = 1000
const LIMITS = { ...DOWNLOAD_LIMITS, maxUrls: 3, memoryBytes: 2400 }
const WORKSPACE = 'w'

/** What the server does, by path. */
const PAGES: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => unknown>> = {
  '/file.pdf': (_, res) => res.setHeader('content-type', 'application/pdf').end(Buffer.from([0, 1, 255, 0])),
  '/empty': (_, res) => res.end(),
  '/full': (_, res) => res.end('x'.repeat(MAX_BYTES)),
  '/large': (_, res) => res.end('x'.repeat(MAX_BYTES + 1)),
  '/endless': (_, res) => endless(res),
  '/missing': (_, res) => res.writeHead(404).end('secret'),
  '/cut': (_, res) => res.writeHead(200, { 'content-length': '100' }).write('abc', () => res.destroy()),
  '/slow': (_, res) => res.writeHead(200).write('abc'),
  '/silent': () => undefined,
  '/gzip': (_, res) => res.setHeader('content-encoding', 'gzip').end('x'),
  '/moved': (_, res) => res.writeHead(302, { location: '/file.pdf' }).end(),
  '/loop': (_, res) => res.writeHead(302, { location: '/loop' }).end(),
  '/to-private': (_, res) => res.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
  '/to-file': (_, res) => res.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/nowhere': (_, res) => res.writeHead(302).end(),
}

function endless(res: ServerResponse): void {
  const write = (): void => void (res.destroyed || res.write('x'.repeat(500), () => setImmediate(write)))
  write()
}

describe('downloads of files', () => {
  let server: Server
  let url = ''
  let asked: string[] = []
  let downloads: FileDownloads
  before((done) => {
    server = createServer((req, res) => {
      asked.push(req.url ?? '')
      PAGES[req.url ?? '']?.(req, res)
    })
    server.listen(0, '127.0.0.1', () => {
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      done()
    })
  })
  beforeEach(() => {
    asked = []
    downloads = createFileDownloads({ ...OPEN, maxMessageBytes: MAX_BYTES }, LIMITS)
  })
  afterEach(() => downloads.stop())
  after((done) => {
    server.closeAllConnections()
    server.close(done)
  })

  async function fetchOne(from: string): Promise<DownloadResult> {
    const opened = downloads.open(WORKSPACE)
    return opened.fetch(from).finally(() => opened.release())
  }
  const summaryOf = (result: DownloadResult): string =>
    'content' in result ? `${result.content.length} bytes` : `${result.failure}: ${result.reason}`

  const CASES: readonly (readonly [path: string, expected: RegExp])[] = [
    ['/file.pdf', /^4 bytes$/],
    ['/empty', /^0 bytes$/],
    ['/full', /^1000 bytes$/],
    ['/moved', /^4 bytes$/],
    ['/large', /^too-large: .* more than 1000 bytes/],
    ['/endless', /^too-large: .* more than 1000 bytes/],
    ['/missing', /^refused: .* answered 404, not 200$/],
    ['/cut', /^refused: .* closed the connection before the end/],
    ['/gzip', /^refused: .* compressed only$/],
    ['/loop', /^refused: redirects more than 3 times$/],
    ['/to-private', /^refused: .* not found, or is not allowed$/],
    ['/to-file', /^refused: must be an http or https URL/],
    ['/nowhere', /^refused: redirects to where it cannot be fetched from$/],
  ]
  for (const [path, expected] of CASES)
    it(`${path}: ${expected.source}`, async () => assert.match(summaryOf(await fetchOne(url + path)), expected))

  for (const path of ['/slow', '/silent'])
    it(`${path}: ends at the deadline`, async () => {
      const impatient = createFileDownloads({ ...OPEN, maxMessageBytes: MAX_BYTES }, { ...LIMITS, timeoutMs: 300 })
      const opened = impatient.open(WORKSPACE)
      assert.match(summaryOf(await opened.fetch(url + path)), /^refused: was not fetched within 0\.3 s/)
      impatient.stop()
    })

  const REFUSED: readonly (readonly [from: string, expected: RegExp])[] = [
    ['http://10.1.2.3/a', /not found, or is not allowed$/],
    ['http://[::1]/a', /not found, or is not allowed$/],
    ['http://0x7f000002/a', /not allowed$|accepts no connection$/],
    ['http://no-such-name.invalid/a', /not found, or is not allowed$/],
    ['http://u:p@127.0.0.1/a', /without user name/],
    ['ftp://127.0.0.1/a', /must be an http or https URL/],
    ['nonsense', /must be an http or https URL/],
  ]
  for (const [from, expected] of REFUSED)
    it(`${from}: ${expected.source}`, async () => assert.match(summaryOf(await fetchOne(from)), expected))

  it('returns the bytes, the type and where the file was', async () => {
    const result = await fetchOne(`${url}/moved`)
    assert.deepEqual(result, {
      content: Buffer.from([0, 1, 255, 0]),
      contentType: 'application/pdf',
      url: `${url}/file.pdf`,
    })
  })
  it('fetches each URL once in a request, and refuses one too many', async () => {
    const opened = downloads.open(WORKSPACE)
    const urls = ['/file.pdf', '/file.pdf', '/empty', '/full', '/missing', '/file.pdf']
    const results = await Promise.all(urls.map((path) => opened.fetch(url + path)))
    opened.release()
    assert.deepEqual(results.map(summaryOf), [
      '4 bytes',
      '4 bytes',
      '0 bytes',
      '1000 bytes',
      'refused: is one too many: at most 3 different URLs in one request',
      '4 bytes',
    ])
    assert.deepEqual(asked.toSorted(), ['/empty', '/file.pdf', '/full'])
  })
  it('gives a workspace half of the memory, until it is released', async () => {
    const first = downloads.open(WORKSPACE)
    const [second, other] = [downloads.open(WORKSPACE), downloads.open('other')]
    assert.strictEqual(summaryOf(await first.fetch(`${url}/full`)), '1000 bytes')
    assert.match(summaryOf(await second.fetch(`${url}/full`)), /^no-memory: .* Try again\.$/)
    assert.strictEqual(summaryOf(await other.fetch(`${url}/full`)), '1000 bytes')
    for (const opened of [first, second, other]) opened.release()
    assert.strictEqual(summaryOf(await fetchOne(`${url}/full`)), '1000 bytes')
  })
  it('releases the memory of downloads that end after their request', async () => {
    const opened = downloads.open(WORKSPACE)
    const late = opened.fetch(`${url}/endless`)
    opened.release()
    await late
    assert.strictEqual(summaryOf(await fetchOne(`${url}/full`)), '1000 bytes')
  })
})
