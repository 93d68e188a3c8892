import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { assert } from 'chai'
import { readUntil } from '#test/support/read-until.ts'
import { connectSmtp } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { ReplyError } from './reply.ts'
import { startTestSmtpServer, type TestSmtpServer } from './smtp-server.test-data.ts'

/** Longer than a test may take: what waits for it fails the test. */
const FOREVER_MS = 600_000

describe('an SMTP server', () => {
  let test: TestSmtpServer | null = null
  afterEach(() => test?.server.stop())

  it('limits its connections', async () => {
    test = await startTestSmtpServer({ maxConnections: 1 })
    const first = await connectSmtp(test.port)
    const socket = connect(test.port, '127.0.0.1')
    assert.match(String(await once(socket, 'data')), /^421 4\.3\.2 Too many connections/)
    assert.match(await first.command('NOOP'), /^250 /)
    first.disconnect()
    socket.destroy()
  })
  it('does not count the connections that it refused or that have ended', async () => {
    test = await startTestSmtpServer({ maxConnections: 1 })
    const first = await connectSmtp(test.port)
    // these do not close their side
    const refused = [1, 2].map(() => connect({ port: test?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true }))
    for (const socket of refused) assert.match(String(await once(socket, 'data')), /^421 /)
    assert.strictEqual(test.server.sessions.size, 1)
    first.disconnect()
    await until(async () => test?.server.sessions.size === 0)
    const next = connect(test.port, '127.0.0.1')
    assert.match(String(await once(next, 'data')), /^220 /)
    for (const socket of [...refused, next]) socket.destroy()
  })
  it('limits connections in their handshake, too', async () => {
    test = await startTestSmtpServer({ isTls: true, maxConnections: 2 })
    const sockets = [1, 2, 3].map(() => connect(test?.port ?? 0, '127.0.0.1').on('error', () => undefined))
    await Promise.race(sockets.map((socket) => once(socket.resume(), 'close')))
    assert.lengthOf(
      sockets.filter(({ destroyed }) => !destroyed),
      2,
    )
    for (const socket of sockets) socket.destroy()
  })
  it('survives a connection that cannot be accepted', async () => {
    test = await startTestSmtpServer()
    test.listener.emit('error', new Error('EMFILE'))
    assert.deepEqual(test.errors.map(String), ['Error: EMFILE'])
    const client = await connectSmtp(test.port)
    client.disconnect()
  })
  it('lets other connections have their turn while one sends many commands', async () => {
    let [calls, most] = [0, 0]
    const rcptTo = (): null => {
      if (calls++ === 0)
        setImmediate(() => {
          most = Math.max(most, calls)
          calls = 0
        })
      return null
    }
    test = await startTestSmtpServer({}, { rcptTo })
    const client = await connectSmtp(test.port)
    client.send(`EHLO a\r\nMAIL FROM:<>\r\n${'RCPT TO:<a@b.example>\r\n'.repeat(2000)}QUIT\r\n`)
    for (let reply = await client.readReply(); reply !== '';) reply = await client.readReply()
    assert.isAbove(most, 0)
    assert.isAtMost(most, 200)
  })
  it('disconnects an idle client with a reply', async () => {
    test = await startTestSmtpServer({ idleSeconds: 1 })
    const client = await connectSmtp(test.port)
    assert.match(await client.readReply(), /^421 4\.4\.2 /)
    assert.strictEqual(await client.readReply(), '')
  })
  for (const [what, isTls] of [
    ['after STARTTLS', false],
    ['on a port that begins with TLS', true],
  ] as const)
    it(`disconnects a client that is idle in its handshake ${what}`, async () => {
      test = await startTestSmtpServer({ isTls, idleSeconds: FOREVER_MS })
      const accepted = once(test.listener, 'connection')
      const socket = connect(test.port, '127.0.0.1')
      await accepted
      if (!isTls) {
        socket.write('EHLO a\r\nSTARTTLS\r\n')
        await readUntil(socket, /\r\n220 2\.0\.0 /)
      }
      test.server.tick += 40 // seconds
      await once(socket.resume(), 'close')
    })
  it('disconnects a client at its deadline, whatever it does', async () => {
    test = await startTestSmtpServer({}, { open: (session) => ((session.deadlineMs = 1000), null) })
    const client = await connectSmtp(test.port)
    assert.match(await client.command('NOOP'), /^250 /)
    test.nowMs = 1001
    assert.strictEqual(await client.readReply(), '')
  })
  it('does not count the time that a message needs as idle', async () => {
    const stored = Promise.withResolvers<string>()
    test = await startTestSmtpServer(
      { idleSeconds: 1 },
      { data: () => ({ write: () => undefined, end: () => stored.promise, abort: () => undefined }) },
    )
    const client = await connectSmtp(test.port)
    client.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nx\r\n.\r\n')
    for (const code of ['250', '250', '250', '354']) assert.isTrue((await client.readReply()).startsWith(code))
    await new Promise((resolve) => setTimeout(resolve, 3500))
    stored.resolve('2.6.0 late')
    assert.strictEqual(await client.readReply(), '250 2.6.0 late')
    client.disconnect()
  })

  it('chooses the cipher, and not the client', async () => {
    test = await startTestSmtpServer({ isTls: true })
    const ciphers = 'AES128-SHA:ECDHE-RSA-AES256-GCM-SHA384'
    const options = {
      port: test.port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.2',
      ciphers,
    } as const
    const socket = connectTls(options)
    await once(socket, 'secureConnect')
    assert.strictEqual(socket.getCipher().name, 'ECDHE-RSA-AES256-GCM-SHA384')
    socket.destroy()
  })
  it('logs a failed handshake with the address of the client', async () => {
    test = await startTestSmtpServer({ isTls: true })
    const socket = connect(test.port, '127.0.0.1').on('error', () => undefined)
    socket.write('EHLO a\r\n')
    await once(socket.resume(), 'close')
    assert.deepEqual(
      test.notes.map(({ peer }) => peer),
      ['127.0.0.1'],
    )
    assert.deepEqual(test.errors, [])
  })

  describe('that stops', () => {
    it('ends idle connections at once, and a transaction after its message', async () => {
      test = await startTestSmtpServer({ closeMs: FOREVER_MS })
      const [idle, busy] = [await connectSmtp(test.port), await connectSmtp(test.port)]
      busy.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<slow@b.example>\r\nDATA\r\nx\r\n')
      for (const code of ['250', '250', '250', '354']) assert.isTrue((await busy.readReply()).startsWith(code))
      const stopped = test.server.stop()
      assert.match(await idle.readReply(), /^421 4\.3\.2 /)
      busy.send('.\r\n')
      assert.match(await busy.readReply(), /^250 2\.6\.0 mail 1/)
      assert.match(await busy.readReply(), /^421 4\.3\.2 /)
      idle.disconnect()
      busy.disconnect()
      await stopped
      assert.strictEqual(test.mails.length, 1)
    })
    it('waits longer for a message that is being stored than for other connections', async () => {
      const stored = Promise.withResolvers<string>()
      test = await startTestSmtpServer(
        { closeMs: 1 },
        { data: () => ({ write: () => undefined, end: () => stored.promise, abort: () => undefined }) },
      )
      const [busy, other] = [await connectSmtp(test.port), await connectSmtp(test.port)]
      busy.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nx\r\n.\r\n')
      for (const code of ['250', '250', '250', '354']) assert.isTrue((await busy.readReply()).startsWith(code))
      other.send('EHLO a\r\nMAIL FROM:<>\r\n')
      for (const code of ['250', '250']) assert.isTrue((await other.readReply()).startsWith(code))
      const stopped = test.server.stop()
      assert.match(await other.readReply(), /^421 /)
      stored.resolve('2.6.0 stored')
      assert.strictEqual(await busy.readReply(), '250 2.6.0 stored')
      busy.disconnect()
      await stopped
    })
    it('closes a connection with one 421', async () => {
      const stored = Promise.withResolvers<string>()
      test = await startTestSmtpServer(
        { closeMs: FOREVER_MS },
        { data: () => ({ write: () => undefined, end: () => stored.promise, abort: () => undefined }) },
      )
      const client = await connectSmtp(test.port)
      client.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nx\r\n.\r\n')
      for (const code of ['250', '250', '250', '354']) assert.isTrue((await client.readReply()).startsWith(code))
      const stopped = test.server.stop()
      stored.reject(new ReplyError(421, '4.3.2 The receiver is stopping'))
      assert.strictEqual(await client.readReply(), '421 4.3.2 The receiver is stopping')
      assert.strictEqual(await client.readReply(), '')
      client.disconnect()
      await stopped
    })
    it('starts no message any more', async () => {
      test = await startTestSmtpServer({ closeMs: FOREVER_MS })
      const client = await connectSmtp(test.port)
      await client.command('EHLO a')
      await client.command('MAIL FROM:<>')
      const stopped = test.server.stop()
      assert.match(await client.command('RCPT TO:<a@b.example>'), /^421 4\.3\.2 /)
      client.disconnect()
      await stopped
    })
    it('disconnects what does not end', async () => {
      test = await startTestSmtpServer({ closeMs: 100 })
      const client = await connectSmtp(test.port)
      client.send('EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nx\r\n')
      for (const code of ['250', '250', '250', '354']) assert.isTrue((await client.readReply()).startsWith(code))
      await test.server.stop()
      assert.match(await client.readReply(), /^421 4\.3\.2 /)
      assert.strictEqual(await client.readReply(), '')
      assert.strictEqual(test.aborted, 1)
      assert.strictEqual(test.server.sessions.size, 0)
    })
    it('ends a login that has no transaction once it is complete', async () => {
      const login = Promise.withResolvers<null>()
      const called = Promise.withResolvers<null>()
      const logIn = (): Promise<null> => {
        called.resolve(null)
        return login.promise
      }
      test = await startTestSmtpServer({ closeMs: FOREVER_MS }, { logIn })
      const client = await connectSmtp(test.port)
      await client.command('EHLO a')
      client.send('AUTH PLAIN AGEAYg==\r\n')
      await called.promise
      const stopped = test.server.stop()
      login.resolve(null)
      assert.match(await client.readReply(), /^235 /)
      assert.match(await client.readReply(), /^421 4\.3\.2 /)
      client.disconnect()
      await stopped
    })
    it('does not wait for a handshake', async () => {
      test = await startTestSmtpServer({ isTls: true, closeMs: 60_000 })
      const accepted = once(test.listener, 'connection')
      const socket = connect(test.port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write('\x16') // the first octet of a handshake
      await accepted
      await test.server.stop()
    })
  })
})
