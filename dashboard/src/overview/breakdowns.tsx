/** The mail of the period by tier, receiver, sending domain and tag, each with the way to the mail behind it. */
import type { ReactNode } from 'react'
import { getStatistics, type StatisticsCounts } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { formatPercent } from '#dashboard/src/ui/format.ts'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { useUiTexts } from '#dashboard/src/ui/ui-texts.ts'
import { messageFilter } from './message-links.ts'
import { ZONE, type Period } from '#dashboard/src/shared/period.ts'

const GROUPS = ['tier', 'receiver', 'domain', 'tag'] as const
type Group = (typeof GROUPS)[number]
const SHOWN = 8
const COUNTERS = 'sent,delivered,bounced_hard,bounced_soft'

export function Breakdowns({ period }: { readonly period: Period }): ReactNode {
  return (
    <div className="grid gap-x-6 gap-y-8 lg:grid-cols-2">
      {GROUPS.map((group) => (
        <Breakdown key={group} group={group} period={period} />
      ))}
    </div>
  )
}

function Breakdown({ group, period }: { readonly group: Group; readonly period: Period }): ReactNode {
  const { overview } = useTexts()
  const query = useApi(
    getStatistics,
    {
      query: {
        from: period.from,
        interval: period.interval,
        timezone: ZONE,
        counters: COUNTERS,
        group_by: group,
        limit: SHOWN,
      },
    },
    { keepsPrevious: true },
  )
  const texts = overview.groups[group]
  const totals = (query.data?.data.totals ?? []).filter(({ counts }) => sizeOf(counts) > 0)
  return (
    <Section title={texts.title}>
      <Card>
        {query.error !== null && <FailedQuery query={query} title={overview.notLoaded} />}
        {query.isPending && <SkeletonLines lines={5} />}
        {query.data !== undefined && totals.length === 0 && <p className="text-sm text-muted">{texts.empty}</p>}
        {totals.length > 0 && <Ranking group={group} period={period} totals={totals} />}
      </Card>
    </Section>
  )
}

interface RankingProps {
  readonly group: Group
  readonly period: Period
  readonly totals: readonly { readonly value: string | null; readonly counts: StatisticsCounts }[]
}

function Ranking({ group, period, totals }: RankingProps): ReactNode {
  const { overview } = useTexts()
  const { locale } = useUiTexts()
  const linkOf = useLink(group, period)
  return (
    <BarList
      label={overview.groups[group].title}
      headings={[overview.groups[group].heading, overview.sentAndDelivered]}
      items={totals.map(({ value, counts }) => {
        const sent = sizeOf(counts)
        const share = Math.min(1, (counts.delivered ?? 0) / Math.max(sent, 1))
        return {
          key: value ?? '',
          label: value === null ? overview.others : nameOf(group, value, overview.tiers),
          value: sent,
          text: (
            <>
              <NumberText value={sent} /> <span className="text-muted">· {formatPercent(share, locale)}</span>
            </>
          ),
          href: value === null ? undefined : linkOf(value),
        }
      })}
    />
  )
}

/** Recipients whose mail was handed over, or refused before. */
function sizeOf({ sent = 0, bounced_hard: hard = 0, bounced_soft: soft = 0 }: StatisticsCounts): number {
  return Math.max(sent, hard + soft)
}

function nameOf(group: Group, value: string, tiers: Readonly<Record<string, string>>): string {
  return group === 'tier' ? (tiers[value] ?? value) : value
}

/** Messages have no filter for receivers: their page says how the mail to one does. */
function useLink(group: Group, period: Period): (value: string) => string {
  const path = useWorkspacePath()
  if (group === 'receiver') return (value) => path('/deliverability', { receiver: value })
  const filter = group === 'domain' ? 'sender' : group
  return (value) => path('/messages', { [filter]: value, ...messageFilter(period) })
}
