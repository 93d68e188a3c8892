/** Bounces and complaints that other servers sent, as they were received. */
import { Download, FileText } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminGetReportRaw, adminListReports, type ReceivedReport } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ListTable } from './loaded.tsx'

export function ReportsPage(): ReactNode {
  const { administration } = useTexts()
  const { reports: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    adminListReports,
    { query: { limit: 50 } },
    { items: ({ data }) => data.reports, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useReportColumns()
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <ListTable
        list={list}
        label={texts.title}
        columns={columns}
        getRowId={({ id }) => id}
        onOpen={({ id }) => changeSearch({ report: id })}
        currentId={search['report']}
        empty={<EmptyState icon={FileText} title={texts.empty} text={texts.emptyText} />}
      />
      <ReportSheet
        report={list.items.find(({ id }) => id === search['report']) ?? null}
        onClose={() => changeSearch({ report: undefined })}
      />
    </>
  )
}

/** A kind that a later version adds is shown by its name. */
function useKindText(): (kind: string | null) => string {
  const { kinds, notProcessed } = useTexts().administration.reports
  return (kind) => (kind === null ? notProcessed : (Object.entries(kinds).find(([name]) => name === kind)?.[1] ?? kind))
}

function useReportColumns(): readonly DataColumn<ReceivedReport>[] {
  const { operator, administration } = useTexts()
  const { reports: texts } = administration
  const kindText = useKindText()
  return [
    {
      id: 'received',
      header: texts.received,
      cell: (row) => <RelativeTime value={row.received_at} />,
      width: '9.5rem',
      priority: 2,
    },
    {
      id: 'kind',
      header: texts.kind,
      cell: ({ kind }) => <Badge tone={kind === 'complaint' ? 'danger' : 'warning'}>{kindText(kind)}</Badge>,
      width: '9rem',
    },
    { id: 'recipient', header: operator.recipient, cell: ({ recipient }) => recipient ?? '–' },
    { id: 'result', header: texts.result, cell: ({ result }) => result ?? '–', width: '9rem', priority: 2 },
    {
      id: 'diagnostic',
      header: texts.quoted,
      cell: ({ diagnostic }) => <span title={diagnostic ?? undefined}>{diagnostic ?? '–'}</span>,
      width: '32%',
      priority: 3,
    },
  ]
}

interface ReportSheetProps {
  readonly report: ReceivedReport | null
  readonly onClose: () => void
}

function ReportSheet({ report, onClose }: ReportSheetProps): ReactNode {
  const { administration } = useTexts()
  const { reports: texts } = administration
  const kindText = useKindText()
  const download = useDownload(adminGetReportRaw, ({ params }) => `${params.id}.eml`)
  return (
    <Sheet
      isOpen={report !== null}
      onOpenChange={(open) => !open && onClose()}
      title={kindText(report?.kind ?? null)}
      footer={
        <Button
          icon={Download}
          isLoading={download.isRunning}
          onClick={() => report !== null && download.start({ params: { id: report.id } })}
        >
          {texts.raw}
        </Button>
      }
    >
      {report !== null && <ReportFacts report={report} />}
    </Sheet>
  )
}

function ReportFacts({ report }: { readonly report: ReceivedReport }): ReactNode {
  const { operator, administration } = useTexts()
  const { reports: texts } = administration
  return (
    <KeyValueList
      items={[
        { label: texts.received, value: <DateTime value={report.received_at} precision="second" /> },
        { label: texts.result, value: report.result ?? texts.notProcessed },
        { label: operator.recipient, value: <span className="break-all">{report.recipient ?? '–'}</span> },
        { label: texts.from, value: <span className="break-all">{report.mail_from || '<>'}</span> },
        { label: texts.server, value: report.peer },
        {
          label: operator.queue.message,
          value: <code className="text-sm break-all">{report.email_id ?? '–'}</code>,
        },
        {
          label: texts.quoted,
          value: <code className="font-mono text-xs break-words">{report.diagnostic ?? '–'}</code>,
        },
      ]}
    />
  )
}
