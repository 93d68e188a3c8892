import { assert } from 'chai'
import { changeOf, FIGURE_COUNTERS, seriesOf, shareOf, valueOf } from './figures.ts'

describe('dashboard: figures of the overview', () => {
  it('sums its counters, and an absent one is zero', () => {
    assert.strictEqual(valueOf('bounced', { bounced_hard: 2, bounced_soft: 3 }), 5)
    assert.strictEqual(valueOf('opened', {}), 0)
    assert.strictEqual(valueOf('sent', undefined), 0)
  })

  it('a share needs something to divide by', () => {
    assert.strictEqual(shareOf('delivered', { sent: 8, delivered: 6 }), 0.75)
    assert.strictEqual(shareOf('delivered', { sent: 1, delivered: 2 }), 1)
    assert.isNull(shareOf('delivered', { delivered: 2 }))
    assert.isNull(shareOf('sent', { sent: 2 }))
  })

  const changes: [string, Parameters<typeof changeOf>, object | undefined][] = [
    ['nothing before', ['sent', 5, 0, 'en'], undefined],
    ['more delivered is good', ['delivered', 12, 10, 'en'], { direction: 'up', text: '20%', tone: 'success' }],
    ['more bounced is bad', ['bounced', 12, 10, 'en'], { direction: 'up', text: '20%', tone: 'danger' }],
    ['fewer bounced is good', ['bounced', 5, 10, 'en'], { direction: 'down', text: '50%', tone: 'success' }],
    ['more sent is neither', ['sent', 12, 10, 'en'], { direction: 'up', text: '20%', tone: 'neutral' }],
    ['fewer sent is neither', ['sent', 5, 10, 'en'], { direction: 'down', text: '50%', tone: 'neutral' }],
    ['the same', ['clicked', 10, 10, 'en'], { direction: 'flat', text: '0%', tone: 'neutral' }],
  ]
  for (const [name, given, expected] of changes)
    it(`change: ${name}`, () => {
      assert.deepEqual(changeOf(...given), expected as never)
    })

  it('an interval without events is a zero', () => {
    const starts = ['2026-11-25T00:00:00.000Z', '2026-11-26T00:00:00.000Z']
    const rows = [{ start: '2026-11-26T00:00:00Z', counts: { sent: 4 } }]
    assert.deepEqual(seriesOf('sent', rows, starts), [0, 4])
  })

  it('asks for each counter once', () => {
    assert.strictEqual(
      FIGURE_COUNTERS,
      'sent,delivered,deferred,bounced_hard,bounced_soft,complained,opened_unique,clicked_unique,unsubscribed',
    )
  })
})
