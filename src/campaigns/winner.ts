/**
 * Chooses the winner of an A/B test: the variant with the higher click rate among delivered messages, then the higher
 * open rate. Machine opens and clicks do not count.
 */
import type { CampaignStatistics, CampaignCounts, Variant } from './statistics.ts'

const CRITERIA = ['clicked', 'opened'] as const

/** Variant `a` if both are equal. */
export function chooseWinner({ variants: { a, b } }: CampaignStatistics): Variant {
  for (const criterion of CRITERIA) {
    const [first, second] = [share(a, criterion), share(b, criterion)]
    if (first !== second) return first > second ? 'a' : 'b'
  }
  return 'a'
}

function share(counts: CampaignCounts, criterion: (typeof CRITERIA)[number]): number {
  return counts.delivered === 0 ? 0 : counts[criterion] / counts.delivered
}
