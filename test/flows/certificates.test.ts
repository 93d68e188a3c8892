/**
 * Certificates from a real ACME server (Debian's Pebble), which checks the host names over real DNS, HTTP and TLS: they
 * are requested for the web and SMTP servers with each kind of challenge, and used without a restart, as is a renewed
 * one. What fails is repeated later, and the certificate in use stays in use.
 */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { assert } from 'chai'
import { run as certificateCommand } from '#bin/commands/certificate.ts'
import { listenOnWebPorts, openWebCertificates, type WebCertificates } from '#api/web-ports.ts'
import type { HttpServer } from '#api/server.ts'
import { loadConfig } from '#config/load.ts'
import { startSubmission, type SubmissionRole } from '#mta/submission/submission.ts'
import { listCertificates, requestNow } from '#src/certificates/certificate-store.ts'
import { requestDueCertificate } from '#src/certificates/request-round.ts'
import type { Context } from '#src/context.ts'
import { createRegistry } from '#src/metrics/registry.ts'
import { runCommand } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { freePort } from '#test/support/free-ports.ts'
import { hasPebble, startPebble, type Pebble } from '#test/support/pebble.ts'
import { until } from '#test/support/until.ts'

const WEB = 'app.sender.example'
const TRACKING = 'links.sender.example'
const SMTP = 'mail.sender.example'
const CHALLENGES = ['http-01', 'tls-alpn-01', 'dns-01'] as const

describe('automatic certificates', function () {
  before(function () {
    if (!hasPebble()) this.skip()
  })

  for (const challenge of CHALLENGES)
    describe(challenge, () => {
      const undo: (() => unknown)[] = []
      let base: TestContext
      let ctx: Context
      let dns: TestDns
      let pebble: Pebble
      let web: readonly HttpServer[]
      let certificates: WebCertificates
      let submission: SubmissionRole
      let root: string
      const ports = { http: 0, tls: 0 }

      before(async () => {
        ;[ports.http, ports.tls] = [await freePort(), await freePort()]
        dns = await startDns({})
        pebble = await startPebble(dns.server, ports)
        const dir = mkdtempSync('/tmp/mailstead-test-acme-')
        undo.push(
          () => dns.stop(),
          () => pebble.stop(),
          () => rmSync(dir, { recursive: true }),
        )
        const env = {
          MODE: 'live',
          MAILSTEAD_HOSTNAME: SMTP,
          SMTP_NAMES: 'smtp.sender.example',
          PUBLIC_URL: `https://${WEB}:${ports.tls}`,
          TRACKING_URL: `https://${TRACKING}:${ports.tls}`,
          HTTPS_PORT: String(ports.tls),
          HTTP_REDIRECT_PORT: String(ports.http),
          HTTP_HOST: '127.0.0.1',
          ACME_CHALLENGE: challenge,
          ACME_DIRECTORY: pebble.directory,
          ACME_EMAIL: 'postmaster@sender.example',
          ACME_DNS_COMMAND: await startHook(dir),
          EXTRA_CA_FILE: pebble.caFile,
          DNS_SERVERS: dns.server,
          RETRY_SCALE: '0.0001',
          ...Object.fromEntries(
            ['SUBMISSION_PORT', 'SUBMISSION_TLS_PORT', 'SUBMISSION_ALT_PORT'].map((name) => [name, '0']),
          ),
        }
        base = await createContext(env)
        ctx = {
          ...base,
          config: { ...loadConfig({ ...env, DATABASE_URL: base.databaseUrl, REDIS_URL: base.redisUrl }), dataDir: dir },
        }
        undo.push(() => base.close())
        certificates = openWebCertificates(ctx) ?? assert.fail('HTTPS_PORT is set')
        const handlers = {
          byPrefix: [],
          publicUrl: '',
          app: (_: unknown, res: { end(text: string): void }) => res.end('hello'),
        }
        web = await listenOnWebPorts(ctx, handlers, certificates)
        submission = await startSubmission(ctx, createRegistry())
        undo.push(
          () => Promise.all(web.map((server) => server.stop(0))),
          () => certificates.stop(),
          () => submission.stop(),
        )
        root = await pebble.root()
      })
      after(async () => {
        for (const step of undo.toReversed()) await step()
      })

      afterEach(async function () {
        if (this.currentTest?.state !== 'failed') return
        for (const { name, state, lastError } of await listCertificates(ctx.db))
          process.stderr.write(`${name}: ${state} ${lastError ?? ''}\n`)
      })

      /** The command of an operator: it changes the zone of the test's DNS server. */
      async function startHook(dir: string): Promise<string> {
        const server = createServer((request, response) => {
          const [action = '', name = '', value = ''] = (request.url ?? '').slice(1).split('/').map(decodeURIComponent)
          if (action === 'present') dns.zone[name] = { TXT: [value] }
          else delete dns.zone[name]
          response.end()
        }).listen(0, '127.0.0.1')
        await once(server, 'listening')
        undo.push(() => server.close())
        const { port } = server.address() as AddressInfo
        writeFileSync(
          join(dir, 'hook.mjs'),
          `const words = process.argv.slice(2).map(encodeURIComponent).join('/')
           await fetch('http://127.0.0.1:${port}/' + words)`,
        )
        return `${process.execPath} ${join(dir, 'hook.mjs')}`
      }
      async function requestAll(): Promise<void> {
        while (await requestDueCertificate(ctx));
      }
      const publish = (): void => {
        for (const name of [WEB, TRACKING, SMTP, 'smtp.sender.example']) dns.zone[name] = { A: ['127.0.0.1'] }
      }
      async function handshake(socket: TLSSocket): Promise<X509Certificate> {
        await once(socket, 'secureConnect')
        const shown = new X509Certificate(socket.getPeerCertificate().raw)
        socket.destroy()
        return shown
      }
      const shownByWeb = (servername: string): Promise<X509Certificate> =>
        handshake(connect({ port: ports.tls, host: '127.0.0.1', servername, ca: root }))
      async function say(socket: Socket, line: string): Promise<void> {
        socket.write(`${line}\r\n`)
        await once(socket, 'data')
      }
      async function shownBySmtp(): Promise<X509Certificate> {
        const socket = connectPlain(submission.ports.plain, '127.0.0.1')
        await once(socket, 'data')
        await say(socket, 'EHLO client.test')
        await say(socket, 'STARTTLS')
        return handshake(connect({ socket, servername: SMTP, ca: root }))
      }
      const command = (...args: string[]): ReturnType<typeof runCommand> =>
        runCommand(certificateCommand, args, {
          DATABASE_URL: base.databaseUrl,
          MODE: 'live',
          MAILSTEAD_HOSTNAME: SMTP,
          ACME_CHALLENGE: challenge,
          ACME_DNS_COMMAND: 'true',
        })

      it('fails while DNS has no such names: the reason is stored, and it is due again', async () => {
        await until(async () => (await listCertificates(ctx.db)).length === 3)
        await requestDueCertificate(ctx)
        if (challenge === 'dns-01') return // the hook makes the only record that is needed
        const failing = (await listCertificates(ctx.db)).filter(({ failures }) => failures > 0)
        assert.deepEqual([failing.length, failing[0]?.state], [1, 'failing'])
        assert.match(failing[0]?.lastError ?? '', /sender\.example|lookup|DNS|NXDOMAIN/i)
        await assert.isRejected(shownByWeb(WEB))
      })

      it('is requested for every name, and in use without a restart', async () => {
        publish()
        await until(async () => {
          await requestAll()
          return (await listCertificates(ctx.db)).every(({ state }) => state === 'valid')
        })
        await until(() => certificates.has(WEB) && certificates.has(TRACKING))
        // Each server reads new certificates by itself. Until then, the SMTP server shows a self-signed one.
        await until(() => shownBySmtp().then(Boolean, () => false))
        assert.strictEqual((await shownByWeb(WEB)).subjectAltName, `DNS:${WEB}`)
        assert.strictEqual((await shownByWeb(TRACKING)).subjectAltName, `DNS:${TRACKING}`)
        const names = (await shownBySmtp()).subjectAltName ?? ''
        assert.deepEqual(names.split(', ').toSorted(), [`DNS:${SMTP}`, 'DNS:smtp.sender.example'])
        const { rows } = await ctx.db.query('SELECT FROM certificate_challenges')
        assert.strictEqual(rows.length, 0)
        assert.isFalse(
          Object.keys(dns.zone).some((name) => name.startsWith('_acme')),
          'the records of challenges are removed',
        )
      })

      it('is renewed without a restart, by command or by time; the key is a new one', async () => {
        const [webBefore, smtpBefore] = [await shownByWeb(WEB), await shownBySmtp()]
        const { code } = await command('renew', SMTP)
        assert.strictEqual(code, 0)
        await requestNow(ctx.db, WEB)
        await until(async () => {
          await requestAll()
          const [webNow, smtpNow] = [await shownByWeb(WEB), await shownBySmtp()]
          return webNow.serialNumber !== webBefore.serialNumber && smtpNow.serialNumber !== smtpBefore.serialNumber
        })
        assert.isFalse((await shownByWeb(WEB)).publicKey.equals(webBefore.publicKey))
        const { out } = await command('list')
        assert.match(out, new RegExp(`${WEB} +web +valid`))
        assert.match(out, new RegExp(`${SMTP} smtp\\.sender\\.example +smtp +valid`))
      })

      it('a request that fails changes nothing: the certificate stays in use', async () => {
        const before = await shownByWeb(WEB)
        await ctx.db.query(`UPDATE acme_accounts SET directory = 'https://127.0.0.1:1/dir'`)
        const away = { ...ctx, config: { ...ctx.config, acmeDirectory: 'https://127.0.0.1:1/dir' } }
        await requestNow(ctx.db, WEB)
        await requestDueCertificate(away)
        const found = (await listCertificates(ctx.db)).find(({ name }) => name === WEB)
        assert.match(found?.lastError ?? '', /the authority at 127\.0\.0\.1:1 was not reached: .*ECONNREFUSED/)
        assert.strictEqual((await shownByWeb(WEB)).serialNumber, before.serialNumber)
      })

      it('the port for http redirects browsers to https, and only for its own names', async () => {
        const location = async (host: string, method = 'GET'): Promise<[number, string | null]> => {
          const { request } = await import('node:http')
          const sent = request({ port: ports.http, host: '127.0.0.1', path: '/a?b=c', method, headers: { host } })
          sent.end()
          const [response] = (await once(sent, 'response')) as [
            { statusCode: number; headers: Record<string, string>; resume(): void },
          ]
          response.resume()
          return [response.statusCode, response.headers['location'] ?? null]
        }
        assert.deepEqual(await location(WEB), [308, `https://${WEB}:${ports.tls}/a?b=c`])
        assert.deepEqual(await location('evil.example'), [404, null])
        assert.deepEqual(await location(WEB, 'POST'), [403, null])
      })
    })
})
