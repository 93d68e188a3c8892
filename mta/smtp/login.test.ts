/** AUTH: the choice of the mechanism, the commands, the record of the session, and servers that break the rules. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { assert } from 'chai'
import { startMailboxServer } from '#test/support/mailbox-server.ts'
import { createLogin, type Credential } from './login.ts'
import { openSession, type OpenResult, type SessionSettings } from './open.ts'
import { chooseTimeouts } from './timeouts.ts'

const PASSWORD: Credential = { kind: 'password', username: 'me@x.example', password: 'correct horse' }
const TOKEN: Credential = { kind: 'token', username: 'me@x.example', token: 'ya29.token' }

function settings(credential: Credential, more: Partial<SessionSettings> = {}): SessionSettings {
  return {
    ehloName: 'us.example',
    tls: 'never',
    rejectUnauthorized: true,
    timeouts: chooseTimeouts({ auth: 500, quit: 100 }),
    login: createLogin(credential),
    ...more,
  }
}

describe('login', () => {
  let server: Server | null = null
  const sockets = new Set<Socket>()
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
    server?.close()
    server = null
  })

  /** A server that offers these mechanisms and sends the given replies. Returns the lines it received after EHLO. */
  async function meet(
    offer: string,
    answers: readonly string[],
    credential: Credential,
  ): Promise<{ opened: OpenResult; received: string[] }> {
    const received: string[] = []
    server = createServer((socket) => {
      sockets.add(socket)
      let at = -1
      socket.on('error', () => undefined).write('220 hello\r\n')
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
          if (at++ < 0) socket.write(`250-hello\r\n250 ${offer}\r\n`)
          else {
            received.push(line)
            socket.write(answers[at - 1] ?? '')
          }
        }
      })
    })
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    const opened = await openSession(
      { host: 'x.example', address: '127.0.0.1', port: (server.address() as AddressInfo).port },
      settings(credential),
    )
    return { opened, received: received.filter((line) => line !== 'QUIT') }
  }
  const decode = (text: string): string => Buffer.from(text, 'base64').toString()
  const YES = '235 2.7.0 Yes\r\n'

  it('prefers PLAIN to LOGIN, and sends it in one line', async () => {
    const { opened, received } = await meet('AUTH LOGIN PLAIN', [YES], PASSWORD)
    assert.ok(opened.ok)
    assert.deepEqual(
      received.map((line) => decode(line.replace('AUTH PLAIN ', ''))),
      ['\0me@x.example\0correct horse'],
    )
    assert.ok(opened.session.opening.includes('C: AUTH PLAIN ********'))
  })
  it('uses LOGIN, in three lines, when the server offers nothing else', async () => {
    const { opened, received } = await meet(
      'auth login',
      ['334 VXNlcm5hbWU6\r\n', '334 UGFzc3dvcmQ6\r\n', YES],
      PASSWORD,
    )
    assert.ok(opened.ok)
    assert.deepEqual([received[0], ...received.slice(1).map(decode)], ['AUTH LOGIN', 'me@x.example', 'correct horse'])
    assert.ok(!opened.session.opening.join('').includes(received[2] ?? '-'))
  })
  it('uses XOAUTH2 with a token, and answers its error challenge with an empty line', async () => {
    const { opened, received } = await meet(
      'AUTH PLAIN XOAUTH2',
      ['334 eyJzdGF0dXMiOiI0MDAifQ==\r\n', '535 5.7.8 no\r\n'],
      TOKEN,
    )
    assert.ok(!opened.ok)
    assert.deepEqual([opened.failure.stage, opened.failure.reply?.code, received[1]], ['auth', 535, ''])
    assert.strictEqual(
      decode(received[0]?.replace('AUTH XOAUTH2 ', '') ?? ''),
      'user=me@x.example\x01auth=Bearer ya29.token\x01\x01',
    )
  })

  const NOTHING: readonly (readonly [name: string, offer: string, credential: Credential])[] = [
    ['no AUTH at all', 'SIZE', PASSWORD],
    ['only what we do not speak', 'AUTH CRAM-MD5 GSSAPI', PASSWORD],
    ['no XOAUTH2 for a token', 'AUTH PLAIN LOGIN', TOKEN],
    ['no password for XOAUTH2', 'AUTH XOAUTH2', PASSWORD],
  ]
  for (const [name, offer, credential] of NOTHING)
    it(`${name}: sends no credentials`, async () => {
      const { opened, received } = await meet(offer, [], credential)
      assert.ok(!opened.ok)
      assert.deepEqual([opened.failure.stage, opened.failure.loss?.code, received], ['auth', 'auth-not-offered', []])
    })

  const ODD: readonly (readonly [name: string, answers: readonly string[]])[] = [
    ['asks and asks', ['334 \r\n', '334 \r\n', '334 \r\n']],
    ['says nothing', []],
    ['talks out of turn', ['235 yes\r\n250 more\r\n250 and more\r\n']],
    ['says no SMTP', ['hello\r\n']],
    ['closes', ['421 4.3.2 bye\r\n']],
  ]
  for (const [name, answers] of ODD)
    it(`a server that ${name}: returns a failure in time`, async () => {
      const { opened } = await meet('AUTH PLAIN', answers, PASSWORD)
      if (opened.ok) assert.strictEqual(opened.session.isUsable, false)
      else assert.strictEqual(opened.failure.stage, 'auth')
    })

  it('uses implicit TLS, and only with a certificate for the host name', async () => {
    const mailbox = await startMailboxServer({ name: 'smtp.x.example', isImplicitTls: true })
    mailbox.passwords.set('me@x.example', 'correct horse')
    const open = (host: string): Promise<OpenResult> =>
      openSession(
        { host, address: '127.0.0.1', port: mailbox.port },
        settings(PASSWORD, { tls: 'implicit', ca: mailbox.ca }),
      )
    const opened = await open('smtp.x.example')
    assert.ok(opened.ok)
    assert.strictEqual(opened.session.tls?.authorized, true)
    await opened.session.quit()
    const other = await open('smtp.y.example')
    assert.ok(!other.ok)
    assert.strictEqual(other.failure.stage, 'tls')
    assert.strictEqual(mailbox.logins.length, 1)
    await mailbox.stop()
  })
})
