/** What DMARC reports say about the domains of all workspaces. Its names are untrusted text. */
import { ShieldCheck } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminGetDmarc, type DmarcDomain } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

const PERIODS = ['7', '30', '90'] as const
const DEFAULT_PERIOD = '30'
const DAY_MS = 86_400_000
const MAX_DOMAINS = 200

export function DmarcPage(): ReactNode {
  const { administration } = useTexts()
  const { dmarc: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const days = PERIODS.find((one) => one === search['days']) ?? DEFAULT_PERIOD
  const columns = useDmarcColumns()
  const query = useApi(
    adminGetDmarc,
    { query: { from: firstDay(Number(days), Date.now()), limit: MAX_DOMAINS } },
    { keepsPrevious: true },
  )
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <div className="flex flex-col gap-4">
        <SegmentedControl
          label={texts.period}
          value={days}
          onChange={(value) => changeSearch({ days: value === DEFAULT_PERIOD ? undefined : value })}
          segments={PERIODS.map((value) => ({ value, label: texts.days(Number(value)) }))}
        />
        <Loaded query={query}>
          {({ data }) => (
            <PlainTable
              label={texts.title}
              columns={columns}
              rows={data.domains}
              getRowId={(row) => row.domain_id}
              empty={<EmptyState icon={ShieldCheck} title={texts.empty} text={texts.emptyText} />}
            />
          )}
        </Loaded>
      </div>
    </>
  )
}

/** The first day, in UTC, of a period of that many days that ends today. */
function firstDay(days: number, nowMs: number): string {
  return new Date(nowMs - (days - 1) * DAY_MS).toISOString().slice(0, 10)
}

function useDmarcColumns(): readonly DataColumn<DmarcDomain>[] {
  const { administration } = useTexts()
  const { dmarc: texts } = administration
  const nameOf = useWorkspaceNames()
  const share = (id: string, header: string, of: (row: DmarcDomain) => number): DataColumn<DmarcDomain> => ({
    id,
    header,
    align: 'right',
    width: '7.5rem',
    cell: (row) => <Percent share={row.messages === 0 ? 0 : of(row) / row.messages} />,
    sortValue: (row) => (row.messages === 0 ? 0 : of(row) / row.messages),
  })
  const count = (id: string, header: string, of: (row: DmarcDomain) => number): DataColumn<DmarcDomain> => ({
    id,
    header,
    align: 'right',
    width: '7rem',
    cell: (row) => <NumberText value={of(row)} />,
    sortValue: of,
  })
  return [
    { id: 'domain', header: texts.domain, cell: ({ domain }) => <span className="font-medium">{domain}</span> },
    {
      id: 'workspace',
      header: texts.workspace,
      cell: (row) => <span className="truncate text-muted">{nameOf(row.workspace_id)}</span>,
      width: '18%',
      priority: 2,
    },
    count('messages', texts.messages, ({ messages }) => messages),
    share('passed', texts.passed, ({ passed }) => passed),
    { ...share('dkim', texts.dkim, (row) => row.dkim_aligned), priority: 2 },
    { ...share('spf', texts.spf, (row) => row.spf_aligned), priority: 3 },
    { ...count('refused', texts.refused, (row) => row.quarantined + row.rejected), priority: 2 },
    { ...count('sources', texts.sources, ({ sources }) => sources), priority: 3 },
  ]
}
