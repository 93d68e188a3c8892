import { assert } from 'chai'
import * as fc from 'fast-check'
import { routes } from '#config/settings/readers.ts'
import { openLog } from '#src/platform/log.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { createResolver, type Resolver } from './resolve.ts'
import {
  createRouter,
  siteOfHosts,
  siteOfNone,
  siteOfRoute,
  type Route,
  type Router,
  type RouterOptions,
} from './route.ts'

const ZONE: Zone = {
  'plain.example': {
    MX: [
      [20, 'mx2.plain.example'],
      [10, 'MX1.plain.example'],
    ],
  },
  'shared.example': {
    MX: [
      [5, 'mx1.plain.example'],
      [5, 'mx2.plain.example'],
    ],
  },
  'alias.example': { CNAME: 'plain.example' },
  'implicit.example': { A: ['198.41.0.4'] },
  'implicit6.example': { AAAA: ['2001:503:ba3e::2:30'] },
  'implicit-half.example': { A: ['198.41.0.4'], fault: { AAAA: 'servfail' } },
  'null.example': { MX: [[0, '.']], A: ['198.41.0.4'] },
  'null-and-more.example': {
    MX: [
      [0, '.'],
      [10, 'mx1.plain.example'],
    ],
  },
  'literal.example': { MX: [[10, '198.41.0.4']], A: ['198.41.0.4'] },
  'localhost.example': { MX: [[10, 'localhost']] },
  'empty.example': { TXT: ['v=spf1 -all'] },
  'loop.example': {
    MX: [
      [10, 'mail.us.example'],
      [20, 'mx1.plain.example'],
    ],
  },
  'backup.example': {
    MX: [
      [10, 'mx1.plain.example'],
      [20, 'mail.us.example'],
      [30, 'mx2.plain.example'],
    ],
  },
  'mail.us.example': { A: ['198.41.0.4'] },
  'denied-mx.example': { A: ['198.41.0.4'], fault: { MX: 'nxdomain' } },
  'servfail.example': { fault: 'servfail' },
  'silent.example': { fault: 'silence' },
  'half-dead.example': { fault: { A: 'servfail' } },
  'cname-mx.example': { MX: [[10, 'cname.example']] },
}

const log = openLog({ logLevel: 'silent' }, 'test')

function tell(route: Route): string {
  if (route.kind === 'hosts')
    return `${route.site} ${route.hosts.map(({ name, preference, port }) => `${preference}:${name}:${port}`).join(' ')}`
  return route.kind === 'refused'
    ? `${route.site} ${route.status} ${route.text}`
    : `${route.site} ${route.reason} ${route.text}`
}

describe('router', () => {
  let dns: TestDns
  const open: Resolver[] = []

  function router(change: Partial<RouterOptions['config']> = {}): Router {
    const config = {
      routes: [],
      serverName: 'mail.us.example',
      smtpOutPort: 25,
      captureDomain: 'capture.us.example',
      sandboxSmtpPort: 2552,
      ...change,
    }
    const resolver = createResolver({
      config: { dnsServers: [dns.server], dnsMxCacheSeconds: 300 },
      clock: { now: () => 0 },
      timeoutMs: 200,
    })
    open.push(resolver)
    return createRouter({ config, resolver, log, random: () => 0.5 })
  }

  before(async () => {
    dns = await startDns(ZONE)
  })
  after(() => dns.stop())
  afterEach(() => open.splice(0).forEach((resolver) => resolver.stop()))

  const PLAIN_SITE = 'plain.example~2fba8637c4f1cf47'
  const ROWS: readonly (readonly [domain: string, expected: string])[] = [
    ['plain.example', `${PLAIN_SITE} 10:mx1.plain.example:25 20:mx2.plain.example:25`],
    ['alias.example', `${PLAIN_SITE} 10:mx1.plain.example:25 20:mx2.plain.example:25`],
    ['implicit.example', 'implicit.example 0:implicit.example:25'],
    ['implicit6.example', 'implicit6.example 0:implicit6.example:25'],
    ['implicit-half.example', 'implicit-half.example 0:implicit-half.example:25'],
    ['null-and-more.example', 'mx1.plain.example 10:mx1.plain.example:25'],
    ['backup.example', 'mx1.plain.example 10:mx1.plain.example:25'],
    ['denied-mx.example', 'denied-mx.example 0:denied-mx.example:25'],
    ['cname-mx.example', 'cname.example 10:cname.example:25'],
    ['null.example', 'none:null.example 5.1.10 null.example takes no mail (null MX)'],
    ['gone.example', 'none:gone.example 5.1.2 gone.example does not exist'],
    ['empty.example', 'none:empty.example 5.4.4 empty.example has no host that takes mail'],
    [
      'literal.example',
      'none:literal.example 5.4.4 literal.example has no host that takes mail: ' +
        '"198.41.0.4" is an IP address, not a name',
    ],
    [
      'localhost.example',
      'none:localhost.example 5.4.4 localhost.example has no host that takes mail: "localhost" is the local machine',
    ],
    ['loop.example', 'none:loop.example 5.4.6 loop.example leads back to this server'],
    ['mail.us.example', 'none:mail.us.example 5.4.6 mail.us.example leads back to this server'],
    ['servfail.example', 'none:servfail.example dns MX of servfail.example: SERVFAIL'],
    ['half-dead.example', 'none:half-dead.example dns address of half-dead.example: SERVFAIL'],
  ]
  for (const [domain, expected] of ROWS) {
    it(domain, async () => assert.strictEqual(tell(await router().route(domain)), expected))
  }

  it('DNS without an answer is temporary', async () => {
    const route = await router().route('silent.example')
    assert.strictEqual(route.kind, 'unknown')
  })

  it('domains with the same hosts have one site, whatever the preferences', async () => {
    const [one, other] = await Promise.all([router().route('plain.example'), router().route('shared.example')])
    assert.strictEqual(one.site, other.site)
  })

  it('the transport map comes first: the domain, then *', async () => {
    const mapped = router({ routes: routes('plain.example=smtp://relay.example:2525, *=smtp://[::1]:1025') })
    assert.strictEqual(tell(await mapped.route('plain.example')), 'route:relay.example:2525 0:relay.example:2525')
    assert.strictEqual(tell(await mapped.route('sub.plain.example')), 'route:::1:1025 0:::1:1025')
    assert.strictEqual(tell(await mapped.route('null.example')), 'route:::1:1025 0:::1:1025')
    const partly = router({ routes: routes('plain.example=smtp://relay.example') })
    assert.strictEqual(tell(await partly.route('implicit.example')), 'implicit.example 0:implicit.example:25')
  })

  it('uses the port of the settings', async () => {
    assert.strictEqual(
      tell(await router({ smtpOutPort: 2552 }).route('implicit.example')),
      'implicit.example 0:implicit.example:2552',
    )
  })
})

const GOOGLE = ['aspmx.l.google.com', 'alt1.aspmx.l.google.com', 'alt2.aspmx.l.google.com']

describe('site keys', () => {
  const ROWS: readonly (readonly [what: string, site: string, expected: string | RegExp])[] = [
    ['one host is named by itself', siteOfHosts(['MX.Example.com']), 'mx.example.com'],
    ['several hosts by what they share', siteOfHosts(GOOGLE), /^aspmx\.l\.google\.com~[0-9a-f]{16}$/],
    ['hosts that share a domain', siteOfHosts(['mx1.example.org', 'mx2.example.org']), /^example\.org~[0-9a-f]{16}$/],
    ['hosts that share a top-level domain only', siteOfHosts(['mx.a.com', 'mx.b.com']), /^mx~[0-9a-f]{16}$/],
    ['hosts that share nothing', siteOfHosts(['mx.a.com', 'mx.b.net']), /^mx~[0-9a-f]{16}$/],
    ['a long name by its hash', siteOfHosts([`${'a'.repeat(60)}.${'b'.repeat(60)}.example`]), /^mx~[0-9a-f]{16}$/],
    ['a target of the transport map by host and port', siteOfRoute('Relay.Example', 2525), 'route:relay.example:2525'],
    ['an IPv6 target', siteOfRoute('::1', 25), 'route:::1:25'],
    ['a domain without a host by itself', siteOfNone('Nowhere.Example'), 'none:nowhere.example'],
  ]
  for (const [what, site, expected] of ROWS) {
    it(what, () => (typeof expected === 'string' ? assert.strictEqual(site, expected) : assert.match(site, expected)))
  }

  it('is the same for the same set of hosts, in any order and case, and another for any other set', () => {
    const names = fc.uniqueArray(fc.domain(), { minLength: 1, maxLength: 6, selector: (name) => name.toLowerCase() })
    fc.assert(
      fc.property(names, names, (one, other) => {
        const site = siteOfHosts(one)
        assert.strictEqual(siteOfHosts(one.toReversed().map((name) => name.toUpperCase())), site)
        assert.strictEqual(siteOfHosts([...one, ...one]), site)
        assert.match(site, /^[a-z0-9._~-]{1,120}$/)
        const isSame =
          [...one]
            .map((name) => name.toLowerCase())
            .toSorted()
            .join() ===
          [...other]
            .map((name) => name.toLowerCase())
            .toSorted()
            .join()
        assert.strictEqual(siteOfHosts(other) === site, isSame)
      }),
    )
  })
})
