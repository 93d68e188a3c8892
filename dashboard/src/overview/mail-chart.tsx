/** The course of the period: what became of the mail, or what its readers did. */
import type { ReactNode } from 'react'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { TimeSeriesChart, type ChartSeries } from '#dashboard/src/ui/time-series-chart.tsx'
import { seriesOf, type FigureName } from './figures.ts'
import type { Period } from '#dashboard/src/shared/period.ts'
import type { StatisticsRow } from './stat-tiles.tsx'

interface MailChartProps {
  readonly period: Period
  readonly rows: readonly StatisticsRow[] | undefined
}

const HEIGHT = 260
const CHARTS = ['delivery', 'readers'] as const
type Chart = (typeof CHARTS)[number]
const SERIES: Readonly<Record<Chart, readonly (readonly [FigureName, ChartSeries['color']])[]>> = {
  delivery: [
    ['delivered', 2],
    ['deferred', 3],
    ['bounced', 4],
  ],
  readers: [
    ['opened', 1],
    ['clicked', 2],
    ['unsubscribed', 3],
    ['complained', 4],
  ],
}

export function MailChart({ period, rows }: MailChartProps): ReactNode {
  const { overview } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const chart = CHARTS.find((one) => one === search['chart']) ?? 'delivery'
  return (
    <Section
      title={overview.charts[chart].title}
      description={overview.charts[chart].text}
      actions={
        <SegmentedControl
          label={overview.chart}
          value={chart}
          onChange={(value) => changeSearch({ chart: value === 'delivery' ? undefined : value })}
          segments={CHARTS.map((value) => ({ value, label: overview.charts[value].label }))}
        />
      }
    >
      <Card>
        {rows === undefined ? (
          <div style={{ height: HEIGHT + 36 }}>
            <Skeleton className="h-full w-full" />
          </div>
        ) : (
          <TimeSeriesChart
            label={overview.charts[chart].title}
            kind={chart === 'delivery' ? 'stacked-bars' : 'line'}
            height={HEIGHT}
            times={period.starts}
            series={SERIES[chart].map(([name, color]) => ({
              key: name,
              label: overview.figures[name].label,
              values: seriesOf(name, rows, period.starts),
              color,
            }))}
          />
        )}
      </Card>
    </Section>
  )
}
