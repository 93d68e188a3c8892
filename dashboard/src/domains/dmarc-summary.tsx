/** What DMARC reports say about a domain: by source, each with the next step. Names in it are untrusted text. */
import type { ReactNode } from 'react'
import { getDmarcSummary, type DmarcSource, type DmarcSummary, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { rateOf } from './health-series.ts'

export function DmarcReportSummary({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const query = useApi(getDmarcSummary, { params: { domainID: domain.id } })
  const summary = query.data?.data
  return (
    <Section title={domains.reports} description={domains.reportsText}>
      {query.error !== null && summary === undefined && <FailedQuery query={query} title={domains.reportsNotLoaded} />}
      {query.isPending && <Skeleton className="h-64 w-full" />}
      {summary !== undefined && <Summary summary={summary} />}
    </Section>
  )
}

function Summary({ summary }: { readonly summary: DmarcSummary }): ReactNode {
  const { domains } = useTexts()
  const { totals, next_step: step } = summary
  return (
    <div className="flex flex-col gap-4">
      <Callout tone={step.code === 'correct_sources' ? 'warning' : 'info'} title={domains.whatNext}>
        {step.text}
      </Callout>
      <div className="flex max-w-xl flex-col gap-1">
        <span className="text-sm text-muted">{domains.reportAddress}</span>
        <CopyField value={`rua=mailto:${summary.report_address}`} label={domains.copyReportAddress} />
      </div>
      {summary.reports > 0 && (
        <div className="grid gap-3 sm:grid-cols-3">
          <StatTile label={domains.reportCount} value={<NumberText value={summary.reports} />} />
          <StatTile label={domains.reportedMail} value={<NumberText value={totals.messages} />} />
          <StatTile label={domains.dmarcPassed} value={<Percent share={rateOf(totals.passed, totals.messages)} />} />
        </div>
      )}
      <Sources sources={summary.sources} />
      {summary.unverified_reports > 0 && (
        <p className="text-sm text-muted">{domains.unverifiedReports(summary.unverified_reports)}</p>
      )}
    </div>
  )
}

function Sources({ sources }: { readonly sources: readonly DmarcSource[] }): ReactNode {
  const { domains } = useTexts()
  const columns: readonly DataColumn<DmarcSource>[] = [
    { id: 'source', header: domains.source, cell: (row) => <SourceName source={row} />, width: '32%' },
    {
      id: 'messages',
      header: domains.reportedMail,
      align: 'right',
      cell: (row) => <NumberText value={row.messages} />,
      sortValue: (row) => row.messages,
      width: '7rem',
      priority: 2,
    },
    {
      id: 'passed',
      header: domains.dmarcPassed,
      align: 'right',
      cell: (row) => <Percent share={rateOf(row.passed, row.messages)} />,
      sortValue: (row) => rateOf(row.passed, row.messages),
      width: '7rem',
    },
    {
      id: 'next',
      header: domains.whatNext,
      cell: (row) => <span className="py-2 text-sm whitespace-normal">{row.next_step.text}</span>,
      priority: 2,
    },
  ]
  return (
    <Card padding="none">
      <DataTable
        label={domains.sources}
        columns={columns}
        rows={sources}
        getRowId={(row) => row.address}
        empty={<EmptyState title={domains.noReports} text={domains.noReportsText} />}
      />
    </Card>
  )
}

function SourceName({ source }: { readonly source: DmarcSource }): ReactNode {
  const { domains } = useTexts()
  const { address, organization, name, is_name_confirmed: isConfirmed, is_ours: isOurs } = source
  return (
    <span className="flex min-w-0 flex-col">
      <span className="flex min-w-0 items-center gap-2">
        <span className="truncate font-medium">{organization ?? (isConfirmed ? name : null) ?? address}</span>
        {isOurs && <Badge tone="accent">{domains.thisServer}</Badge>}
      </span>
      <span className="truncate text-sm text-muted">{address}</span>
    </span>
  )
}
