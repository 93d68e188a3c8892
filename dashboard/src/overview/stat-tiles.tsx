/** One tile for each figure: its value, its share, its course, and the change to the period before. */
import type { ReactNode } from 'react'
import type { StatisticsCounts } from '#dashboard/src/api/endpoints.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { formatPercent } from '#dashboard/src/ui/format.ts'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { useUiTexts } from '#dashboard/src/ui/ui-texts.ts'
import { changeOf, FIGURE_NAMES, seriesOf, shareOf, valueOf, type FigureName } from './figures.ts'
import { messageFilter } from './message-links.ts'
import type { Period } from '#dashboard/src/shared/period.ts'

export interface StatisticsRow {
  readonly start: string
  readonly counts: StatisticsCounts
}

interface StatTilesProps {
  readonly period: Period
  /** Undefined while they are loaded. */
  readonly rows: readonly StatisticsRow[] | undefined
  readonly totals: StatisticsCounts | undefined
  readonly before: StatisticsCounts | undefined
}

const TONES: Readonly<Record<FigureName, Tone>> = {
  sent: 'accent',
  delivered: 'success',
  deferred: 'warning',
  bounced: 'danger',
  complained: 'danger',
  opened: 'accent',
  clicked: 'accent',
  unsubscribed: 'warning',
}
/** Messages can be listed by their status; a mail that was opened keeps the status delivered. */
const STATUSES: Partial<Record<FigureName, string>> = {
  delivered: 'delivered',
  deferred: 'deferred',
  bounced: 'bounced',
}

export function StatTiles({ period, rows, totals, before }: StatTilesProps): ReactNode {
  const { overview } = useTexts()
  const { locale } = useUiTexts()
  const path = useWorkspacePath()
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {FIGURE_NAMES.map((name) => {
        const value = valueOf(name, totals)
        const share = shareOf(name, totals)
        const status = STATUSES[name]
        return (
          <StatTile
            key={name}
            label={overview.figures[name].label}
            value={rows === undefined ? null : <NumberText value={value} />}
            delta={changeOf(name, value, valueOf(name, before), locale)}
            hint={
              share === null ? overview.figures[name].hint : overview.figures[name].share(formatPercent(share, locale))
            }
            trend={rows === undefined ? period.starts.map(() => 0) : seriesOf(name, rows, period.starts)}
            trendTone={TONES[name]}
            href={status === undefined ? undefined : path('/messages', { status, ...messageFilter(period) })}
          />
        )
      })}
    </div>
  )
}
