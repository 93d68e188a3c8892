import { assert } from 'chai'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { SpanEnd, SpanStart, Tracer } from '#src/traces/tracer.ts'
import { ACCEPTED, attemptOf, claimedOf, deliveryOf } from '#test/support/delivery.ts'
import { claimWithSpans, deliverWithSpan, inStep, SMTP_STEP } from './delivery-span.ts'

const REFUSED: Outcome = {
  kind: 'bounced',
  scope: 'recipient',
  reason: 'no-such-user',
  isHard: true,
  detail: '550 5.1.1 unknown',
  reply: { code: 550, enhanced: '5.1.1', text: 'unknown', lines: ['550 5.1.1 unknown'] },
}

interface Recorded extends SpanStart {
  readonly parent: string
  readonly end?: SpanEnd | undefined
}

describe('the spans of a delivery', () => {
  let spans: Recorded[]
  let tracer: Tracer
  beforeEach(() => {
    spans = []
    tracer = {
      startTrace: () => null,
      startSpan: (span, parent) => {
        const at = spans.push({ ...span, parent }) - 1
        const end = (result?: SpanEnd): void => void (spans[at] = { ...span, parent, end: result })
        return { traceparent: `span ${at}`, end }
      },
      stop: () => Promise.resolve(),
    }
  })
  const traced = claimedOf({ traceparent: 'accepted' })
  const attempt =
    (outcome: Outcome, fields: Partial<Attempt> = {}) =>
    (): Promise<Attempt> =>
      Promise.resolve(attemptOf(outcome, fields))

  it('follow the span that accepted the message: the attempt, and within it each step', async () => {
    const delivery = deliveryOf(traced)
    await deliverWithSpan(tracer, delivery, () => inStep(delivery, SMTP_STEP, attempt(ACCEPTED)))
    assert.deepEqual(
      spans.map(({ name, parent }) => [name, parent]),
      [
        ['deliver normal', 'accepted'],
        ['SMTP', 'span 0'],
      ],
    )
  })

  it('are none where traces are off or this one is not recorded, and the delivery runs as it is', async () => {
    const untraced = deliveryOf(claimedOf())
    const run = (): Promise<Attempt | null> => inStep(untraced, SMTP_STEP, attempt(ACCEPTED))
    assert.strictEqual((await deliverWithSpan(tracer, untraced, run))?.outcome, ACCEPTED)
    assert.strictEqual((await deliverWithSpan(null, deliveryOf(traced), attempt(ACCEPTED)))?.outcome, ACCEPTED)
    assert.lengthOf(await claimWithSpans(null, () => Promise.resolve([traced])), 1)
    assert.deepEqual(spans, [])
  })

  it('of a claim are those of the recipients whose traces are recorded', async () => {
    const claimed = [traced, claimedOf()]
    assert.strictEqual(await claimWithSpans(tracer, () => Promise.resolve(claimed)), claimed)
    assert.deepEqual(
      spans.map(({ name, parent }) => [name, parent]),
      [['claim normal', 'accepted']],
    )
  })

  for (const [title, made, outcome, error] of [
    ['a delivery is no error', attemptOf(ACCEPTED), 'delivered', undefined],
    ['a bounce is an error, with what the receiver said', attemptOf(REFUSED), 'bounced', '550 5.1.1 unknown'],
    ['a recipient that is released is no error', null, 'released', undefined],
  ] as const)
    it(`say how the attempt ended: ${title}`, async () => {
      await deliverWithSpan(tracer, deliveryOf(traced), () => Promise.resolve(made))
      const [span] = spans
      assert.deepEqual([span?.end?.attributes?.['mailstead.outcome'], span?.end?.error], [outcome, error])
    })

  it('of SMTP have the host, the reply and the version of TLS', async () => {
    const delivery = { ...deliveryOf(traced), trace: { tracer, parent: 'attempt' } }
    await inStep(delivery, SMTP_STEP, attempt(REFUSED, { tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384, unverified' }))
    assert.include(spans[0]?.end?.attributes, {
      'server.address': 'mx1.a.example',
      'mailstead.smtp.reply_code': 550,
      'mailstead.smtp.enhanced_code': '5.1.1',
      'tls.established': true,
      'tls.protocol.version': '1.3',
      'tls.cipher': 'TLS_AES_256_GCM_SHA384',
    })
    await inStep(delivery, SMTP_STEP, attempt(ACCEPTED))
    assert.include(spans[1]?.end?.attributes, { 'tls.established': false })
  })

  it('end with the error of a delivery that throws', async () => {
    const failing = deliverWithSpan(tracer, deliveryOf(traced), () => Promise.reject(new Error('the socket broke')))
    await assert.isRejected(failing, 'the socket broke')
    assert.strictEqual(spans[0]?.end?.error, 'the socket broke')
  })
})
