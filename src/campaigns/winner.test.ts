import { assert } from 'chai'
import { CAMPAIGN_COUNTERS, type CampaignStatistics, type CampaignCounts } from './statistics.ts'
import { chooseWinner } from './winner.ts'

const figures = (given: Partial<CampaignCounts>): CampaignCounts =>
  ({ ...Object.fromEntries(CAMPAIGN_COUNTERS.map((name) => [name, 0])), ...given }) as CampaignCounts
const CASES: readonly (readonly [
  why: string,
  a: Partial<CampaignCounts>,
  b: Partial<CampaignCounts>,
  winner: 'a' | 'b',
])[] = [
  ['no deliveries', {}, {}, 'a'],
  ['more clicks', { delivered: 10, clicked: 1, opened: 9 }, { delivered: 10, clicked: 2 }, 'b'],
  ['a higher click rate of delivered messages', { delivered: 5, clicked: 2 }, { delivered: 50, clicked: 3 }, 'a'],
  ['equal clicks, more opens', { delivered: 10, clicked: 1, opened: 2 }, { delivered: 10, clicked: 1, opened: 3 }, 'b'],
  ['machine opens and clicks only', { delivered: 10 }, { delivered: 10, machine_opened: 9, machine_clicked: 9 }, 'a'],
]

describe('the winner of an A/B test', () => {
  for (const [why, a, b, winner] of CASES)
    it(`${why}: ${winner}`, () => {
      const counted: CampaignStatistics = { all: figures({}), variants: { a: figures(a), b: figures(b) } }
      assert.strictEqual(chooseWinner(counted), winner)
    })
})
