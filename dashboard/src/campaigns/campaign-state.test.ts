import { assert } from 'chai'
import { actionsOf, progressOf, type CampaignStatus, type Metrics } from './campaign-state.ts'

const NONE = Object.fromEntries(
  [
    'recipients waiting dispatched delivered opened clicked bounced bounced_hard bounced_soft failed complained',
    'unsubscribed suppressed skipped cancelled machine_opened machine_clicked',
  ]
    .join(' ')
    .split(' ')
    .map((name) => [name, 0]),
) as unknown as Metrics

describe('dashboard: state of campaigns', () => {
  const ACTIONS: readonly [CampaignStatus, Partial<Metrics>, string][] = [
    ['DRAFT', {}, 'edit remove'],
    ['SCHEDULED', {}, 'start recall cancel'],
    ['SENDING', {}, 'pause cancel'],
    ['PAUSED', {}, 'resume cancel'],
    ['SENT', {}, 'pause cancel'],
    ['COMPLETED', {}, ''],
    ['COMPLETED', { delivered: 1 }, 'follow-up'],
    ['COMPLETED', { delivered: 1, bounced_soft: 1 }, 'retry follow-up'],
    ['COMPLETED', { bounced_hard: 1 }, ''],
    ['COMPLETED', { failed: 2 }, 'retry'],
    ['FAILED', { failed: 2 }, ''],
    ['CANCELLED', { delivered: 2 }, ''],
  ]
  for (const [status, metrics, expected] of ACTIONS)
    it(`${status} with ${JSON.stringify(metrics)} permits: ${expected}`, () => {
      assert.strictEqual(actionsOf({ status, metrics: { ...NONE, ...metrics } }).join(' '), expected)
    })

  const PROGRESS: readonly [CampaignStatus, Partial<Metrics>, number | null][] = [
    ['DRAFT', { recipients: 4 }, null],
    ['SENDING', { recipients: 4, waiting: 3 }, 0.25],
    ['SENDING', {}, null],
    ['PAUSED', { recipients: 2, waiting: 1 }, 0.5],
    ['COMPLETED', { recipients: 2 }, null],
  ]
  for (const [status, metrics, expected] of PROGRESS)
    it(`${status} with ${JSON.stringify(metrics)} is at ${expected}`, () => {
      assert.strictEqual(progressOf({ status, metrics: { ...NONE, ...metrics } }), expected)
    })
})
