import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, expect } from 'chai'
import { ConfigError, loadConfig } from './load.ts'
import { loadPlans, type Plans } from './plans.ts'
import { SETTINGS } from './schema.ts'

const WRONG: readonly [env: string, value: string, expected: RegExp][] = [
  ['MODE', 'production', /MODE must be one of sandbox, live/],
  ['HTTP_PORT', '70000', /HTTP_PORT must be a port/],
  ['HTTP_PORT', '-1', /HTTP_PORT must be a port/],
  ['HTTP_PORT', '80x', /HTTP_PORT must be a port/],
  ['PUBLIC_URL', 'mail.example.com', /PUBLIC_URL must be a URL/],
  ['PUBLIC_URL', 'ftp://x', /PUBLIC_URL must be a URL/],
  ['DEFAULT_PLAN', 'gold', /DEFAULT_PLAN must be one of free, launch/],
  ['RETRY_SCALE', '0', /RETRY_SCALE must be a number above 0/],
  ['RETRY_SCALE', 'fast', /RETRY_SCALE must be a number above 0/],
  ['LEASE_SECONDS', '-5', /LEASE_SECONDS must be a number of seconds/],
  ['DNS_SERVERS', 'dns.example.com', /DNS_SERVERS must be a comma-separated list of ip:port/],
  ['ALLOW_PRIVATE_TARGETS', '10.0.0.0/40', /ALLOW_PRIVATE_TARGETS must be a comma-separated list of networks/],
  ['ALLOW_PRIVATE_TARGETS', 'localhost', /ALLOW_PRIVATE_TARGETS must be a comma-separated list of networks/],
  ['ROUTES', 'example.com', /ROUTES must be a comma-separated list of domain=smtp/],
  ['ROUTES', '*=http://x', /ROUTES must be a comma-separated list of domain=smtp/],
  ['KEY_PREFIX', 'My_', /KEY_PREFIX must be 1 to 32 lower-case letters/],
  ['MAX_RECIPIENTS', '0', /MAX_RECIPIENTS must be a whole number/],
  ['TRUST_PROXY', 'perhaps', /TRUST_PROXY must be true, false, a number of proxies/],
]

const PUBLIC = 'mail.example.com'
const MODES: readonly [what: string, env: Record<string, string>, serverName: string, mode: 'sandbox' | 'real'][] = [
  ['nothing set', {}, 'mailstead.localhost', 'sandbox'],
  ['the host name of a container', { HOSTNAME: '3f2a9c1b7d4e' }, 'mailstead.localhost', 'sandbox'],
  ['a public name that a shell exports', { HOSTNAME: PUBLIC }, 'mailstead.localhost', 'sandbox'],
  ['a name of the server', { MAILSTEAD_HOSTNAME: PUBLIC }, 'mailstead.localhost', 'sandbox'],
  ['live', { MODE: 'live', MAILSTEAD_HOSTNAME: 'Mail.Example.com' }, PUBLIC, 'real'],
  [
    'live, beside a name of the shell',
    { MODE: 'live', MAILSTEAD_HOSTNAME: PUBLIC, HOSTNAME: 'a.b.com' },
    PUBLIC,
    'real',
  ],
  ['a transport map', { ROUTES: '*=smtp://127.0.0.1:2600' }, 'mailstead.localhost', 'real'],
  ['own resolvers', { DNS_SERVERS: '127.0.0.1:5353' }, 'mailstead.localhost', 'real'],
  ['own resolvers and a name', { DNS_SERVERS: '127.0.0.1:5353', MAILSTEAD_HOSTNAME: PUBLIC }, PUBLIC, 'real'],
  ['own resolvers and the old setting', { DNS_SERVERS: '127.0.0.1:5353', HOSTNAME: PUBLIC }, PUBLIC, 'real'],
  [
    'own resolvers and the name of this machine',
    { DNS_SERVERS: '127.0.0.1:5353', HOSTNAME: `${hostname()}.example.com` },
    'mailstead.localhost',
    'real',
  ],
  ['sandbox by order', { MODE: 'sandbox', DNS_SERVERS: '127.0.0.1:5353' }, 'mailstead.localhost', 'sandbox'],
]

describe('configuration', () => {
  for (const [env, value, expected] of WRONG)
    it(`rejects ${env}=${value}`, () => assert.throws(() => loadConfig({ [env]: value }), expected))

  it('lists every invalid setting in one error', () => {
    expect(() => loadConfig({ HTTP_PORT: 'x', RETRY_SCALE: 'y' }))
      .to.throw()
      .that.satisfies(
        (error: unknown) =>
          error instanceof ConfigError && /HTTP_PORT/.test(error.message) && /RETRY_SCALE/.test(error.message),
      )
  })
  it('uses the default of an empty variable', () => assert.strictEqual(loadConfig({ HTTP_PORT: ' ' }).httpPort, 3000))
  it('accepts every default', () => {
    for (const row of Object.values(SETTINGS))
      if (row.default !== null) expect(() => row.read(row.default ?? ''), row.env).not.to.throw()
  })

  it('reads lists', () => {
    const { routes, allowPrivateTargets, dnsServers } = loadConfig({
      ROUTES: 'a.example=smtp://10.0.0.1:2500, *=smtp://relay.example',
      ALLOW_PRIVATE_TARGETS: '10.0.0.0/8,::1',
      DNS_SERVERS: '127.0.0.1:53,[::1]:53',
    })
    assert.deepEqual(routes, [
      { domain: 'a.example', host: '10.0.0.1', port: 2500 },
      { domain: '*', host: 'relay.example', port: 25 },
    ])
    assert.deepEqual(
      allowPrivateTargets.map(([, bits]) => bits),
      [8, 128],
    )
    assert.deepEqual(dnsServers, ['127.0.0.1:53', '[::1]:53'])
  })

  it('reads a secret from a file', () => {
    const dir = mkdtempSync(join(tmpdir(), 'mailstead-config-'))
    try {
      writeFileSync(join(dir, 'key'), `${'ab'.repeat(32)}\n`)
      assert.strictEqual(loadConfig({ MASTER_KEY_FILE: join(dir, 'key') }).masterKey, 'ab'.repeat(32))
      assert.throws(() => loadConfig({ MASTER_KEY_FILE: join(dir, 'missing') }), /MASTER_KEY_FILE cannot be read/)
      const both = { MASTER_KEY_FILE: join(dir, 'key'), MASTER_KEY_COMMAND: 'kms' }
      assert.throws(() => loadConfig(both), /MASTER_KEY_COMMAND and MASTER_KEY .* are both set: remove one/)
      writeFileSync(join(dir, 'key'), '\n')
      assert.strictEqual(loadConfig(both).masterKey, null)
      assert.strictEqual(loadConfig(both).masterKeyCommand, 'kms')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  for (const [what, env, serverName, mode] of MODES)
    it(`${what}: ${mode} mail as ${serverName}`, () => {
      const config = loadConfig(env)
      assert.deepEqual([config.serverName, config.isSandbox], [serverName, mode === 'sandbox'])
    })
  it('needs a public name to be live, and names the value of the old setting', () => {
    assert.throws(() => loadConfig({ MODE: 'live' }), /MAILSTEAD_HOSTNAME must be the public name/)
    assert.throws(() => loadConfig({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.local' }), /such as mail\.example\.com/)
    assert.throws(
      () => loadConfig({ MODE: 'live', HOSTNAME: 'mx.acme.example' }),
      /such as mx\.acme\.example; HOSTNAME/,
    )
  })
  it('sends nothing to a route in a sandbox by order', () =>
    assert.deepEqual(loadConfig({ MODE: 'sandbox', ROUTES: '*=smtp://relay.example' }).routes, []))

  describe('plans', () => {
    let dir: string
    before(() => {
      dir = mkdtempSync(join(tmpdir(), 'mailstead-plans-'))
    })
    after(() => rmSync(dir, { recursive: true }))
    const load = (text: string): Plans => {
      writeFileSync(join(dir, 'plans.json'), text)
      return loadPlans(join(dir, 'plans.json'))
    }

    it('are replaced and added by a file', () => {
      const free = { monthlyQuota: 10, requestsPerSecond: null, isLaunch: false }
      const gold = { monthlyQuota: null, requestsPerSecond: 5, isLaunch: true }
      const plans = load(JSON.stringify({ free, gold }))
      assert.deepEqual(
        [plans['free']?.monthlyQuota, plans['gold']?.requestsPerSecond, plans['launch']?.isLaunch],
        [10, 5, true],
      )
    })
    const WRONG_PLANS: readonly (readonly [what: string, text: string, expected: RegExp])[] = [
      ['invalid JSON', '{', /PLANS_FILE cannot be read: .*JSON/],
      ['a list', '[]', /must be a JSON object with one plan per name/],
      ['a name in upper case', '{"Free":{}}', /Free: a plan name consists of/],
      [
        'missing fields',
        '{"free":{"monthlyQuota":10}}',
        /free\.requestsPerSecond: must be a number or null\n.*free\.isLaunch: must be true or false/,
      ],
      [
        'a negative quota',
        '{"free":{"monthlyQuota":-1,"requestsPerSecond":1,"isLaunch":true}}',
        /free\.monthlyQuota: must not be negative/,
      ],
      [
        'a quota that is a string',
        '{"free":{"monthlyQuota":"10","requestsPerSecond":1,"isLaunch":true}}',
        /free\.monthlyQuota: must be a whole number or null/,
      ],
      [
        'a rate of zero',
        '{"free":{"monthlyQuota":1,"requestsPerSecond":0,"isLaunch":true}}',
        /free\.requestsPerSecond: must be above 0/,
      ],
      [
        'an unknown field',
        '{"free":{"monthlyQuota":1,"requestsPerSecond":1,"isLaunch":true,"monthlyQouta":1}}',
        /free: .*monthlyQouta/,
      ],
    ]
    for (const [what, text, expected] of WRONG_PLANS)
      it(`rejects ${what} and names it`, () => assert.throws(() => load(text), expected))
    it('names a file that does not exist', () =>
      expect(() => loadPlans(join(dir, 'none.json'))).to.throw(ConfigError, /PLANS_FILE cannot be read: .*none\.json/))
  })
})
