/**
 * Real proxies of Debian in front, configured as docs/guides/behind-a-proxy.md says. Before the submission ports, also
 * with TLS: HAProxy with both versions of the PROXY protocol, and nginx. Before HTTP: nginx, Caddy and HAProxy.
 * Mailstead sees the address of the client, and not one that the client claims. What is not installed is skipped.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

/** Debian's package libnginx-mod-stream. */
const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined
}

/** Ports that a proxy listens on, and those behind it. */
interface Ports {
  readonly plain: number
  readonly tls: number
  readonly behindPlain: number
  readonly behindTls: number
}

function haproxyTcp({ plain, tls, behindPlain, behindTls }: Ports, version: string): string {
  return `
    global
      maxconn 100
    defaults
      mode tcp
      timeout connect 5s
      timeout client 30s
      timeout server 30s
    listen plain
      bind 127.0.0.1:${plain}
      server one 127.0.0.1:${behindPlain} ${version}
    listen tls
      bind 127.0.0.1:${tls}
      server one 127.0.0.1:${behindTls} ${version}
  `
}

function nginxStream({ plain, tls, behindPlain, behindTls }: Ports, dir: string): string {
  return `
    load_module ${STREAM_MODULE};
    daemon off; master_process off; pid ${dir}/stream.pid; error_log ${dir}/stream.log;
    events {}
    stream {
      server { listen 127.0.0.1:${plain}; proxy_pass 127.0.0.1:${behindPlain}; proxy_protocol on; proxy_timeout 6m; }
      server { listen 127.0.0.1:${tls}; proxy_pass 127.0.0.1:${behindTls}; proxy_protocol on; proxy_timeout 6m; }
    }
  `
}

interface HttpProxy {
  readonly program: string
  readonly args: (file: string) => readonly string[]
  /** From `port` to an api on port `api`. */
  readonly configure: (port: number, api: number, dir: string) => string
}

const HTTP_PROXIES: readonly HttpProxy[] = [
  {
    program: 'nginx',
    args: (file) => ['-c', file],
    configure: (port, api, dir) => `
      daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
      events {}
      http {
        access_log off;
        client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f;
        uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
        server {
          listen 127.0.0.1:${port};
          location / {
            proxy_pass http://127.0.0.1:${api};
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          }
        }
      }
    `,
  },
  {
    program: 'caddy',
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    configure: (port, api, dir) => `
      {
        admin off
        storage file_system ${dir}/caddy
      }
      http://mail.example.com:${port} {
        bind 127.0.0.1
        reverse_proxy 127.0.0.1:${api}
      }
    `,
  },
  {
    program: 'haproxy',
    args: (file) => ['-db', '-f', file],
    configure: (port, api) => `
      global
        maxconn 100
      defaults
        timeout connect 5s
        timeout client 30s
      frontend http
        mode http
        bind 127.0.0.1:${port}
        option forwardfor
        default_backend mailstead
      backend mailstead
        mode http
        timeout server 75s
        server api 127.0.0.1:${api} check
    `,
  },
]

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
  function write(name: string, text: string): string {
    const file = join(dir, name)
    writeFileSync(file, `${text}\n`)
    return file
  }
  function start(program: string, args: readonly string[]): void {
    const child = spawn(program, args, { stdio: 'ignore', detached: false })
    children.push(child)
    process.once('exit', () => child.kill('SIGKILL'))
  }

  describe('with the PROXY protocol', () => {
    let ctx: TestContext
    let submission: SubmissionRole
    before(async () => {
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

    async function checkClient(startProxy: (ports: Ports) => void): Promise<void> {
      const [plain, tls] = await Promise.all([freePort(), freePort()])
      startProxy({ plain, tls, behindPlain: submission.ports.plain, behindTls: submission.ports.tls })
      await until(async () => (await isOpen(plain)) && (await isOpen(tls)))
      const through = (port: number): Socket => connectPlain({ port, host: '127.0.0.1', localAddress: CLIENT })
      assert.strictEqual(await greet(through(plain)), CLIENT)
      assert.strictEqual(await greet(connectTls({ socket: through(tls), rejectUnauthorized: false })), CLIENT)
    }
    for (const version of ['send-proxy', 'send-proxy-v2'])
      it(`of HAProxy, ${version}: the client is named, in plain text and with TLS`, async function () {
        if (!isInstalled('haproxy')) this.skip()
        await checkClient((ports) =>
          start('haproxy', ['-db', '-f', write(`${version}.cfg`, haproxyTcp(ports, version))]),
        )
      })
    it('of nginx: the client is named, in plain text and with TLS', async function () {
      if (!isInstalled('nginx') || !existsSync(STREAM_MODULE)) this.skip()
      await checkClient((ports) => start('nginx', ['-c', write('stream.conf', nginxStream(ports, dir))]))
    })
    it('a client that is no proxy is named by its own address, whatever header it sends', async () => {
      const socket = connectPlain({ port: submission.ports.plain, host: '127.0.0.1', localAddress: CLIENT })
      socket.write('PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\n')
      assert.strictEqual(await greet(socket), CLIENT)
    })
  })

  for (const { program, args, configure } of HTTP_PROXIES)
    it(`${program}: the client is the one that the proxy names, not the one that the client sent`, async function () {
      if (!isInstalled(program)) this.skip()
      const port = await freePort()
      const api = createServer((req, res) => {
        res.end(`${clientAddress(req, cidrs('127.0.0.1'))} ${req.headers.host}`)
      })
      api.listen(0, '127.0.0.1')
      await once(api, 'listening')
      try {
        const file = write(`${program}.conf`, configure(port, (api.address() as AddressInfo).port, dir))
        start(program, args(file))
        await until(() => isOpen(port))
        assert.strictEqual(await read(port), `${CLIENT} mail.example.com`)
      } finally {
        api.closeAllConnections()
        api.close()
      }
    })

  /** The answer to a client that claims another address. Caddy chooses the site by the name. */
  async function read(port: number): Promise<string> {
    const headers = { 'x-forwarded-for': '192.0.2.99', host: 'mail.example.com', connection: 'close' }
    const sent = get({ port, host: '127.0.0.1', localAddress: CLIENT, headers })
    const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer>]
    let text = ''
    for await (const chunk of response) text += chunk.toString()
    return text
  }
})
