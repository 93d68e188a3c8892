/** TLS: what other servers report about ours, and which level applies to receivers. */
import { Lock } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminListTlsReports, type ReceivedTlsReport } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { ListTable } from './loaded.tsx'
import { TlsReportSheet } from './tls-report-sheet.tsx'
import { TlsRules } from './tls-rules.tsx'

const VIEWS = ['reports', 'rules'] as const

export function TlsPage(): ReactNode {
  const { administration } = useTexts()
  const { tls: texts } = administration
  const [search] = useAddressSearch()
  const view = VIEWS.find((one) => one === search['view']) ?? 'reports'
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        tabs={
          <LinkTabs
            label={texts.title}
            tabs={VIEWS.map((one) => ({
              href: operatorPath('/tls', one === 'reports' ? {} : { view: one }),
              label: texts.views[one],
              isCurrent: one === view,
            }))}
          />
        }
      />
      {view === 'rules' ? <TlsRules /> : <TlsReports />}
    </>
  )
}

function TlsReports(): ReactNode {
  const { administration } = useTexts()
  const { tls: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const isFailing = search['failing'] === 'true'
  const list = useApiList(
    adminListTlsReports,
    { query: { limit: 50, ...(isFailing ? { failing: 'true' as const } : {}) } },
    { items: ({ data }) => data.reports, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useTlsColumns()
  return (
    <div className="flex flex-col gap-4">
      <Checkbox
        isChecked={isFailing}
        onChange={(checked) => changeSearch({ failing: checked ? 'true' : undefined })}
        label={texts.failing}
      />
      <ListTable
        list={list}
        label={texts.title}
        columns={columns}
        getRowId={({ id }) => id}
        onOpen={({ id }) => changeSearch({ report: id })}
        currentId={search['report']}
        empty={<EmptyState icon={Lock} title={texts.empty} text={texts.emptyText} />}
      />
      <TlsReportSheet
        report={list.items.find(({ id }) => id === search['report']) ?? null}
        onClose={() => changeSearch({ report: undefined })}
      />
    </div>
  )
}

function useTlsColumns(): readonly DataColumn<ReceivedTlsReport>[] {
  const { administration } = useTexts()
  const { tls: texts } = administration
  return [
    { id: 'organization', header: texts.organization, cell: ({ organization }) => organization },
    {
      id: 'period',
      header: texts.period,
      cell: (row) => <DateTime value={row.begins_at} precision="day" />,
      width: '9rem',
    },
    {
      id: 'successes',
      header: texts.successes,
      cell: ({ successes }) => <NumberText value={successes} />,
      width: '7rem',
      align: 'right',
    },
    {
      id: 'failures',
      header: texts.failures,
      cell: ({ failures }) => (
        <span className={failures > 0 ? 'text-danger-text' : undefined}>
          <NumberText value={failures} />
        </span>
      ),
      width: '7rem',
      align: 'right',
    },
    { id: 'signer', header: texts.signer, cell: ({ signer }) => signer ?? texts.unsigned, width: '18%', priority: 2 },
    { id: 'via', header: texts.via, cell: ({ via }) => via, width: '7rem', priority: 3 },
  ]
}
