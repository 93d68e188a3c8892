import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { assert } from 'chai'
import { readUntil } from '#test/support/read-until.ts'
import { connectSmtp, type SmtpConnection } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { startTestSmtpServer, type TestSmtpServer } from './smtp-server.test-data.ts'

const LOGIN = Buffer.from('\0user\0password').toString('base64')

describe('an SMTP session', () => {
  let test: TestSmtpServer
  let connection: SmtpConnection
  before(async () => {
    test = await startTestSmtpServer()
  })
  after(() => test.server.stop())
  beforeEach(async () => {
    test.mails.length = 0
    test.aborted = 0
    test.errors.length = 0
    connection = await connectSmtp(test.port)
  })
  afterEach(() => connection.disconnect())

  it('does not offer AUTH without a handler for it', async () => {
    const plain = await startTestSmtpServer({ rcptParameters: {} })
    delete plain.server.handlers.logIn
    const client = await connectSmtp(plain.port)
    assert.notMatch(await client.command('EHLO a'), /AUTH|DSN/)
    assert.match(await client.command(`AUTH PLAIN ${LOGIN}`), /^500 /)
    client.disconnect()
    await plain.server.stop()
  })
  it('does not send the stack of a failure, and logs it', async () => {
    await connection.command('EHLO a')
    assert.strictEqual(
      await connection.command('MAIL FROM:<broken@b.example>'),
      '451 4.3.0 Internal error, try again later',
    )
    assert.deepEqual(test.errors.map(String), ['Error: broken'])
  })
  it('accepts messages one after the other, also after one that failed', async () => {
    connection.send(
      'EHLO a\r\n' +
        ['later@b.example', 'lost@b.example', 'slow@b.example']
          .map((to, n) => `MAIL FROM:<${n}@b.example>\r\nRCPT TO:<${to}>\r\nDATA\r\n..mail ${n}\r\n.\r\n`)
          .join('') +
        'QUIT\r\n',
    )
    const codes: string[] = []
    for (let n = 0; n < 14; n++) codes.push((await connection.readReply()).slice(0, 3))
    assert.deepEqual(codes.join(' '), '250 250 250 354 250 250 250 354 451 250 250 354 250 221')
    assert.strictEqual(await connection.readReply(), '')
    assert.deepEqual(test.mails, [
      { from: '0@b.example', to: ['later@b.example'], data: '.mail 0\r\n' },
      { from: '2@b.example', to: ['slow@b.example'], data: '.mail 2\r\n' },
    ])
  })
  it('closes without a reply if the handler of the data says so', async () => {
    connection.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<drop@b.example>\r\nDATA\r\nx\r\n.\r\nNOOP\r\n')
    for (const code of [250, 250, 250, 354]) assert.isTrue((await connection.readReply()).startsWith(String(code)))
    assert.strictEqual(await connection.readReply(), '')
  })
  for (const [what, sink] of [
    [
      'writes',
      {
        write: () => {
          throw new Error('full')
        },
        end: async () => '2.6.0',
        abort: () => undefined,
      },
    ],
    [
      'aborts',
      {
        write: () => undefined,
        end: async () => '2.6.0',
        abort: () => {
          throw new Error('full')
        },
      },
    ],
  ] as const)
    it(`survives a sink that fails when it ${what}`, async () => {
      const own = await startTestSmtpServer({}, { data: () => sink })
      const client = await connectSmtp(own.port)
      client.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nhalf a mail')
      for (const code of ['250', '250', '250', '354']) assert.isTrue((await client.readReply()).startsWith(code))
      if (what === 'writes') assert.match(await client.readReply(), /^421 4\.3\.0 /)
      client.disconnect()
      await until(async () => own.server.sessions.size + own.server.leaving.size === 0)
      assert.deepEqual(own.errors.map(String), ['Error: full'])
      await own.server.stop()
    })
  it('aborts a message whose connection ends or breaks, and none that was complete', async () => {
    for (const end of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      const socket = connect(test.port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nhalf a mail\r\n')
      await readUntil(socket, /\r\n354 /)
      end(socket)
      await once(socket, 'close')
    }
    await until(async () => test.aborted === 2)
    assert.deepEqual(test.mails, [])
  })
  it('replies to a client that closes its side first', async () => {
    const socket = connect(test.port, '127.0.0.1')
    socket.end('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<slow@b.example>\r\nDATA\r\nx\r\n.\r\n')
    assert.match(await text(socket), /354 .*\r\n250 2\.6\.0 mail 1\r\n$/)
    await until(async () => test.server.sessions.size === 1) // that of this test
  })
  it('executes no command after QUIT, and none after a 421', async () => {
    const socket = connect(test.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${'X\r\n'.repeat(10)}EHLO a\r\nMAIL FROM:<broken@b.example>\r\n`)
    assert.match(await text(socket), /(?:500 .*\r\n){9}421 .*\r\n$/)
    connection.send('EHLO a\r\nQUIT\r\nMAIL FROM:<broken@b.example>\r\n')
    await connection.readReply()
    assert.match(await connection.readReply(), /^221 /)
    assert.deepEqual(test.errors, [])
  })
  it('disconnects a client with an endless line', async () => {
    connection.send('x'.repeat(20_000))
    assert.match(await connection.readReply(), /^421 4\.5\.2 /)
    assert.strictEqual(await connection.readReply(), '')
  })
  it('accepts commands octet by octet, and with a bare LF', async () => {
    for (const octet of 'EHLO a\r\nNOOP\nQUIT\r\n') {
      connection.send(octet)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const code of ['250', '250', '221']) assert.isTrue((await connection.readReply()).startsWith(code))
  })
  it('processes thousands of commands that arrive together, in their order', async () => {
    connection.send(`EHLO a\r\n${'NOOP\r\nVRFY\r\nMAIL FROM:<later>\r\n'.repeat(3000)}QUIT\r\n`)
    await connection.readReply()
    for (let n = 0; n < 3000; n++)
      for (const code of ['250', '501', '501']) assert.isTrue((await connection.readReply()).startsWith(code))
    assert.match(await connection.readReply(), /^221 /)
  })
  it('does not read a client that does not read its replies', async () => {
    const accepted = once(test.listener, 'connection')
    const socket = connect(test.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    const [theirs] = (await accepted) as [Socket]
    // both directions are far more than the buffers of the sockets
    const flood = Buffer.from('EHLO a\r\n'.repeat(100_000))
    for (let n = 0; n < 25; n++) socket.write(flood)
    let [before, stillFor] = [-1, 0]
    await until(async () => {
      const now = theirs.bytesRead
      stillFor = now === before ? stillFor + 1 : 0
      before = now
      await new Promise((resolve) => setTimeout(resolve, 100))
      return stillFor === 5
    })
    assert.isAbove(socket.writableLength, 0)
    assert.isBelow(theirs.writableLength, 1_000_000)
    assert.match(await connection.command('NOOP'), /^250 /)
    // it is read again once it reads
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    socket.resume()
    await until(async () => received > 30_000_000)
    socket.destroy()
  })

  describe('with TLS', () => {
    it('starts anew after STARTTLS', async () => {
      await connection.command('EHLO a')
      await connection.command(`AUTH PLAIN ${LOGIN}`)
      await connection.command('MAIL FROM:<a@b.example>')
      assert.match(await connection.command('STARTTLS'), /^220 /)
      await connection.startTls()
      assert.match(await connection.command('RCPT TO:<a@b.example>'), /^503 5\.5\.1 Send EHLO/)
      const hello = await connection.command('EHLO a')
      assert.notMatch(hello, /STARTTLS/)
      assert.match(hello, /AUTH/)
      assert.match(await connection.command('RCPT TO:<a@b.example>'), /^503 5\.5\.1 Send MAIL/)
      assert.match(await connection.command('STARTTLS'), /^503 /)
      assert.match(await connection.command('QUIT'), /^221 /)
      assert.strictEqual(await connection.readReply(), '')
    })
    it('executes nothing that was sent in plain text after STARTTLS', async () => {
      connection.send(`EHLO a\r\nSTARTTLS\r\nEHLO a\r\nMAIL FROM:<broken@b.example>\r\n`)
      await connection.readReply()
      assert.match(await connection.readReply(), /^220 /)
      await connection.startTls()
      assert.match(await connection.command('MAIL FROM:<a@b.example>'), /^503 5\.5\.1 Send EHLO/)
      assert.deepEqual(test.errors, [])
    })
    it('ends a connection whose client closes its side before the handshake', async () => {
      const before = test.server.tick
      const socket = connect(test.port, '127.0.0.1')
      socket.end('EHLO a\r\nMAIL FROM:<later@b.example>\r\nSTARTTLS\r\n')
      assert.match(await text(socket), /\r\n220 2\.0\.0 .*\r\n$/)
      assert.isBelow(test.server.tick - before, 20, 'it did not wait for the limit of a handshake')
      await until(async () => test.server.sessions.size === 1) // that of this test
    })
    it('ends a connection whose handshake fails', async () => {
      const before = test.server.tick
      await connection.command('EHLO a')
      await connection.command('STARTTLS')
      connection.send('this is no handshake\r\n'.repeat(10))
      assert.notMatch(await connection.readReply(), /^\d{3} /)
      await until(async () => test.server.sessions.size === 0)
      assert.isBelow(test.server.tick - before, 20, 'it did not wait for the limit of a handshake')
    })
    it('from the first octet', async () => {
      const secure = await startTestSmtpServer({ isTls: true })
      const socket = connectTls({ port: secure.port, host: '127.0.0.1', rejectUnauthorized: false })
      socket.end('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<slow@b.example>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n')
      assert.match(
        await text(socket),
        /^220 mx\.test .*\r\n(?:250-.*\r\n)+250 .*\r\n(?:250 .*\r\n){2}354 .*\r\n250 .*\r\n221 .*\r\n$/,
      )
      await secure.server.stop()
      assert.strictEqual(secure.server.sessions.size, 0)
    })
    it('forgets a connection that ends in its handshake', async () => {
      const secure = await startTestSmtpServer({ isTls: true })
      for (const bytes of ['', '\x16\x03\x01', 'EHLO a\r\n']) {
        const socket = connect(secure.port, '127.0.0.1')
        socket.on('error', () => undefined)
        socket.end(bytes)
        await once(socket.resume(), 'close')
      }
      await secure.server.stop()
    })
  })
})
