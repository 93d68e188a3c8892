import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'

const PATH = '/public/workspace/tracking'

describe('tracking settings of a workspace', () => {
  let api: TestApi
  let dns: TestDns
  /** A proxy in front of the api. */
  let front: Server
  let isFrontOurs = true
  before(async () => {
    front = createServer((req, res) => {
      if (isFrontOurs)
        void fetch(`${api.url}${req.url}`).then(async (answer) => res.writeHead(answer.status).end(await answer.text()))
      else res.end('somebody else')
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    dns = await startDns({})
    const { port } = front.address() as AddressInfo
    api = await startApi({
      TRACKING_URL: `http://app.op.example:${port}/x`,
      DNS_SERVERS: dns.server,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    })
  })
  after(async () => {
    await api.stop()
    await dns.stop()
    front.close()
  })
  beforeEach(() => {
    isFrontOurs = true
  })

  const get = async (): Promise<Json> => (await api.call('GET', PATH, { key: api.admin })).body['data'] as Json
  const change = (body: unknown): Promise<TestResponse> => api.call('PATCH', PATH, { key: api.admin, body })

  it('have the default of each kind of mail until they are changed', async () => {
    const shared = api.config.trackingUrl
    assert.match(shared, /^http:\/\/app\.op\.example:\d+$/)
    assert.deepEqual(await get(), {
      track_opens: null,
      track_clicks: null,
      privacy: 'full',
      reply_to: null,
      tracking_domain: null,
      tracking_url: shared,
    })
    const { status, body } = await change({
      track_opens: true,
      trackClicks: false,
      privacy: 'truncated',
      reply_to: 'help@x.example',
    })
    assert.deepEqual(
      [status, body['data']],
      [
        200,
        {
          track_opens: true,
          track_clicks: false,
          privacy: 'truncated',
          reply_to: 'help@x.example',
          tracking_domain: null,
          tracking_url: shared,
        },
      ],
    )
    assert.strictEqual((await change({ track_opens: null, reply_to: null })).status, 200)
    assert.deepEqual(await get(), { ...body['data'], track_opens: null, reply_to: null })
    assert.strictEqual((await change({})).status, 200)
  })
  for (const [what, body, path] of [
    ['a string as a flag', { track_opens: 'yes' }, 'track_opens'],
    ['another privacy', { privacy: 'half' }, 'privacy'],
    ['an invalid address', { reply_to: 'x' }, 'reply_to'],
    ['an invalid domain', { tracking_domain: 5 }, 'tracking_domain'],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const { status, body: said } = await change(body)
      assert.deepEqual([status, said['error'], listOf(said['details'])[0]?.['path']], [400, 'VALIDATION_ERROR', path])
    })
  }
  it('require the scope', async () => {
    assert.strictEqual((await api.call('GET', PATH)).status, 403)
    assert.strictEqual((await api.call('GET', PATH, { key: null })).status, 401)
  })

  describe('a tracking host name', () => {
    const setDomain = (columns: string): Promise<unknown> =>
      api.db.query(`UPDATE domains SET ${columns} WHERE id = $1`, [api.domainId])
    const refusal = async (body: unknown): Promise<string> => {
      const answer = await change(body)
      return `${answer.status}, ${JSON.stringify(answer.body['details'])}`
    }
    it('needs a verified domain, its tracking record and a request that reaches this service', async () => {
      const name = `track.${api.domain}`
      const { port } = new URL(api.config.trackingUrl)
      assert.match(await refusal({ tracking_domain: api.domain }), /^400,.*was not found in the last check/)
      await setDomain(`tracking_status = 'verified'`)
      assert.match(await refusal({ tracking_domain: api.domain }), /^400,.*cannot be reached/)
      dns.zone[name] = { A: ['127.0.0.1'] }
      isFrontOurs = false
      assert.match(await refusal({ tracking_domain: api.domainId }), /^400,.*does not lead to this service/)
      isFrontOurs = true
      const { status, body } = await change({ tracking_domain: api.domain })
      assert.deepEqual(
        [status, body['data']?.['tracking_domain'], body['data']?.['tracking_url']],
        [200, api.domain, `http://${name}:${port}`],
      )
      await setDomain(`tracking_status = 'failed'`)
      assert.strictEqual((await get())['tracking_url'], api.config.trackingUrl)
      await setDomain(`tracking_status = 'verified', verification_status = 'pending'`)
      assert.match(await refusal({ tracking_domain: api.domain }), /^400,.*is not verified/)
      assert.strictEqual((await change({ tracking_domain: null })).body['data']?.['tracking_domain'], null)
    })
    it('of an unknown domain or another workspace is 404', async () => {
      const other = await api.addTenant()
      for (const domain of ['nowhere.example', newId(), other.domain, other.domainId])
        assert.strictEqual((await change({ tracking_domain: domain })).status, 404)
    })
    it('a proxy can check whether a host is one', async () => {
      await setDomain(`tracking_status = 'verified', verification_status = 'verified'`)
      const ask = async (host: string): Promise<number> =>
        (await api.call('GET', `//tracking-name?domain=${host}`, { key: null })).status
      assert.strictEqual(await ask(`TRACK.${api.domain}`), 200)
      for (const host of [api.domain, `x.${api.domain}`, 'track.evil.example', ''])
        assert.strictEqual(await ask(host), 404)
    })
  })
})
