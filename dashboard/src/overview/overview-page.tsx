/** The overview: what happened to the mail of a period, what waits now, and what needs attention. */
import { Download, Send } from '#dashboard/src/ui/icons.tsx'
import { useMemo, type ReactNode } from 'react'
import { getStatistics } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Attention } from './attention.tsx'
import { Breakdowns } from './breakdowns.tsx'
import { FIGURE_COUNTERS } from './figures.ts'
import { MailChart } from './mail-chart.tsx'
import { isPeriodName, PERIOD_NAMES, periodUntil, REFRESH_MS, ZONE, type Period } from '#dashboard/src/shared/period.ts'
import { QueueDepth } from './queue-depth.tsx'
import { StatTiles } from './stat-tiles.tsx'

export function OverviewPage(): ReactNode {
  const { overview } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const name = isPeriodName(search['period']) ? search['period'] : '7d'
  const period = useMemo(() => periodUntil(new Date(), name), [name])
  const query = useApi(
    getStatistics,
    {
      query: {
        from: period.from,
        interval: period.interval,
        timezone: ZONE,
        counters: FIGURE_COUNTERS,
      },
    },
    { keepsPrevious: true },
  )
  const { previous } = period
  const before = useApi(
    getStatistics,
    { query: { ...previous, timezone: ZONE, counters: FIGURE_COUNTERS } },
    { keepsPrevious: true, staleMs: REFRESH_MS },
  )
  const data = query.data?.data
  const isEmpty = data?.rows.length === 0
  return (
    <>
      <PageHeader
        title={overview.title}
        description={overview.description(ZONE)}
        actions={
          <>
            <SegmentedControl
              label={overview.period}
              value={name}
              onChange={(value) => changeSearch({ period: value })}
              segments={PERIOD_NAMES.map((value) => ({ value, label: overview.shortPeriods[value] }))}
            />
            <CsvButton period={period} />
          </>
        }
      />
      <div className="flex min-w-0 flex-col gap-8">
        <Attention />
        {query.error !== null && <FailedQuery query={query} title={overview.notLoaded} />}
        {data?.is_complete === false && <Callout>{overview.notComplete}</Callout>}
        {query.error === null && (
          <StatTiles
            period={period}
            rows={data?.rows}
            totals={data?.totals[0]?.counts}
            before={before.data?.data.totals[0]?.counts}
          />
        )}
        {isEmpty && <NoMail />}
        {query.error === null && !isEmpty && <MailChart period={period} rows={data?.rows} />}
        <QueueDepth />
        {!isEmpty && <Breakdowns period={period} />}
      </div>
    </>
  )
}

function NoMail(): ReactNode {
  const { overview } = useTexts()
  const path = useWorkspacePath()
  return (
    <Card padding="none">
      <EmptyState
        icon={Send}
        title={overview.noMail}
        text={overview.noMailText}
        action={
          <ButtonLink variant="primary" href={path('/start')}>
            {overview.toStart}
          </ButtonLink>
        }
      />
    </Card>
  )
}

function CsvButton({ period }: { readonly period: Period }): ReactNode {
  const { overview } = useTexts()
  const csv = useDownload(getStatistics, `statistics-${period.name}.csv`)
  const query = { from: period.from, interval: period.interval, timezone: ZONE, format: 'csv' } as const
  return (
    <Button icon={Download} isLoading={csv.isRunning} onClick={() => csv.start({ query })}>
      {overview.csv}
    </Button>
  )
}
