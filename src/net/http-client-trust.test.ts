/** Whom the guarded POST trusts: certificate authorities, and not the environment. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import { createHttpClient, type HttpResult } from './http-client.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'

const OPEN = { allowPrivateTargets: cidrs('127.0.0.0/8'), dnsServers: null, isSandbox: false, extraCaFile: null }
const REQUEST = { headers: { 'content-type': 'application/json' }, body: '{}', timeoutMs: 5000 }

function reasonOf(posted: HttpResult): string {
  return posted.ok ? `status ${posted.status}` : posted.reason
}

describe('HTTP client: TLS', () => {
  let receiver: WebhookReceiver
  let folder: string
  let ca: string
  let dns: TestDns
  before(async () => {
    const certificate = await certificateFor(['secure.example'])
    receiver = await startWebhookReceiver(certificate)
    folder = mkdtempSync(join(tmpdir(), 'outgoing-'))
    ca = join(folder, 'ca.pem')
    writeFileSync(ca, certificate.cert)
    dns = await startDns({ 'secure.example': { A: ['127.0.0.1'] }, 'other.example': { A: ['127.0.0.1'] } })
  })
  after(async () => {
    await receiver.close()
    await dns.stop()
    rmSync(folder, { recursive: true })
  })

  const post = async (extraCaFile: string | null, host: string): Promise<string> => {
    const outgoing = createHttpClient({ ...OPEN, dnsServers: [dns.server], extraCaFile })
    const posted = await outgoing.post(`https://${host}:${receiver.port}/`, REQUEST)
    outgoing.close()
    return reasonOf(posted)
  }
  it('rejects an unknown certificate authority', async () =>
    assert.strictEqual(await post(null, 'secure.example'), 'tls'))
  it('trusts an authority of EXTRA_CA_FILE', async () =>
    assert.strictEqual(await post(ca, 'secure.example'), 'status 200'))
  it('checks the host name', async () => assert.strictEqual(await post(ca, 'other.example'), 'tls'))
})

describe('HTTP client: environment', () => {
  it('proxies of the environment are not used', async () => {
    const receiver = await startWebhookReceiver()
    const proxy = createServer((socket) => socket.destroy())
    let isUsed = false
    proxy.on('connection', () => {
      isUsed = true
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const at = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const script = `
      const { createHttpClient } = await import(${JSON.stringify(import.meta.resolve('./http-client.ts'))})
      const { cidrs } = await import(${JSON.stringify(import.meta.resolve('#config/settings/readers.ts'))})
      const allowPrivateTargets = cidrs('127.0.0.0/8')
      const http = createHttpClient({ allowPrivateTargets, dnsServers: null, isSandbox: false, extraCaFile: null })
      const request = { headers: {}, body: '', timeoutMs: 5000 }
      console.log(JSON.stringify(await http.post(${JSON.stringify(receiver.url)}, request)))
      http.close()`
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: at,
      http_proxy: at,
      HTTPS_PROXY: at,
      ALL_PROXY: at,
      NO_PROXY: '',
      no_proxy: '',
    }
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
    assert.strictEqual((JSON.parse(stdout) as HttpResult).ok, true)
    assert.strictEqual(isUsed, false)
    await new Promise((resolve) => proxy.close(resolve))
    await receiver.close()
  })
})
