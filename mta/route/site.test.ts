import { assert } from 'chai'
import * as fc from 'fast-check'
import { siteOfHosts, siteOfNone, siteOfRoute } from './site.ts'

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
