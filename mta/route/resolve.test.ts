import { assert } from 'chai'
import type { TimedDnsAnswer } from '#src/net/dns-answer.ts'
import { startDns, type TestDns, type DnsFault, type Zone } from '#test/support/dns.ts'
import { createLookupCache, createResolver, type Resolver } from './resolve.ts'

const MX = [[10, 'mx.a.example']] as const
const ZONE: Zone = {
  'a.example': { MX, A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'], ttl: 100 },
  'alias.example': { CNAME: 'a.example' },
  'dangling.example': { CNAME: 'gone.example' },
  'round.example': { CNAME: 'round.example' },
  'empty.example': {},
  'large.example': {
    MX: Array.from({ length: 60 }, (_, i) => [i, `a-rather-long-name-of-a-host-${i}.example`] as const),
  },
}

describe('resolver', () => {
  let dns: TestDns
  let now = 0
  const open: Resolver[] = []
  const ask = (servers = [dns.server], timeoutMs = 150, atOnce = 100): Resolver => {
    const resolver = createResolver({
      config: { dnsServers: servers, dnsMxCacheSeconds: 300 },
      clock: { now: () => now },
      timeoutMs,
      maxConcurrent: atOnce,
    })
    open.push(resolver)
    return resolver
  }

  beforeEach(async () => {
    dns = await startDns({ ...ZONE })
  })
  afterEach(async () => {
    open.splice(0).forEach((resolver) => resolver.stop())
    await dns.stop()
  })

  it('finds MX and addresses', async () => {
    const resolver = ask()
    assert.deepEqual(await resolver.mx('a.example'), {
      kind: 'found',
      records: [{ exchange: 'mx.a.example', priority: 10 }],
    })
    assert.deepEqual(await resolver.ipv4('a.example'), { kind: 'found', records: ['192.0.2.1', '192.0.2.2'] })
    assert.deepEqual(await resolver.ipv6('a.example'), { kind: 'found', records: ['2001:db8::1'] })
  })

  it('follows a CNAME', async () => {
    assert.strictEqual((await ask().mx('alias.example')).kind, 'found')
    assert.deepEqual(await ask().ipv4('alias.example'), { kind: 'found', records: ['192.0.2.1', '192.0.2.2'] })
  })

  it('distinguishes a name without records from a missing name', async () => {
    assert.deepEqual(await ask().mx('empty.example'), { kind: 'nothing', isName: true })
    assert.deepEqual(await ask().mx('gone.example'), { kind: 'nothing', isName: false })
    assert.deepEqual(await ask().ipv4('dangling.example'), { kind: 'nothing', isName: false })
    assert.deepEqual(await ask().mx(`${'x'.repeat(64)}.example`), { kind: 'nothing', isName: false })
    assert.deepEqual(await ask().mx('a..example'), { kind: 'nothing', isName: false })
  })

  it('repeats a query over TCP when the answer was truncated', async () => {
    const found = await ask().mx('large.example')
    assert.strictEqual(found.kind === 'found' && found.records.length, 60)
    assert.deepEqual(
      dns.queries.map(({ via }) => via),
      ['udp', 'tcp'],
    )
    dns.zone['a.example'] = { MX, fault: 'truncate' }
    assert.strictEqual((await ask().mx('a.example')).kind, 'found')
  })

  const TROUBLES: readonly (readonly [DnsFault, string])[] = [
    ['servfail', 'SERVFAIL'],
    ['refused', 'REFUSED'],
    ['silence', 'no answer in time'],
    ['wrong-id', 'no answer in time'],
    ['wrong-question', 'no answer in time'],
  ]
  for (const [fault, text] of TROUBLES) {
    it(`${fault} is a failure after two tries, never an answer`, async () => {
      dns.zone['a.example'] = { MX, fault }
      assert.deepEqual(await ask().mx('a.example'), { kind: 'failed', text })
      assert.strictEqual(dns.queries.length, 2)
    })
  }

  it('an unreachable server is a failure', async () => {
    const gone = await startDns({})
    await gone.stop()
    const failed = await ask([gone.server]).mx('a.example')
    assert.strictEqual(failed.kind, 'failed')
  })

  it('queries the next server when one does not answer or fails, and stays with the one that answers', async () => {
    for (const fault of ['silence', 'servfail', 'refused'] as const) {
      const bad = await startDns({ '*': { fault } })
      const resolver = ask([bad.server, dns.server])
      assert.strictEqual((await resolver.mx('a.example')).kind, 'found', fault)
      assert.strictEqual((await resolver.ipv4('a.example')).kind, 'found', fault)
      assert.strictEqual(bad.queries.length, 1, fault)
      await bad.stop()
    }
  })

  it('a denial by one server ends the search', async () => {
    const denying = await startDns({})
    assert.deepEqual(await ask([denying.server, dns.server]).mx('a.example'), { kind: 'nothing', isName: false })
    await denying.stop()
  })

  it('queries a name once until its cached answer expires', async () => {
    const resolver = ask()
    await Promise.all(Array.from({ length: 50 }, () => resolver.mx('a.example')))
    await resolver.mx('a.example')
    assert.strictEqual(dns.queries.length, 1)
    now += 99_000
    await resolver.mx('a.example')
    assert.strictEqual(dns.queries.length, 1)
    now += 1000
    await resolver.mx('a.example')
    assert.strictEqual(dns.queries.length, 2)
  })

  it('caches MX records for their TTL, at most for the setting', async () => {
    dns.zone['long.example'] = { MX, ttl: 86_400 }
    const resolver = ask()
    await resolver.mx('long.example')
    now += 299_000
    await resolver.mx('long.example')
    assert.strictEqual(dns.queries.length, 1)
    now += 1000
    await resolver.mx('long.example')
    assert.strictEqual(dns.queries.length, 2)
  })

  it('waits the whole time for a slow answer while other answers are fast', async () => {
    dns.zone['*'] = { MX }
    dns.zone['slow.example'] = { MX, delayMs: 800 }
    const resolver = ask([dns.server], 10_000)
    for (let i = 0; i < 20; i++) await resolver.mx(`before${i}.example`)
    let isSlow = true
    const slow = resolver.mx('slow.example').finally(() => (isSlow = false))
    for (let i = 0; isSlow; i++) await resolver.mx(`beside${i}.example`)
    assert.strictEqual((await slow).kind, 'found')
    assert.strictEqual(dns.queries.filter(({ name }) => name === 'slow.example').length, 1)
  })

  it('caches addresses for their TTL', async () => {
    const resolver = ask()
    await resolver.ipv4('a.example')
    now += 99_000
    await resolver.ipv4('a.example')
    assert.strictEqual(dns.queries.length, 1)
    now += 1000
    await resolver.ipv4('a.example')
    assert.strictEqual(dns.queries.length, 2)
  })

  it('caches a failure for a short time only', async () => {
    const resolver = ask()
    dns.zone['a.example'] = { MX, fault: 'servfail' }
    assert.strictEqual((await resolver.mx('a.example')).kind, 'failed')
    dns.zone['a.example'] = { MX }
    now += 5000
    assert.strictEqual((await resolver.mx('a.example')).kind, 'found')
  })

  it('bounds the concurrent queries', async () => {
    dns.zone['*'] = { delayMs: 10, MX }
    const resolver = ask([dns.server], 10_000, 3)
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => resolver.mx(`d${i}.example`)))
    assert.strictEqual(dns.maxConcurrent(), 3)
    assert.deepEqual(
      all.map(({ kind }) => kind),
      Array.from({ length: 10 }, () => 'found'),
    )
  })

  it('fails queries immediately when stopped', async () => {
    const silent = await startDns({ '*': { fault: 'silence' } })
    const resolver = ask([silent.server], 60_000)
    const pending = resolver.mx('a.example')
    setTimeout(() => resolver.stop(), 20)
    assert.strictEqual((await pending).kind, 'failed')
    await silent.stop()
  })

  it('resolves names from the hosts file', async () => {
    const found = await ask().system('localhost')
    assert.ok(found.kind === 'found' && found.records.some((address) => address === '127.0.0.1' || address === '::1'))
    assert.strictEqual((await ask().system('no-such-host.invalid')).kind === 'found', false)
  })
})

const found = (ttlSeconds: number | null): TimedDnsAnswer<string> => ({
  kind: 'found',
  records: ['192.0.2.1'],
  ttlSeconds,
})
const FAILED: TimedDnsAnswer<string> = { kind: 'failed', text: 'SERVFAIL' }

/** For how many whole seconds an answer is seconds, by trying. */
async function secondsKept(answers: readonly TimedDnsAnswer<string>[]): Promise<number[]> {
  let now = 0
  let asked = 0
  const look = createLookupCache({
    clock: { now: () => now },
    ask: () => Promise.resolve(answers[asked++] ?? FAILED),
  })
  const seconds: number[] = []
  for (let since = 0; seconds.length < answers.length; now += 1000) {
    const before = asked
    await look('a.example')
    if (asked > before && before > 0) seconds.push((now - since) / 1000)
    if (asked > before) since = now
  }
  return seconds
}

describe('lookup cache', () => {
  const ROWS: readonly (readonly [what: string, answer: TimedDnsAnswer<string>, seconds: number])[] = [
    ['as long as the TTL says', found(600), 600],
    ['30 s at least', found(0), 30],
    ['an hour at most', found(86_400), 3600],
    ['30 s where there is no TTL', found(null), 30],
    ['a minute where there is no record', { kind: 'nothing', isName: true }, 60],
    ['a minute where there is no name', { kind: 'nothing', isName: false }, 60],
    ['5 s after a failure', FAILED, 5],
  ]
  for (const [what, answer, seconds] of ROWS) {
    it(`caches an answer: ${what}`, async () => assert.deepEqual(await secondsKept([answer]), [seconds]))
  }

  it('caches each failure in a row longer, 30 s at most, and restarts after an answer', async () => {
    assert.deepEqual(
      await secondsKept([FAILED, FAILED, FAILED, FAILED, FAILED, found(30), FAILED]),
      [5, 10, 20, 30, 30, 30, 5],
    )
  })

  it('concurrent lookups of a name share one query', async () => {
    let asked = 0
    const gate = Promise.withResolvers<TimedDnsAnswer<string>>()
    const look = createLookupCache({ clock: { now: () => 0 }, ask: () => (asked++, gate.promise) })
    const all = Promise.all([look('a.example'), look('a.example'), look('b.example')])
    gate.resolve(found(60))
    const [one, other] = await all
    assert.strictEqual(asked, 2)
    assert.strictEqual(one, other)
  })

  it('recovers after a query that throws', async () => {
    let asked = 0
    const look = createLookupCache({
      clock: { now: () => 0 },
      ask: () => (asked++ === 0 ? Promise.reject(new Error('bug')) : Promise.resolve(found(60))),
    })
    await assert.isRejected(look('a.example'), /bug/)
    assert.strictEqual((await look('a.example')).kind, 'found')
  })

  it('evicts the least recently used entry when it is full', async () => {
    const asked: string[] = []
    const look = createLookupCache({
      clock: { now: () => 0 },
      max: 2,
      ask: (name) => (asked.push(name), Promise.resolve(found(60))),
    })
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await look(name)
    assert.deepEqual(asked, ['a', 'b', 'c', 'b'])
  })
})
