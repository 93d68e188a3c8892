/** Which side of a test won: the one with more clicks of those who got it, then with more opens; machines do not count. */
import type { CampaignFigures, Figures, Variant } from './statistics.ts'

const MEASURES = ['clicked', 'opened'] as const

/** The first where nothing tells them apart. */
export function chooseWinner({ variants: { a, b } }: CampaignFigures): Variant {
  for (const measure of MEASURES) {
    const [first, second] = [share(a, measure), share(b, measure)]
    if (first !== second) return first > second ? 'a' : 'b'
  }
  return 'a'
}

function share(figures: Figures, measure: (typeof MEASURES)[number]): number {
  return figures.delivered === 0 ? 0 : figures[measure] / figures.delivered
}
