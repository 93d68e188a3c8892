import { assert } from 'chai'
import * as fc from 'fast-check'
import { createRegistry } from '#src/metrics/registry.ts'
import { createOutboundMetrics, createSiteNames } from './outbound-metrics.ts'

describe('outbound metrics', () => {
  it('a site gets its own series after some attempts, and keeps it', () => {
    const nameOf = createSiteNames()
    const names = Array.from({ length: 25 }, () => nameOf('mx.example'))
    assert.deepEqual([names.indexOf('mx.example'), names.filter((name) => name === 'other').length], [19, 19])
    assert.strictEqual(nameOf(null), 'other')
  })
  it('only a bounded number of sites gets a series, and a series never disappears', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 300 }), (sites) => {
        const nameOf = createSiteNames()
        const named = new Set<string>()
        for (const _ of Array.from({ length: 25 }))
          for (const site of sites) {
            const name = nameOf(`s${site}`)
            assert.ok(name === 'other' ? !named.has(`s${site}`) : name === `s${site}`)
            if (name !== 'other') named.add(name)
          }
        assert.ok(named.size <= 100)
        assert.strictEqual(named.size, Math.min(100, new Set(sites).size))
      }),
      { numRuns: 20 },
    )
  })
  it('counts outcomes by tier and site, and the time to the 250', () => {
    const registry = createRegistry()
    const state = { sessions: 3, waiting: 2, source: null }
    const sites = [
      { site: 'a', state },
      { site: 'b', state: { ...state, source: 'out1' } },
      { site: 'b', state: { ...state, source: 'out2' } },
    ] as never
    const load = { sites: () => sites, unwrittenResults: () => 7, isJournalFailing: () => true }
    const measures = createOutboundMetrics(registry, load)
    const attempt = { outcome: { kind: 'delivered' }, durationMs: 200, source: 'out1' } as never
    measures.record({ tier: 'instant', beganAt: new Date(10_000) }, attempt, 'a', 10_700)
    measures.record(
      { tier: 'bulk', beganAt: new Date(10_000) },
      { outcome: { kind: 'deferred' }, durationMs: 50, source: null } as never,
      null,
      10_700,
    )
    const metrics = registry.snapshot()
    assert.deepEqual(
      metrics.mailstead_attempts_total?.map(({ labels, value }) => [...labels, value]),
      [
        ['instant', 'delivered', 1],
        ['bulk', 'deferred', 1],
      ],
    )
    const [delivery, ...others] = metrics.mailstead_delivery_seconds ?? []
    assert.deepEqual(
      [delivery?.labels, delivery?.value, delivery?.counts?.findIndex((n) => n === 1), others.length],
      [['instant'], 0.7, 3, 0],
    )
    const gauges = [
      metrics.mailstead_outbound_sessions,
      metrics.mailstead_outbound_waiting,
      metrics.mailstead_outbound_sites,
      metrics.mailstead_outbound_unwritten_results,
      metrics.mailstead_outbound_journal_failing,
    ]
    assert.deepEqual(
      gauges.map((series) => series?.[0]?.value),
      [9, 6, 2, 7, 1],
    )
    const bySource = [metrics.mailstead_source_sessions, metrics.mailstead_source_attempts_total]
    assert.deepEqual(
      bySource.map((series) => series?.map(({ labels, value }) => [...labels, value])),
      [
        [
          ['out1', 3],
          ['out2', 3],
        ],
        [['out1', 'delivered', 1]],
      ],
    )
  })
  const COUNTED: readonly (readonly [outcome: object, tls: string | null, counted: string])[] = [
    [{ kind: 'delivered' }, 'TLSv1.3 AES, certificate verified', 'deliveries_total TLSv1.3'],
    [{ kind: 'relayed' }, null, 'deliveries_total none'],
    [{ kind: 'bounced', reason: 'no-such-user', isHard: true }, null, 'bounces_total no-such-user hard smtp'],
    [{ kind: 'bounced', reason: 'mailbox-full', isHard: false }, null, 'bounces_total mailbox-full soft smtp'],
    [{ kind: 'deferred', reason: 'greylisted' }, null, 'deferrals_total greylisted'],
    [{ kind: 'deferred', reason: 'dns' }, null, 'deferrals_total dns, dns_failures_total'],
    [{ kind: 'suppressed' }, null, 'suppressed_recipients_total sending'],
    [{ kind: 'unknown' }, null, ''],
  ]
  for (const [outcome, tls, counted] of COUNTED) {
    it(`counts ${JSON.stringify(outcome)} as ${counted || 'an attempt only'}`, () => {
      const registry = createRegistry()
      const load = { sites: () => [], unwrittenResults: () => 0, isJournalFailing: () => false }
      const metrics = createOutboundMetrics(registry, load)
      const attempt = { outcome, durationMs: 1, source: null, tls } as never
      metrics.record({ tier: 'bulk', beganAt: new Date(0) }, attempt, 'a', 1)
      metrics.stop()
      const names = Object.entries(registry.snapshot()).flatMap(([name, series]) =>
        series
          .filter(({ value }) => value > 0)
          .map(({ labels }) => [name.replace('mailstead_', ''), ...labels].join(' ')),
      )
      const attempts = /attempts_total|attempt_seconds|delivery_seconds/
      assert.strictEqual(names.filter((name) => !attempts.test(name)).join(', '), counted)
    })
  }
})
