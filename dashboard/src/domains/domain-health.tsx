/** How the mail of a domain does: counts and shares, by day in the zone of the reader. */
import { useMemo, type ReactNode } from 'react'
import { getStatistics, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { periodUntil, ZONE } from '#dashboard/src/shared/period.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { TimeSeriesChart } from '#dashboard/src/ui/time-series-chart.tsx'
import { completeDays, rateOf, sumCounts } from './health-series.ts'

const PERIODS = ['7', '30', '90'] as const

export function DomainHealth({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const days = PERIODS.find((one) => one === search['days']) ?? '30'
  const period = useMemo(() => periodUntil(new Date(), `${days}d`), [days])
  const query = useApi(
    getStatistics,
    { query: { from: period.from, interval: 'day', timezone: ZONE, group_by: 'domain', value: domain.domain } },
    { keepsPrevious: true },
  )
  const rows = query.data?.data.rows
  return (
    <Section
      title={domains.health}
      description={domains.healthText(ZONE)}
      actions={
        <SegmentedControl
          label={domains.period}
          value={days}
          onChange={(value) => changeSearch({ days: value })}
          segments={PERIODS.map((value) => ({ value, label: domains.days(Number(value)) }))}
        />
      }
    >
      {query.error !== null && <FailedQuery query={query} title={domains.healthNotLoaded} />}
      {query.isPending && <Skeleton className="h-96 w-full" />}
      {rows?.length === 0 && <EmptyState title={domains.noMail} text={domains.noMailText} />}
      {rows !== undefined && rows.length > 0 && <HealthFigures rows={rows} starts={period.starts} />}
    </Section>
  )
}

type Rows = Parameters<typeof completeDays>[0]

function HealthFigures(props: { readonly rows: Rows; readonly starts: readonly string[] }): ReactNode {
  const { domains } = useTexts()
  const series = completeDays(props.rows, props.starts)
  const total = sumCounts(props.rows.map(({ counts }) => counts))
  const times = series.map(({ start }) => start)
  const bounced = total.bounced_hard + total.bounced_soft
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
        <StatTile label={domains.sent} value={<NumberText value={total.sent} />} />
        <StatTile
          label={domains.delivered}
          value={<Percent share={rateOf(total.delivered, total.delivered + bounced)} />}
        />
        <StatTile
          label={domains.bounced}
          value={<Percent share={rateOf(total.bounced_hard, total.delivered + bounced)} />}
          hint={domains.bouncedHint}
        />
        <StatTile
          label={domains.complained}
          value={<Percent share={rateOf(total.complained, total.delivered)} />}
          hint={domains.complainedHint}
        />
      </div>
      <Card>
        <TimeSeriesChart
          label={domains.mailPerDay}
          kind="stacked-bars"
          times={times}
          series={[
            {
              key: 'delivered',
              label: domains.delivered,
              values: series.map(({ counts }) => counts.delivered),
              color: 2,
            },
            {
              key: 'bounced',
              label: domains.bounced,
              values: series.map(({ counts }) => counts.bounced_hard + counts.bounced_soft),
              color: 4,
            },
          ]}
        />
      </Card>
      <Card>
        <TimeSeriesChart
          label={domains.ratesPerDay}
          format="percent"
          times={times}
          series={[
            {
              key: 'bounces',
              label: domains.bounced,
              values: series.map(({ counts }) =>
                rateOf(counts.bounced_hard, counts.delivered + counts.bounced_hard + counts.bounced_soft),
              ),
              color: 4,
            },
            {
              key: 'complaints',
              label: domains.complained,
              values: series.map(({ counts }) => rateOf(counts.complained, counts.delivered)),
              color: 3,
            },
          ]}
        />
      </Card>
    </div>
  )
}
