/**
 * Real proxies of Debian in front: HAProxy with both versions of the PROXY protocol before the submission ports, also
 * with TLS, and nginx before HTTP. Mailstead sees the address of the client, and not one that the client claims.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { assert } from 'chai'
import { clientAddress } from '#api/http/client-address.ts'
import { cidrs } from '#config/settings/readers.ts'
import { startSubmission, type SubmissionRole } from '#mta/submission/submission.ts'
import { createRegistry } from '#src/metrics/registry.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { freePort } from '#test/support/free-ports.ts'
import { until } from '#test/support/until.ts'

/** An address of this machine that is no proxy's. */
const CLIENT = '127.0.0.9'

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connectPlain(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

describe('behind a proxy', () => {
  const dir = mkdtempSync('/tmp/mailstead-test-proxies-')
  const children: ChildProcess[] = []
  after(() => rmSync(dir, { recursive: true }))
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
  })
  function start(program: string, args: readonly string[]): void {
    const child = spawn(program, args, { stdio: 'ignore', detached: false })
    children.push(child)
    process.once('exit', () => child.kill('SIGKILL'))
  }

  describe('HAProxy', function () {
    let ctx: TestContext
    let submission: SubmissionRole
    before(async function () {
      if (!isInstalled('haproxy')) this.skip()
      const ports = Object.fromEntries(
        ['SUBMISSION_PORT', 'SUBMISSION_TLS_PORT', 'SUBMISSION_ALT_PORT'].map((name) => [name, '0']),
      )
      ctx = await createContext({ ...ports, PROXY_PROTOCOL_NETWORKS: '127.0.0.1', DATA_DIR: dir })
      submission = await startSubmission(ctx, createRegistry())
    })
    after(async () => {
      await submission?.stop()
      await ctx?.close()
    })

    /** What EHLO answers, as far as it names the client. */
    async function greet(socket: Socket): Promise<string> {
      let text = ''
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      await until(() => text.includes('220 '))
      socket.write('EHLO client.test\r\n')
      await until(() => /^250 /m.test(text))
      socket.destroy()
      return /\[(.*?)\]/.exec(text)?.[1] ?? text
    }

    for (const version of ['send-proxy', 'send-proxy-v2'])
      it(`${version}: the client is named, in plain text and with TLS`, async () => {
        const [plain, tls] = await Promise.all([freePort(), freePort()])
        const config = [
          'global',
          '  maxconn 100',
          'defaults',
          '  mode tcp',
          '  timeout connect 5s',
          '  timeout client 30s',
          '  timeout server 30s',
          'listen plain',
          `  bind 127.0.0.1:${plain}`,
          `  server one 127.0.0.1:${submission.ports.plain} ${version}`,
          'listen tls',
          `  bind 127.0.0.1:${tls}`,
          `  server one 127.0.0.1:${submission.ports.tls} ${version}`,
        ]
        const file = join(dir, `${version}.cfg`)
        writeFileSync(file, `${config.join('\n')}\n`)
        start('haproxy', ['-db', '-f', file])
        await until(async () => (await isOpen(plain)) && (await isOpen(tls)))
        const through = (port: number): Socket => connectPlain({ port, host: '127.0.0.1', localAddress: CLIENT })
        assert.strictEqual(await greet(through(plain)), CLIENT)
        assert.strictEqual(await greet(connectTls({ socket: through(tls), rejectUnauthorized: false })), CLIENT)
      })
    it('a client that is no proxy is named by its own address, whatever header it sends', async () => {
      const socket = connectPlain({ port: submission.ports.plain, host: '127.0.0.1', localAddress: CLIENT })
      socket.write('PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\n')
      assert.strictEqual(await greet(socket), CLIENT)
    })
  })

  describe('nginx', function () {
    before(function () {
      if (!isInstalled('nginx')) this.skip()
    })
    it('the client is the entry that nginx appended, not the one that the client sent', async () => {
      const port = await freePort()
      const api = createServer((req, res) => res.end(clientAddress(req, cidrs('127.0.0.1')))).listen(0, '127.0.0.1')
      await once(api, 'listening')
      const config = `
        daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
        events {}
        http {
          access_log off;
          client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f;
          uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
          server {
            listen 127.0.0.1:${port};
            location / {
              proxy_pass http://127.0.0.1:${(api.address() as AddressInfo).port};
              proxy_http_version 1.1;
              proxy_set_header Host $host;
              proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            }
          }
        }`
      writeFileSync(join(dir, 'nginx.conf'), config)
      start('nginx', ['-c', join(dir, 'nginx.conf')])
      await until(() => isOpen(port))
      const headers = { 'x-forwarded-for': '192.0.2.99', connection: 'close' }
      const sent = get({ port, host: '127.0.0.1', localAddress: CLIENT, headers })
      const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer>]
      let text = ''
      for await (const chunk of response) text += chunk.toString()
      assert.strictEqual(text, CLIENT)
      api.close()
    })
  })
})
