import { networkInterfaces } from 'node:os'
import { assert } from 'chai'
import { createTransport } from 'nodemailer'
import { createRegistry } from '#src/metrics/registry.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { createContext } from '#test/support/context.ts'
import { createSender } from '#test/support/sender.ts'
import { sendMessage, plainToken } from '#test/support/smtp-client.ts'
import { connectSmtp } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { setUpSubmission, SUBMISSION_ENV, writeMail } from './submission.test-data.ts'
import { startSubmission } from './submission.ts'

describe('submission', () => {
  const scene = setUpSubmission()

  describe('authentication', () => {
    it('is required', async () => {
      const connection = await scene.client.open(null)
      assert.match(await connection.command('MAIL FROM:<a@b.example>'), /^530 5\.7\.0 /)
    })
    it('accepts PLAIN and LOGIN with any user name, and offers them in the reply to EHLO', async () => {
      const connection = await connectSmtp(scene.submission.ports.alt)
      const hello = await connection.command('EHLO client.test')
      for (const offer of [
        'AUTH PLAIN LOGIN',
        'STARTTLS',
        'DSN',
        'SMTPUTF8',
        '8BITMIME',
        'PIPELINING',
        'ENHANCEDSTATUSCODES',
        'SIZE 345536',
      ])
        assert.match(hello, new RegExp(`250[- ]${offer}`))
      assert.notMatch(hello, /CHUNKING|BINARYMIME/)
      assert.match(await connection.command('AUTH LOGIN'), /^334 /)
      assert.match(await connection.command(Buffer.from(scene.sender.regular).toString('base64')), /^334 /)
      assert.match(await connection.command(Buffer.from(scene.sender.regular).toString('base64')), /^235 /)
      connection.disconnect()
    })
    it('refuses a wrong key and an Admin key with 535, and disconnects at the third failure', async () => {
      const connection = await scene.client.open(null)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken('nonsense')}`), /^535 5\.7\.8 /)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(scene.sender.admin)}`), /^535 5\.7\.8 .*Admin key/)
      assert.match(
        await connection.command(`AUTH PLAIN ${plainToken(`${scene.sender.regular.slice(0, -1)}x`)}`),
        /^535 /,
      )
      assert.match(await connection.readReply(), /^421 4\.7\.0 /)
      assert.strictEqual(await connection.readReply(), '')
    })
    it('refuses the key of a suspended workspace with 525, until it is resumed', async () => {
      const other = await createSender({ ...scene.ctx, keyPrefix: 'ms' }, { domain: 'suspended.example' })
      const workspace = { kind: 'workspace', subject: other.workspaceId } as const
      const logIn = async (): Promise<string> => {
        const connection = await scene.client.open(null)
        return connection.command(`AUTH PLAIN ${plainToken(other.regular)}`)
      }
      await suspend(scene.ctx, { ...workspace, scope: 'all' }, 'abuse')
      assert.match(await logIn(), /^525 5\.7\.13 This workspace is suspended: ask the operator/)
      await resume(scene.ctx, workspace)
      await until(async () => (await logIn()).startsWith('235 '))
    })
    it('refuses the next message of a workspace that is suspended while it is connected', async () => {
      const other = await createSender({ ...scene.ctx, keyPrefix: 'ms' }, { domain: 'closed.example' })
      const connection = await scene.client.open(other.regular)
      const message = { from: 'a@closed.example', to: 'x@b.example', content: 'From: a@closed.example\r\n\r\nx' }
      assert.match(await sendMessage(connection, message), /^250 /)
      await suspend(scene.ctx, { kind: 'workspace', subject: other.workspaceId, scope: 'all' }, 'abuse')
      await until(async () => (await sendMessage(connection, message)).startsWith('525 5.7.13 '))
    })
    it('refuses a deactivated key from the next message on, also on an open connection', async () => {
      const other = await createSender({ ...scene.ctx, keyPrefix: 'ms' }, { domain: 'switched.example' })
      const connection = await scene.client.open(other.regular)
      const message = { from: 'a@switched.example', to: 'x@b.example', content: 'From: a@switched.example\r\n\r\nx' }
      assert.match(await sendMessage(connection, message), /^250 /)
      await scene.ctx.db.query('UPDATE api_keys SET is_active = false WHERE workspace_id = $1', [other.workspaceId])
      await until(async () => (await sendMessage(connection, message)).startsWith('535 5.7.8'))
    })
    it('is required again after STARTTLS, which resets the session', async () => {
      const connection = await scene.client.open()
      assert.match(await connection.command('STARTTLS'), /^220 /)
      await connection.startTls()
      assert.match(await connection.command('EHLO client.test'), /AUTH PLAIN LOGIN/)
      assert.match(await connection.command('MAIL FROM:<a@b.example>'), /^530 /)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(scene.sender.regular)}`), /^235 /)
      assert.match(
        await sendMessage(connection, { from: 'a@b.example', to: 'x@b.example', content: writeMail('') }),
        /^250 2\.0\.0 /,
      )
    })
    it('accepts implicit TLS from a common client', async () => {
      const transport = createTransport({
        host: '127.0.0.1',
        port: scene.submission.ports.tls,
        secure: true,
        tls: { rejectUnauthorized: false },
        auth: { user: 'x', pass: scene.sender.regular },
      })
      const { response } = await transport.sendMail({
        from: 'Ü <ü@sender.example>',
        to: 'a@b.example',
        bcc: 'hidden@b.example',
        subject: 'Grüße',
        text: 'Hallo',
        attachments: [{ filename: 'x.bin', content: Buffer.alloc(5000, 7) }],
      })
      const { view, raw } = await scene.client.find(response)
      assert.strictEqual(view.subject, 'Grüße')
      assert.deepEqual(view.from, { email: 'ü@sender.example', name: 'Ü' })
      assert.deepEqual(
        view.recipients.map(({ address, kind }) => [address, kind]),
        [
          ['a@b.example', 'to'],
          ['hidden@b.example', 'bcc'],
        ],
      )
      assert.ok(!raw.includes('hidden@'))
      transport.close()
    })
    it('blocks a network after too many failures, even with a valid key', async () => {
      const own = await createContext(SUBMISSION_ENV)
      const port = await startSubmission(own, createRegistry())
      try {
        const reply = async (): Promise<string> => {
          const connection = await connectSmtp(port.ports.plain)
          await connection.command('EHLO x.test')
          const answer = await connection.command(`AUTH PLAIN ${plainToken('wrong')}`)
          connection.disconnect()
          return answer
        }
        for (let i = 0; i < 30; i++) assert.match(await reply(), /^535 /)
        assert.match(await reply(), /^454 4\.7\.0 Too many failed logins/)
      } finally {
        await port.stop()
        await own.close()
      }
    })
  })

  describe('remote clients', () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal)?.address
    const test = outside === undefined ? it.skip : it
    test('a login needs TLS', async () => {
      const connection = await connectSmtp(scene.submission.ports.plain, outside)
      assert.notMatch(await connection.command('EHLO client.test'), /AUTH/)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(scene.sender.regular)}`), /^538 5\.7\.11 /)
      await connection.command('STARTTLS')
      await connection.startTls()
      assert.match(await connection.command('EHLO client.test'), /AUTH PLAIN LOGIN/)
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(scene.sender.regular)}`), /^235 /)
      connection.disconnect()
    })
    test('unless the operator says so', async () => {
      const own = await startSubmission(
        { ...scene.ctx, config: { ...scene.ctx.config, submissionPlainLogin: 'anywhere' } },
        createRegistry(),
      )
      const connection = await connectSmtp(own.ports.plain, outside)
      await connection.command('EHLO client.test')
      assert.match(await connection.command(`AUTH PLAIN ${plainToken(scene.sender.regular)}`), /^235 /)
      connection.disconnect()
      await own.stop()
    })
    test('a key, and a network, may hand in only so much', async () => {
      for (const [setting, host] of [
        ['submissionPerKey', '127.0.0.1'],
        ['submissionPerNetwork', outside],
      ] as const) {
        const own = await startSubmission(
          { ...scene.ctx, config: { ...scene.ctx.config, submissionPlainLogin: 'anywhere', [setting]: 1 } },
          createRegistry(),
        )
        const connection = await connectSmtp(own.ports.plain, host)
        await connection.command('EHLO client.test')
        await connection.command(`AUTH PLAIN ${plainToken(scene.sender.regular)}`)
        const replies: string[] = []
        for (let i = 0; i < 25; i++)
          replies.push(
            await sendMessage(connection, { from: 'a@b.example', to: 'a@b.example', content: writeMail('') }),
            await connection.command('RSET'),
          )
        assert.ok(
          replies.some((reply) => /^451 4\.7\.0 Too many messages; try again in \d+ s$/.test(reply)),
          setting,
        )
        connection.disconnect()
        await own.stop()
      }
    })
  })
})
