/** Metrics from the observation to the text that Prometheus reads, and the page that documents them. */
import { assert } from 'chai'
import * as fc from 'fast-check'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { checkExposition } from '#test/support/exposition.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import { METRIC_NAMES, METRICS, rowOf, type MetricName } from './catalogue.ts'
import { removeMetrics, readMetrics, claimQueueReport, publishMetrics, publishQueueMetrics } from './metric-exchange.ts'
import { startProcessMetrics } from './process-metrics.ts'
import { createRegistry, single } from './registry.ts'
import { renderMetrics } from './exposition-format.ts'

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
      assert.match(name, /^(mailstead|process)_[a-z_]+$/)
      assert.strictEqual(type === 'counter', name.endsWith('_total'), name)
      assert.strictEqual(type === 'histogram', buckets !== undefined, name)
      assert.deepEqual(
        buckets,
        buckets?.toSorted((a, b) => a - b),
      )
      assert.ok(!labels.includes('process') && !labels.includes('le'))
    }
  })
  it('are still reported under their former names', () => {
    const snapshot = { mailstead_inbound_messages_total: [{ labels: ['bounce'], value: 7 }] }
    assert.deepEqual(renderMetrics([{ process: 'inbound@a', snapshot }]).split('\n'), [
      '# HELP mailstead_inbound_messages_total Messages accepted at the inbound port, by the kind of address.',
      '# TYPE mailstead_inbound_messages_total counter',
      'mailstead_inbound_messages_total{to="bounce",process="inbound@a"} 7',
      '# HELP mailstead_inbound_letters_total Renamed to mailstead_inbound_messages_total.',
      '# TYPE mailstead_inbound_letters_total counter',
      'mailstead_inbound_letters_total{to="bounce",process="inbound@a"} 7',
      '',
    ])
  })
  it('are well formed whatever is observed, and histograms add up', () => {
    const names = fc.constantFrom(...METRIC_NAMES)
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
              { process: 'a:b:1', snapshot: registry.snapshot() },
              { process: 'c', snapshot: registry.snapshot() },
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
  after(() => ctx.close())
  const processesSeenBy = async (self: string): Promise<unknown[]> =>
    (await readMetrics(ctx, self)).map(({ process }) => process)

  it('are collected from all other processes; those of the queue name no process', async () => {
    const one: Partial<Record<MetricName, never>> = {}
    await publishMetrics(ctx, 'a', { ...one, mailstead_redis_up: single(1) })
    await publishMetrics(ctx, 'b', { mailstead_redis_up: single(1) })
    await publishQueueMetrics(ctx.redis, { mailstead_webhook_backlog: single(3) })
    assert.deepEqual(
      [await processesSeenBy('a'), await processesSeenBy('b'), await processesSeenBy('c')],
      [
        [null, 'b'],
        [null, 'a'],
        [null, 'a', 'b'],
      ],
    )
    await removeMetrics(ctx.redis, 'b')
    assert.deepEqual(await processesSeenBy('c'), [null, 'a'])
  })
  it('ignore data of another version and invalid data', async () => {
    await ctx.redis.mset(
      'mailstead:{metrics}:a',
      '{"unknown_total":[{"labels":[],"value":1}]}',
      'mailstead:{metrics}:queue',
      'no JSON',
    )
    assert.strictEqual(renderMetrics(await readMetrics(ctx, 'c')).trim(), '')
  })
  it('only one worker at a time reports the queue', async () => {
    assert.deepEqual(
      [await claimQueueReport(ctx.redis, 60_000), await claimQueueReport(ctx.redis, 60_000)],
      [true, false],
    )
  })
  it('a process reports itself until it ends', async () => {
    await ctx.db.measureClock()
    const metrics = startProcessMetrics(ctx, 'test')
    const families = checkExposition(renderMetrics([{ process: metrics.process, snapshot: metrics.snapshot() }]))
    assert.deepEqual(
      [...families.keys()],
      METRIC_NAMES.filter((name) => rowOf(name).by === 'all'),
    )
    await publishMetrics(ctx, metrics.process, metrics.snapshot())
    assert.ok((await processesSeenBy('c')).includes(metrics.process))
    await metrics.stop()
    assert.ok(!(await processesSeenBy('c')).includes(metrics.process))
  })
})
