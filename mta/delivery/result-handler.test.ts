import { assert } from 'chai'
import type { Attempt } from '#src/messages/outcome.ts'
import { ACCEPTED, attemptOf, claimedOf, deliveryOf, selectedSource, silentContext } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { createResultHandler } from './result-handler.ts'
import type { DeliveryResult } from './result-writer.ts'

describe('result handler', () => {
  interface Seen {
    readonly steps: string[]
    readonly written: DeliveryResult[]
    readonly heardBy: unknown[]
  }
  async function handle(attempt: Attempt, domain = 'a.example', selected = selectedSource()): Promise<Seen> {
    const seen: Seen = { steps: [], written: [], heardBy: [] }
    const handler = createResultHandler(silentContext(), {
      recordMetrics: () => seen.steps.push('metrics'),
      publishStatus: () => seen.steps.push('status'),
      replyEffects: {
        apply: (throttle) => {
          seen.steps.push('throttle')
          seen.heardBy.push(throttle)
        },
      },
      writer: {
        write: (result) => {
          seen.steps.push('write')
          seen.written.push(result)
          return Promise.resolve(true)
        },
      },
      journal: { record: () => seen.steps.push('journal'), settle: () => seen.steps.push('settle') },
    })
    await handler(deliveryOf(claimedOf({ domain }), selected), attempt)
    return seen
  }

  it('records metrics, applies the reply to the throttle, then writes', async () => {
    const { steps, written } = await handle(attemptOf(ACCEPTED))
    assert.deepEqual(steps, ['metrics', 'throttle', 'write', 'settle'])
    assert.strictEqual(written[0]?.transition.move, 'deliver')
  })
  it('publishes why mail is deferred', async () => {
    const { steps } = await handle(
      attemptOf({
        kind: 'deferred',
        scope: 'host',
        reason: 'unreachable',
        detail: 'connection refused',
        reply: null,
        isCounted: false,
      }),
    )
    assert.deepEqual(steps, ['metrics', 'status', 'throttle', 'write', 'settle'])
  })
  it('notes in the journal that the receiver may have a message before that is written', async () => {
    const { steps } = await handle(attemptOf({ kind: 'unknown', reason: 'lost-after-dot', detail: 'connection lost' }))
    assert.deepEqual(steps, ['metrics', 'throttle', 'journal', 'write', 'settle'])
  })
  it('applies the reply to the throttle of the source that was used', async () => {
    const [own, other] = [
      throttleWith({ share: { instant: 1, others: 1 } }),
      throttleWith({ share: { instant: 1, others: 1 } }),
    ]
    const selected = selectedSource({ source: 'out1', throttle: own, throttleOf: () => other })
    assert.deepEqual((await handle(attemptOf(ACCEPTED, { source: 'out1' }), 'a.example', selected)).heardBy, [own])
    assert.deepEqual((await handle(attemptOf(ACCEPTED, { source: 'out2' }), 'a.example', selected)).heardBy, [other])
  })
  it('applies no shaping rule to the reply of a connected account', async () => {
    const { steps } = await handle(attemptOf(ACCEPTED), 'account:7')
    assert.ok(!steps.includes('throttle'))
  })
  it('when the result cannot be written, rejects, and the journal keeps it', async () => {
    let isSettled = false
    const handler = createResultHandler(silentContext(), {
      recordMetrics: () => undefined,
      publishStatus: () => undefined,
      replyEffects: { apply: () => undefined },
      writer: { write: () => Promise.reject(new Error('PostgreSQL refused it')) },
      journal: { record: () => undefined, settle: () => void (isSettled = true) },
    })
    await assert.isRejected(handler(deliveryOf(), attemptOf()), /PostgreSQL refused it/)
    assert.isFalse(isSettled)
  })
})
