/** The figures of the overview: which counters each sums, which way is good, and its change to the period before. */
import type { StatisticsCounts } from '#dashboard/src/api/endpoints.ts'
import { formatPercent } from '#dashboard/src/ui/format.ts'
import type { StatDelta } from '#dashboard/src/ui/stat-tile.tsx'

type Counter = keyof StatisticsCounts

interface FigureRow {
  readonly counters: readonly Counter[]
  /** What it is a share of. */
  readonly of: Counter | null
  /** null: neither more nor less is better. */
  readonly isMoreBetter: boolean | null
}

export const FIGURES = {
  sent: { counters: ['sent'], of: null, isMoreBetter: null },
  delivered: { counters: ['delivered'], of: 'sent', isMoreBetter: true },
  deferred: { counters: ['deferred'], of: null, isMoreBetter: false },
  bounced: { counters: ['bounced_hard', 'bounced_soft'], of: 'sent', isMoreBetter: false },
  complained: { counters: ['complained'], of: 'delivered', isMoreBetter: false },
  opened: { counters: ['opened_unique'], of: 'delivered', isMoreBetter: true },
  clicked: { counters: ['clicked_unique'], of: 'delivered', isMoreBetter: true },
  unsubscribed: { counters: ['unsubscribed'], of: 'delivered', isMoreBetter: false },
} as const satisfies Record<string, FigureRow>

export type FigureName = keyof typeof FIGURES
export const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[]
export const FIGURE_COUNTERS = [...new Set(FIGURE_NAMES.flatMap((name) => FIGURES[name].counters))].join(',')

export function valueOf(name: FigureName, counts: StatisticsCounts | undefined): number {
  return FIGURES[name].counters.reduce((sum, counter) => sum + (counts?.[counter] ?? 0), 0)
}

/** Null if there is nothing to divide by, or it is no share. */
export function shareOf(name: FigureName, counts: StatisticsCounts | undefined): number | null {
  const { of } = FIGURES[name]
  const whole = of === null ? 0 : (counts?.[of] ?? 0)
  return whole === 0 ? null : Math.min(1, valueOf(name, counts) / whole)
}

/** Undefined if there was nothing before: no number says how much more that is. */
export function changeOf(name: FigureName, now: number, before: number, locale: string): StatDelta | undefined {
  if (before === 0) return undefined
  const change = (now - before) / before
  const direction = change === 0 ? 'flat' : change > 0 ? 'up' : 'down'
  const { isMoreBetter } = FIGURES[name]
  const isGood = direction === 'up' ? isMoreBetter : isMoreBetter === null ? null : !isMoreBetter
  const tone = direction === 'flat' || isGood === null ? 'neutral' : isGood ? 'success' : 'danger'
  return { direction, text: formatPercent(Math.abs(change), locale), tone }
}

/** One value for each interval: one without events is a zero, not a gap. */
export function seriesOf(
  name: FigureName,
  rows: readonly { readonly start: string; readonly counts: StatisticsCounts }[],
  starts: readonly string[],
): number[] {
  const byStart = new Map(rows.map((row) => [Date.parse(row.start), row.counts]))
  return starts.map((start) => valueOf(name, byStart.get(Date.parse(start))))
}
