/** Metrics from the observation to the text that Prometheus reads, and the page that documents them. */
import { assert } from 'chai'
import * as fc from 'fast-check'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { tmpdir } from 'node:os'
import { createContext, type TestContext } from '#test/support/context.ts'
import { checkExposition } from '#test/support/exposition.ts'
import { until } from '#test/support/until.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import { METRIC_NAMES, METRICS, rowOf, type MetricName } from './catalogue.ts'
import {
  claimQueueReport,
  createMetricPublisher,
  endSilentProcesses,
  type MetricPublisher,
  publishQueueMetrics,
  readMetrics,
} from './metric-exchange.ts'
import { startProcessMetrics } from './process-metrics.ts'
import { createRegistry, single, type MetricSnapshot } from './registry.ts'
import { renderMetrics, type ReportedSnapshot } from './exposition-format.ts'

describe('metrics', () => {
  it('are documented in docs/reference/metrics.md', () => {
    const rows = METRIC_NAMES.map((name) => {
      const { type, labels, help, by, formerly } = rowOf(name)
      const meaning = formerly === undefined ? help : `${help} Formerly ${code(formerly)}, which is still reported.`
      return [code(name), type, labels.map(code).join(', '), meaning, by]
    })
    checkSection(
      'reference/metrics.md',
      'metrics',
      markdownTable(['Name', 'Type', 'Labels', 'Meaning', 'Process'], rows),
    )
  })
  it('follow the naming conventions of Prometheus', () => {
    for (const name of METRIC_NAMES) {
      const { type, labels, buckets } = rowOf(name)
      assert.match(name, /^(mailstead|process|nodejs)_[a-z0-9_]+$/)
      assert.strictEqual(type === 'counter', name.endsWith('_total'), name)
      assert.strictEqual(type === 'histogram', buckets !== undefined, name)
      assert.deepEqual(
        buckets,
        buckets?.toSorted((a, b) => a - b),
      )
      for (const reserved of ['role', 'node', 'le'])
        assert.ok(!labels.includes(reserved) || (name === 'mailstead_node_silent_seconds' && reserved === 'node'))
    }
  })
  it('are still reported under their former names', () => {
    const snapshot = { mailstead_inbound_messages_total: [{ labels: ['bounce'], value: 7 }] }
    assert.deepEqual(renderMetrics([{ owner: { role: 'inbound', node: 'a' }, snapshot }]).split('\n'), [
      '# HELP mailstead_inbound_messages_total Messages accepted at the inbound port, by the kind of address.',
      '# TYPE mailstead_inbound_messages_total counter',
      'mailstead_inbound_messages_total{to="bounce",role="inbound",node="a"} 7',
      '# HELP mailstead_inbound_letters_total Renamed to mailstead_inbound_messages_total.',
      '# TYPE mailstead_inbound_letters_total counter',
      'mailstead_inbound_letters_total{to="bounce",role="inbound",node="a"} 7',
      '',
    ])
  })
  it('are well formed whatever is observed, and histograms add up', () => {
    // those of the whole installation have no owner
    const names = fc.constantFrom(...METRIC_NAMES.filter((name) => rowOf(name).by !== 'queue'))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(names, fc.string({ unit: 'binary' }), fc.double({ min: 0, max: 1e6, noNaN: true })), {
          maxLength: 60,
        }),
        (seen) => {
          const registry = createRegistry()
          for (const [name, label, value] of seen) {
            const { labels, type } = rowOf(name)
            const values = labels.map(() => label)
            if (type === 'histogram') registry.observe(name, values, value)
            else registry.add(name, values, value)
          }
          const families = checkExposition(
            renderMetrics([
              { owner: { role: 'a', node: 'b' }, snapshot: registry.snapshot() },
              { owner: { role: 'a', node: 'c' }, snapshot: registry.snapshot() },
            ]),
          )
          const reported = seen.flatMap(([name]) => [name, rowOf(name).formerly ?? name])
          assert.deepEqual(new Set(families.keys()), new Set<string>(reported))
        },
      ),
    )
  })
  it('count an observation in the first bucket that includes it', () => {
    const registry = createRegistry()
    const { buckets } = METRICS.mailstead_delivery_seconds
    for (const bound of buckets) registry.observe('mailstead_delivery_seconds', ['bulk'], bound)
    registry.observe('mailstead_delivery_seconds', ['bulk'], 1e9)
    assert.deepEqual(
      registry.snapshot().mailstead_delivery_seconds?.[0]?.counts,
      [...buckets, 0].map(() => 1),
    )
  })
})

describe('metrics of several processes', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  beforeEach(() => ctx.redis.flushall())
  after(() => ctx.close())

  const counted = (value: number): MetricSnapshot => ({
    mailstead_accept_messages_total: single(value),
    mailstead_processes: single(1),
  })
  /** `role on node: messages/processes`, or `queue`. */
  const describeAll = (reported: readonly ReportedSnapshot[]): string[] =>
    reported.map(({ owner, snapshot }) => {
      const of = (name: MetricName): number | undefined => snapshot[name]?.[0]?.value
      if (owner === null) return 'queue'
      const { role, node } = owner
      return `${role} on ${node}: ${of('mailstead_accept_messages_total')}/${of('mailstead_processes') ?? 0}`
    })
  const readAll = async (): Promise<string[]> => describeAll(await readMetrics(ctx))
  const publisherOf = (role: string, node: string): MetricPublisher => createMetricPublisher(ctx, { role, node })

  it('are collected from all processes, one series for a role on a node; those of the queue name neither', async () => {
    await publisherOf('api', 'a').publish(counted(1))
    await publisherOf('api', 'a').publish(counted(2))
    await publisherOf('api', 'b').publish(counted(4))
    await publishQueueMetrics(ctx.redis, { mailstead_webhook_backlog: single(3) })
    assert.sameMembers(await readAll(), ['queue', 'api on a: 3/2', 'api on b: 4/1'])
  })
  it('keep the counters of a process that ends, and continue with those of the next', async () => {
    const first = publisherOf('api', 'a')
    await first.publish(counted(5))
    await first.end(counted(7))
    assert.deepEqual(await readAll(), ['api on a: 7/0'])
    const second = publisherOf('api', 'a')
    await second.publish(counted(1))
    assert.deepEqual(await readAll(), ['api on a: 8/1'])
    await second.end(counted(2))
    assert.deepEqual(await readAll(), ['api on a: 9/0'])
  })
  it('add the counters of many processes that end at once', async () => {
    const ending = Array.from({ length: 4 }, () => publisherOf('api', 'a'))
    await Promise.all(ending.map((one) => one.publish(counted(1))))
    await Promise.all(ending.map((one) => one.end(counted(2))))
    ctx.advance(120_000)
    await endSilentProcesses(ctx)
    assert.deepEqual(await readAll(), ['api on a: 8/0'])
  })
  it('keep the counters of a process that is killed, and count nothing twice if it was only silent', async () => {
    const silent = publisherOf('api', 'a')
    await silent.publish(counted(5))
    await endSilentProcesses(ctx)
    assert.deepEqual(await readAll(), ['api on a: 5/1'])
    ctx.advance(30_000)
    assert.deepEqual(await readAll(), ['api on a: 5/0'], 'its gauges end first')
    ctx.advance(60_000)
    await endSilentProcesses(ctx)
    await endSilentProcesses(ctx)
    assert.deepEqual(await readAll(), ['api on a: 5/0'])
    await silent.publish(counted(6))
    assert.deepEqual(await readAll(), ['api on a: 6/1'])
    await silent.publish(counted(8))
    assert.deepEqual(await readAll(), ['api on a: 8/1'])
  })
  it('are deleted a day after the last process of a role on a node ended', async () => {
    await publisherOf('api', 'old-pod').end(counted(5))
    await publisherOf('api', 'a').end(counted(1))
    ctx.advance(20 * 3_600_000)
    await publisherOf('api', 'a').end(counted(1))
    await endSilentProcesses(ctx)
    assert.lengthOf(await readAll(), 2)
    ctx.advance(5 * 3_600_000)
    await endSilentProcesses(ctx)
    assert.deepEqual(await readAll(), ['api on a: 2/0'])
  })
  it('start at 0 after a loss of Redis', async () => {
    const one = publisherOf('api', 'a')
    await one.publish(counted(5))
    await ctx.redis.flushall()
    await one.publish(counted(6))
    assert.deepEqual(await readAll(), ['api on a: 1/1'])
  })
  it('never fall at any of several apis, while processes end and die', async () => {
    const apis = [publisherOf('api', 'a'), publisherOf('api', 'b')]
    let written = 0
    let last = 0
    const scrape = async (api: MetricPublisher): Promise<void> => {
      const all = describeAll(await api.read(counted(0)))
      const sum = all.reduce((total, text) => total + Number(/: (\d+)\//.exec(text)?.[1] ?? 0), 0)
      assert.ok(sum >= last && sum <= written, `${last} <= ${sum} <= ${written}: ${all.join('; ')}`)
      last = sum
    }
    for (let i = 0; i < 10; i++) {
      const process = publisherOf('worker', `n${i % 2}`)
      written += 2
      await process.publish(counted(2))
      await scrape(apis[i % 2] as MetricPublisher)
      written += 1
      const ending =
        i % 3 === 0 ? Promise.resolve(ctx.advance(61_000)).then(() => endSilentProcesses(ctx)) : process.end(counted(3))
      if (i % 3 === 0) written -= 1
      await Promise.all([ending, ...apis.map((api) => api.publish(counted(0)))])
      for (const api of apis) await scrape(api)
    }
    assert.strictEqual(last, written)
  })
  it('have series of a bounded number of sites, the latest', async () => {
    for (const process of ['a', 'b']) {
      const series = Array.from({ length: 90 }, (_, i) => ({ labels: [`${process}${i}`, 'delivered'], value: 1 }))
      await publisherOf('outbound', 'n').end({ mailstead_site_attempts_total: series })
    }
    const sites = (await readMetrics(ctx))[0]?.snapshot.mailstead_site_attempts_total?.map(({ labels: [site] }) => site)
    assert.strictEqual(sites?.length, METRICS.mailstead_site_attempts_total.maxNames)
    assert.strictEqual(sites.filter((site) => site?.startsWith('b')).length, 90)
  })
  it('ignore data of another version and invalid data', async () => {
    await ctx.redis.hset('mailstead:{metrics}:running', 'a', '{"snapshot":{"unknown_total":[{"labels":[],"value":1}]}}')
    await ctx.redis.hset('mailstead:{metrics}:running', 'b', 'no JSON')
    await ctx.redis.set('mailstead:{metrics}:queue', 'no JSON')
    const owned = { role: 'api', node: 'n', at: ctx.clock.now() }
    const invalid = [
      [],
      { ...owned },
      { ...owned, snapshot: [] },
      { snapshot: {} },
      { ...owned, at: 'now', snapshot: {} },
    ]
    for (const [i, report] of invalid.entries())
      for (const key of ['running', 'totals'])
        await ctx.redis.hset(`mailstead:{metrics}:${key}`, `invalid ${i}`, JSON.stringify(report))
    const series = { mailstead_processes: 5, mailstead_accept_messages_total: [null, { value: 1 }, { labels: [] }] }
    await ctx.redis.hset('mailstead:{metrics}:running', 'c', JSON.stringify({ ...owned, snapshot: series }))
    assert.strictEqual(renderMetrics(await readMetrics(ctx)).trim(), '')
    await endSilentProcesses(ctx)
    assert.deepEqual(await ctx.redis.hkeys('mailstead:{metrics}:running'), ['c'])
    assert.deepEqual(await ctx.redis.hkeys('mailstead:{metrics}:totals'), [])
  })
  it('only one worker at a time reports the queue', async () => {
    assert.deepEqual(
      [await claimQueueReport(ctx.redis, 60_000), await claimQueueReport(ctx.redis, 60_000)],
      [true, false],
    )
  })
  it('a process reports itself until it ends', async () => {
    await ctx.db.measureClock()
    const metrics = startProcessMetrics({ ...ctx, config: { ...ctx.config, dataDir: tmpdir() } }, 'test')
    const expected = METRIC_NAMES.filter((name) => rowOf(name).by === 'all')
    await until(
      async () => {
        const families = checkExposition(renderMetrics(await readMetrics(ctx)))
        return expected.every((name) => families.has(name))
      },
      () => JSON.stringify(metrics.snapshot()),
    )
    await metrics.stop()
    const left = checkExposition(renderMetrics(await readMetrics(ctx)))
    assert.sameMembers(
      [...left.keys()],
      expected.filter((name) => rowOf(name).type !== 'gauge'),
    )
  })
  it('repeat the counters of others while Redis is away, without their gauges', async () => {
    await publisherOf('worker', 'a').publish(counted(5))
    await publisherOf('api', 'b').end(counted(3))
    const api = publisherOf('api', 'b')
    assert.sameMembers(describeAll(await api.read(counted(1))), ['worker on a: 5/1', 'api on b: 4/1'])
    await ctx.redisServer.crash()
    await until(() => Promise.resolve(ctx.redis.status !== 'ready'))
    assert.sameMembers(describeAll(await api.read(counted(2))), ['worker on a: 5/0', 'api on b: 5/1'])
  })
})
