import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { assert } from 'chai'
import { spamFilterAddress } from '#config/settings/readers.ts'
import { freePort } from '#test/support/free-ports.ts'
import { until } from '#test/support/until.ts'
import { createSpamFilter, type FilteredMail, parseRspamd, parseSpamd, type SpamFilter } from './spam-filter.ts'

/** The test string of SpamAssassin, which is always spam. */
const GTUBE = ['XJS*C4JDBQADN1.NSBN3*2IDNEN*', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'].join('')
const mailOf = (text: string): FilteredMail => ({
  raw: Buffer.from(
    `From: a@a.example\r\nTo: b@b.example\r\nSubject: x\r\nMessage-ID: <1@a.example>\r\n` +
      `Date: ${new Date().toUTCString()}\r\n\r\n${text}\r\n`,
  ),
  mailFrom: 'a@a.example',
  recipient: 'b@b.example',
  peer: '192.0.2.1',
  helo: 'a.example',
})
const clock = { now: () => Date.now() }

describe('spam filters', () => {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  after(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })
  const portOf = (server: Server): number => (server.address() as AddressInfo).port
  async function filterOf(kind: 'spamd' | 'rspamd', answer: (socket: Socket) => void): Promise<SpamFilter> {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      answer(socket)
    })
    servers.push(server.listen(0, '127.0.0.1'))
    await once(server, 'listening')
    return createSpamFilter(spamFilterAddress(`${kind}://127.0.0.1:${portOf(server)}`), 300, clock)
  }
  const HTTP = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const FAILURES: readonly (readonly [what: string, answer: (socket: Socket) => void])[] = [
    ['accepts, and does not answer', (socket) => void socket.resume()],
    ['closes the connection', (socket) => void socket.destroy()],
    ['answers nonsense', (socket) => void socket.end(HTTP('SPAMD/1.1 0 EX_OK\r\n\r\nnonsense'))],
    [
      'answers without end',
      (socket) => {
        const write = (): unknown =>
          socket.destroyed ? null : socket.write('x'.repeat(65_536), () => setImmediate(write))
        write()
      },
    ],
  ]
  for (const kind of ['spamd', 'rspamd'] as const)
    for (const [what, answer] of FAILURES)
      it(`${kind} that ${what}: unknown, and it is not asked again for a while`, async () => {
        const ports: (number | undefined)[] = []
        const filter = await filterOf(kind, (socket) => {
          ports.push(socket.remotePort)
          answer(socket)
        })
        assert.equal((await filter(mailOf('x'))).verdict, 'unknown')
        assert.equal((await filter(mailOf('x'))).verdict, 'unknown')
        // the filter may give up before the server, in this process, has accepted the connection
        const probe = connect(portOf(servers.at(-1) ?? assert.fail()), '127.0.0.1').on('error', () => undefined)
        sockets.add(probe)
        await once(probe, 'connect')
        const { localPort } = probe
        await until(() => ports.includes(localPort))
        // connections are accepted in order: one of the first mail, none of the second, and the probe
        assert.lengthOf(ports, 2)
      })
  it('a mail that is too large is not sent', async () => {
    const filter = await filterOf('spamd', () => assert.fail('it was asked'))
    assert.equal((await filter(mailOf('x'.repeat(600_000)))).verdict, 'unknown')
  })
  it('their answers', () => {
    assert.deepEqual(parseSpamd('SPAMD/1.1 0 EX_OK\r\nContent-length: 9\r\nSpam: True ; 15.5 / 5.0\r\n\r\nGTUBE,A_B'), {
      verdict: 'spam',
      score: 15.5,
      threshold: 5,
      symbols: ['GTUBE', 'A_B'],
    })
    const body = { action: 'no action', score: -1.5, required_score: 15, symbols: { R_SPF_ALLOW: {}, '<x>': {} } }
    assert.deepEqual(parseRspamd(JSON.stringify(body)), {
      verdict: 'clean',
      score: -1.5,
      threshold: 15,
      symbols: ['R_SPF_ALLOW'],
    })
  })
  it('rspamd is asked with the envelope', async () => {
    let asked = ''
    const filter = await filterOf('rspamd', (socket) =>
      socket.on('data', (data: Buffer) => {
        asked += data.toString()
        if (asked.includes('Hello')) socket.end(HTTP('{"action":"reject","score":20,"required_score":15,"symbols":{}}'))
      }),
    )
    const { verdict, name } = await filter(mailOf('Hello'))
    assert.deepEqual([name, verdict], ['rspamd', 'spam'])
    assert.match(asked, /^POST \/checkv2 HTTP\/1\.1\r\n/)
    for (const field of ['IP: 192.0.2.1', 'From: a@a.example', 'Rcpt: b@b.example', 'Helo: a.example'])
      assert.include(asked, `\r\n${field}\r\n`)
  })
  it('a real spamd, if it is installed', async function () {
    if (spawnSync('spamd', ['--version']).status !== 0) this.skip()
    const port = await freePort()
    const args = ['-L', '-x', '--min-children=1', '--max-children=1', '-p', String(port), '-i', '127.0.0.1']
    const spamd = spawn('spamd', [...args, '-u', 'nobody', '-s', 'null'], { stdio: 'ignore' })
    try {
      const ask = (text: string) =>
        createSpamFilter(spamFilterAddress(`spamd://127.0.0.1:${port}`), 60_000, clock)(mailOf(text))
      await until(
        async () => (await ask('Hello')).verdict !== 'unknown',
        () => 'spamd does not answer',
      )
      assert.equal((await ask('Hello, see you on Monday.')).verdict, 'clean')
      const spam = await ask(GTUBE)
      assert.equal(spam.verdict, 'spam')
      assert.include(spam.symbols, 'GTUBE')
    } finally {
      spamd.kill()
    }
  })
})
