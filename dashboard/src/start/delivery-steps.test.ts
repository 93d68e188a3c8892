import { assert } from 'chai'
import { deliverySteps, isOver, lastReply, type SentMessage } from './delivery-steps.ts'

const AT = '2026-11-26T10:00:00.000Z'

function message(
  status: SentMessage['status'],
  types: readonly string[] = [],
  data: Record<string, unknown> | null = null,
): SentMessage {
  const events = types.map((type, sequence) => ({
    id: `evt_${sequence}`,
    type,
    sequence,
    recipient: 'ann@example.com',
    timestamp: `2026-11-26T10:00:0${sequence + 1}.000Z`,
    data,
  }))
  return { status, events, created_at: AT }
}

describe('dashboard: the way of a test mail', () => {
  const cases: [string, SentMessage, string][] = [
    ['accepted', message('queued'), 'done current waiting'],
    ['being sent', message('sending', ['email.queued']), 'done current waiting'],
    ['deferred', message('deferred', ['email.queued', 'email.deferred']), 'done current waiting'],
    ['handed over', message('sent', ['email.queued', 'email.sent']), 'done done current'],
    ['delivered', message('delivered', ['email.queued', 'email.sent', 'email.delivered']), 'done done done'],
    ['delivered, without the events of before', message('delivered'), 'done done done'],
    ['captured', message('captured', ['email.queued']), 'done done done'],
    ['refused at once', message('bounced', ['email.queued', 'email.bounced']), 'done failed waiting'],
    ['refused later', message('bounced', ['email.queued', 'email.sent', 'email.bounced']), 'done done failed'],
    ['suppressed', message('suppressed'), 'done failed waiting'],
  ]
  for (const [name, given, expected] of cases)
    it(name, () => {
      assert.strictEqual(
        deliverySteps(given)
          .map(({ state }) => state)
          .join(' '),
        expected,
      )
    })

  it('each step has its time', () => {
    const steps = deliverySteps(message('delivered', ['email.sent', 'email.delivered']))
    assert.deepEqual(
      steps.map(({ at }) => at),
      [AT, '2026-11-26T10:00:01.000Z', '2026-11-26T10:00:02.000Z'],
    )
  })

  it('says what the receiver said while it waits or after it failed, and nothing after success', () => {
    const said = { reply: ' 450 4.2.1 busy ' }
    assert.strictEqual(lastReply(message('deferred', ['email.deferred'], said)), '450 4.2.1 busy')
    assert.isNull(lastReply(message('delivered', ['email.deferred'], said)))
    assert.isNull(lastReply(message('failed', ['email.failed'], { reply: 4 })))
  })

  it('knows when nothing more happens', () => {
    assert.isTrue(isOver('delivered'))
    assert.isTrue(isOver('bounced'))
    assert.isFalse(isOver('sent'))
    assert.isFalse(isOver('deferred'))
  })
})
