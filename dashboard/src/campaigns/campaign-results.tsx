/** How a campaign does: progress, the funnel, the course over time, and the test of two subjects. */
import { Trophy } from '#dashboard/src/ui/icons.tsx'
import { useMemo, type ReactNode } from 'react'
import { getStatistics } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { startOf, ZONE } from '#dashboard/src/shared/period.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { formatNumber, formatPercent } from '#dashboard/src/ui/format.ts'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { TimeSeriesChart } from '#dashboard/src/ui/time-series-chart.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { progressOf, type Campaign, type Metrics } from './campaign-state.ts'
import { completePeriods, COUNTERS, funnelOf, intervalOf, type FunnelKey } from './result-series.ts'

const REST = ['waiting', 'failed', 'suppressed', 'skipped', 'cancelled', 'machine_opened', 'machine_clicked'] as const

export function CampaignResults({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const say = useServerText()
  return (
    <div className="flex flex-col gap-6">
      {campaign.reason !== null && (
        <Callout tone="warning">{say(campaign.reason, campaign.reason_translation)}</Callout>
      )}
      <CampaignProgress campaign={campaign} />
      {campaign.started_at === null && campaign.scheduled_at !== null && (
        <Card>
          <span className="text-muted">{campaigns.scheduledFor} </span>
          <DateTime value={campaign.scheduled_at} />
          {campaign.recipient_time && <span className="text-muted"> {campaigns.onEachClock}</span>}
        </Card>
      )}
      {campaign.started_at !== null && (
        <>
          <Tiles metrics={campaign.metrics} />
          <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
            <Funnel metrics={campaign.metrics} />
            <Rest metrics={campaign.metrics} />
          </div>
          <ResultChart id={campaign.id} startedAt={campaign.started_at} />
          <SubjectTest campaign={campaign} />
        </>
      )}
    </div>
  )
}

function CampaignProgress({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns, ui } = useTexts()
  const share = progressOf(campaign)
  if (share === null) return null
  const { recipients, waiting } = campaign.metrics
  const number = (value: number): string => formatNumber(value, ui.locale)
  return (
    <Card>
      <Progress
        label={campaigns.sendingNow}
        share={share}
        tone={campaign.status === 'PAUSED' ? 'warning' : 'accent'}
        text={campaigns.progressOf(number(recipients - waiting), number(recipients))}
      />
    </Card>
  )
}

function Tiles({ metrics }: { readonly metrics: Metrics }): ReactNode {
  const { campaigns, ui } = useTexts()
  const tiles = funnelOf(metrics).filter(({ key }) => ['delivered', 'opened', 'clicked', 'unsubscribed'].includes(key))
  return (
    <div className="grid grid-cols-2 gap-3 xl:grid-cols-4">
      {tiles.map(({ key, count, share, of }) => (
        <StatTile
          key={key}
          label={campaigns.counts[key]}
          value={<Percent share={share} />}
          hint={`${formatNumber(count, ui.locale)} · ${of === 'sent' ? campaigns.ofSent : campaigns.ofDelivered}`}
        />
      ))}
    </div>
  )
}

const FUNNEL_TONES: Partial<Record<FunnelKey, 'warning' | 'danger'>> = {
  unsubscribed: 'warning',
  bounced: 'danger',
  complained: 'danger',
}

function Funnel({ metrics }: { readonly metrics: Metrics }): ReactNode {
  const { campaigns, ui } = useTexts()
  const number = (value: number): string => formatNumber(value, ui.locale)
  return (
    <Section title={campaigns.funnel} description={campaigns.funnelText}>
      <Card>
        <BarList
          label={campaigns.funnel}
          items={funnelOf(metrics).map(({ key, count, share }) => ({
            key,
            value: count,
            label:
              key === 'bounced' && count > 0
                ? `${campaigns.counts[key]} (${campaigns.bounceKinds(number(metrics.bounced_hard), number(metrics.bounced_soft))})`
                : campaigns.counts[key],
            text: share === null ? number(count) : `${number(count)} · ${formatPercent(share, ui.locale)}`,
            tone: FUNNEL_TONES[key] ?? 'accent',
          }))}
        />
      </Card>
    </Section>
  )
}

function Rest({ metrics }: { readonly metrics: Metrics }): ReactNode {
  const { campaigns } = useTexts()
  return (
    <Section title={campaigns.others}>
      <Card>
        <KeyValueList
          items={REST.map((key) => ({
            label: campaigns.counts[key],
            value: <NumberText value={metrics[key]} isExact />,
          }))}
        />
      </Card>
    </Section>
  )
}

const SERIES_NAMES = { delivered: 'delivered', opened_unique: 'opened', clicked_unique: 'clicked' } as const

function ResultChart({ id, startedAt }: { readonly id: string; readonly startedAt: string }): ReactNode {
  const { campaigns } = useTexts()
  const { from, interval } = useMemo(() => {
    const start = new Date(startedAt)
    const chosen = intervalOf(start.getTime(), Date.now())
    return { interval: chosen, from: startOf(start, chosen) }
  }, [startedAt])
  const query = useApi(getStatistics, {
    query: {
      from: from.toISOString(),
      interval,
      timezone: ZONE,
      group_by: 'campaign',
      value: id,
      counters: COUNTERS.join(','),
    },
  })
  const rows = query.data?.data.rows
  const series = rows === undefined ? null : completePeriods(rows, from, interval)
  return (
    <Section title={campaigns.chart} description={campaigns.chartText}>
      {query.error !== null && <FailedQuery query={query} title={campaigns.chartNotLoaded} />}
      {query.isPending && <Skeleton className="h-72 w-full" />}
      {rows?.length === 0 && <Card className="text-muted">{campaigns.chartEmpty}</Card>}
      {series !== null && rows?.length !== 0 && (
        <Card>
          <TimeSeriesChart
            label={campaigns.chart}
            times={series.times}
            series={COUNTERS.map((key) => ({
              key,
              label: campaigns.counts[SERIES_NAMES[key]],
              values: series.values[key],
            }))}
          />
        </Card>
      )}
    </Section>
  )
}

function SubjectTest({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const { test, variants } = campaign
  if (test === null || variants === null) return null
  return (
    <Section title={campaigns.abTest} description={test.winner === null ? campaigns.noWinner(test.minutes) : undefined}>
      <div className="grid gap-3 md:grid-cols-2">
        {(['a', 'b'] as const).map((name) => (
          <Card key={name}>
            <div className="flex flex-wrap items-center justify-between gap-2">
              <h3 className="text-sm text-muted">{`${campaigns.variant} ${name.toUpperCase()}`}</h3>
              {test.winner === name && (
                <Badge tone="success" icon={Trophy}>
                  {campaigns.winner}
                </Badge>
              )}
            </div>
            <p className="mt-1 mb-3 font-medium">{name === 'a' ? (campaign.subject ?? '–') : test.subject_b}</p>
            <KeyValueList
              items={funnelOf(variants[name])
                .filter(({ key }) => ['delivered', 'opened', 'clicked', 'unsubscribed'].includes(key))
                .map(({ key, count, share }) => ({
                  label: campaigns.counts[key],
                  value: (
                    <>
                      <NumberText value={count} isExact /> (<Percent share={share} />)
                    </>
                  ),
                }))}
            />
          </Card>
        ))}
      </div>
    </Section>
  )
}
