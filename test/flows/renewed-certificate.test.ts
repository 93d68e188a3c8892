/**
 * A certificate is renewed while the SMTP servers run: every port uses it from the next connection on, without a
 * restart and without closing a connection.
 */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { startSubmission, type SubmissionRole } from '#mta/submission/submission.ts'
import { createRegistry } from '#src/metrics/registry.ts'
import { createAuthority } from '#test/support/certificate.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'

describe('a renewed certificate', () => {
  const folder = mkdtempSync('/tmp/mailstead-test-renewal-')
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  let ctx: TestContext
  let submission: SubmissionRole
  let inbound: Inbound
  before(async () => {
    await write('first.example')
    ctx = await createContext({
      SUBMISSION_PORT: '0',
      SUBMISSION_TLS_PORT: '0',
      SUBMISSION_ALT_PORT: '0',
      INBOUND_PORT: '0',
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mx.sender.example',
      TLS_CERT_FILE: certFile,
      TLS_KEY_FILE: keyFile,
    })
    submission = await startSubmission(ctx, createRegistry())
    inbound = await startInbound(ctx)
  })
  after(async () => {
    await submission.stop()
    await inbound.stop()
    await ctx.close()
    rmSync(folder, { recursive: true })
  })

  async function write(name: string, isWhole = true): Promise<void> {
    const { cert, key } = await (await createAuthority()).issue([name])
    writeFileSync(certFile, cert)
    if (isWhole) writeFileSync(keyFile, key)
  }
  async function say(socket: Socket, line: string): Promise<string> {
    socket.write(`${line}\r\n`)
    return String((await once(socket, 'data'))[0])
  }
  async function startTls(port: number): Promise<TLSSocket> {
    const socket = connectPlain(port, '127.0.0.1')
    await once(socket, 'data')
    await say(socket, 'EHLO client.test')
    assert.match(await say(socket, 'STARTTLS'), /^220/)
    return secure(connect({ socket, rejectUnauthorized: false }))
  }
  async function secure(socket: TLSSocket): Promise<TLSSocket> {
    await once(socket, 'secureConnect')
    return socket
  }
  const nameOf = (socket: TLSSocket): string =>
    new X509Certificate(socket.getPeerCertificate().raw).subjectAltName ?? ''
  /** As each port shows it. */
  async function shown(): Promise<string[]> {
    const { plain, tls, alt } = submission.ports
    const open = await Promise.all([
      startTls(plain),
      startTls(alt),
      startTls(inbound.port),
      secure(connect({ port: tls, host: '127.0.0.1', rejectUnauthorized: false })),
    ])
    const names = open.map(nameOf)
    for (const socket of open) socket.destroy()
    return [...new Set(names)]
  }

  it('is used at every port; an incomplete or invalid one is not; open sessions continue', async () => {
    assert.deepEqual(await shown(), ['DNS:first.example'])
    const open = await startTls(submission.ports.plain)
    await write('second.example', false)
    await new Promise((resolve) => {
      setTimeout(resolve, 2500)
    }) // two looks
    assert.deepEqual(await shown(), ['DNS:first.example'], 'certificate and key are no pair yet')
    await write('second.example')
    await until(async () => (await shown()).join(' ') === 'DNS:second.example')
    writeFileSync(certFile, 'rubbish')
    await new Promise((resolve) => {
      setTimeout(resolve, 2500)
    })
    assert.deepEqual(await shown(), ['DNS:second.example'])
    rmSync(certFile)
    await write('third.example')
    await until(async () => (await shown()).join(' ') === 'DNS:third.example')
    assert.match(await say(open, 'EHLO client.test'), /^250/)
    open.destroy()
  })
})
