/** The origin of hosted mail: its HTML is a customer's, so a host of its own serves it and nothing else. */
import { request } from 'node:http'
import { assert } from 'chai'
import { hostedMailHost, isServedByHost } from '#api/http/hosted-mail-origin.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { createLinks } from '#src/tracking/links.ts'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'

const HOSTED = 'http://hosted.example'
const SCRIPT = '<script>fetch("/api/v1")</script><form action="/u/x" method="post"><h1>Mail</h1>'

describe('the host of hosted mail', () => {
  const config = {
    publicUrl: 'https://api.example',
    trackingUrl: 'https://t.example',
    subscribeBaseUrl: 'https://api.example',
  }
  it('is of its own only if nothing else has it', () => {
    const hostOf = (hostedMailUrl: string | null): string | null => hostedMailHost({ ...config, hostedMailUrl })
    assert.strictEqual(hostOf(null), null)
    assert.strictEqual(hostOf('https://api.example'), null)
    assert.strictEqual(hostOf('https://t.example'), null)
    assert.strictEqual(hostOf('https://hosted.example'), 'hosted.example')
  })
  it('serves only hosted mail', () => {
    for (const path of ['/', '/api/v1/admin/notices', '/docs', '/u/x', '/c/x/y', '/vx', '//v/x', '/s/v/'])
      assert.ok(!isServedByHost('hosted.example', 'Hosted.example', path), path)
    assert.ok(isServedByHost('hosted.example', 'hosted.example', '/v/x'))
    assert.ok(isServedByHost('hosted.example', 'api.example', '/docs'))
    assert.ok(isServedByHost(null, 'hosted.example', '/docs'))
  })
})

describe('hosted mail', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ HOSTED_MAIL_URL: HOSTED })
  })
  after(() => api.stop())

  interface Answer {
    readonly status: number | undefined
    readonly location: string | undefined
    readonly policy: string
    readonly text: string
  }
  /** `fetch` does not send another Host. */
  function ask(path: string, host: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const { hostname, port } = new URL(api.url)
    request({ hostname, port, path, headers: { host, accept: 'text/html' } }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => {
        const { statusCode: status, headers } = response
        resolve({ status, location: headers.location, policy: String(headers['content-security-policy']), text })
      })
    })
      .on('error', reject)
      .end()
    return promise
  }
  async function viewPath(): Promise<string> {
    const { body } = await api.call('POST', '/send-email/async', {
      body: { from: `a@${api.domain}`, to: 'b@people.example', subject: 's', html: SCRIPT },
    })
    const encryption = createEncryption(Buffer.from('5a'.repeat(32), 'hex'))
    const links = createLinks({ encryption, config: { bounceDomain: 'b.example', hostedMailUrl: HOSTED } })
    const url = links.view({
      base: api.url,
      messageId: messageIdOf(textOf(body['email_id'])) ?? '',
      n: 0,
      workspaceId: api.workspaceId,
      senderId: api.domainId,
      contactId: null,
      audienceId: null,
    })
    assert.ok(url.startsWith(`${HOSTED}/v/`), url)
    return url.slice(HOSTED.length)
  }

  it('is shown on its own host, without scripts and forms, and every other host redirects there once', async () => {
    const path = await viewPath()
    const shown = await ask(path, 'hosted.example')
    assert.deepEqual([shown.status, shown.text.includes('<h1>Mail</h1>')], [200, true])
    assert.match(shown.policy, /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none';/)
    assert.match(shown.policy, /form-action 'none'/)
    assert.notMatch(shown.policy, /script-src|allow-scripts|allow-same-origin|allow-forms|allow-top-navigation/)
    for (const host of [new URL(api.url).host, 'track.customer.example']) {
      const elsewhere = await ask(path, host)
      assert.deepEqual([elsewhere.status, elsewhere.location], [302, `${HOSTED}${path}?hosted=1`])
      assert.ok(!elsewhere.text.includes('<h1>Mail'))
      assert.strictEqual((await ask(`${path}?hosted=1`, host)).status, 404)
    }
  })
  it('is all that its host serves', async () => {
    for (const path of ['/', '/docs', '/healthz', '/api/v1/integrations/verify', `/o/${'a'.repeat(62)}`])
      assert.strictEqual((await ask(path, 'hosted.example')).status, 404, path)
    assert.strictEqual((await ask('/healthz', new URL(api.url).host)).status, 200)
  })
})
