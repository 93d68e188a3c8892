/** The requests of webhook steps, with the responses. */
import { Webhook } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getAutomationCalls, type GetAutomationCallsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Automation } from './automation-status.tsx'

type Call = GetAutomationCallsAnswer['data']['calls'][number]
const TONES = { pending: 'info', delivered: 'success', failed: 'danger' } as const

export function AutomationCalls({ automation }: { readonly automation: Automation }): ReactNode {
  const { automations } = useTexts()
  const list = useApiList(
    getAutomationCalls,
    { params: { id: automation.id }, query: { limit: 100 } },
    { items: ({ data }) => data.calls, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useColumns()
  return (
    <Card padding="none">
      <DataTable
        label={automations.tabs.calls}
        columns={columns}
        rows={list.query.isPending ? null : list.items}
        getRowId={(row) => row.id}
        hasMore={list.hasMore}
        isLoadingMore={list.query.isFetchingNextPage}
        onEndReached={() => list.loadMore()}
        error={list.query.error === null ? null : <FailedQuery query={list.query} title={automations.callsNotLoaded} />}
        empty={<EmptyState icon={Webhook} title={automations.noCalls} text={automations.noCallsText} />}
      />
    </Card>
  )
}

function useColumns(): readonly DataColumn<Call>[] {
  const { automations } = useTexts()
  return [
    {
      id: 'url',
      header: automations.url,
      cell: (row) => <span className="truncate font-mono text-sm">{row.url}</span>,
    },
    {
      id: 'status',
      header: automations.state,
      cell: (row) => <StatusBadge tone={TONES[row.status]}>{automations.callStatus[row.status]}</StatusBadge>,
      width: '9rem',
    },
    {
      id: 'tries',
      header: automations.tries,
      cell: (row) => <NumberText value={row.tries} />,
      width: '6rem',
      align: 'right',
      priority: 3,
    },
    {
      id: 'answer',
      header: automations.answer,
      cell: (row) => <span className="truncate text-muted">{row.answer ?? '–'}</span>,
      priority: 2,
    },
    { id: 'at', header: automations.at, cell: (row) => <RelativeTime value={row.created_at} />, width: '10rem' },
  ]
}
