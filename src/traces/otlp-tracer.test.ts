/** A collector that never answers: the spans that wait are bounded, and the others are dropped. */
import { assert } from 'chai'
import { pino } from 'pino'
import { startOtlpReceiver, type OtlpReceiver } from '#test/support/otlp-receiver.ts'
import { createOtlpTracer } from './otlp-tracer.ts'

const SPANS = 20_000
/** maxQueueSize, and one batch that is being exported. */
const MOST = 4096 + 512

describe('the export of spans', () => {
  let collector: OtlpReceiver
  before(async () => {
    collector = await startOtlpReceiver()
  })
  after(() => collector.close())

  it('keeps a bounded number of spans while the collector does not answer', async () => {
    const held: (() => void)[] = []
    collector.setResponse((response) => void held.push(() => response.writeHead(200).end('{}')))
    const tracer = createOtlpTracer(
      {
        config: {
          otlpEndpoint: collector.url,
          otlpHeaders: {},
          tracesSampler: 'traceidratio',
          traceRatio: 1,
          traceResource: {},
          logAddressKey: null,
          nodeName: 'test',
        },
        log: pino({ level: 'silent' }),
      },
      'test',
      collector.url,
    )
    for (let i = 0; i < SPANS; i++) tracer.startTrace({ name: `span ${i}`, kind: 'internal' }, null)?.end()
    await collector.received(1, () => true)
    for (let i = 0; i < SPANS; i++) tracer.startTrace({ name: `more ${i}`, kind: 'internal' }, null)?.end()
    collector.setResponse((response) => void response.writeHead(200).end('{}'))
    for (const answer of held) answer()
    await tracer.stop()
    assert.isAtMost(collector.spans.length, 2 * MOST)
    assert.isAbove(collector.spans.length, 0)
  })
})
