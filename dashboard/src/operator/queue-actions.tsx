import type { ReactNode } from 'react'
import { adminListActions, type OperatorAction } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { describeFilter } from './queue-filter.ts'

const MAX_SHOWN = 50

/** The last actions of operators, with their progress, live. */
export function QueueActions(): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const query = useApi(adminListActions, { query: { limit: MAX_SHOWN } })
  const columns: readonly DataColumn<OperatorAction>[] = [
    { id: 'verb', header: texts.verb, cell: ({ verb }) => verb, width: '6rem' },
    {
      id: 'filter',
      header: texts.what,
      cell: ({ subject }) => <span className="font-mono text-sm">{describeFilter(subject) || texts.allMail}</span>,
    },
    {
      id: 'state',
      header: operator.state,
      cell: ({ state }) => (
        <StatusBadge tone={state === 'running' ? 'accent' : 'success'} isLive={state === 'running'}>
          {texts[state]}
        </StatusBadge>
      ),
      width: '7rem',
    },
    {
      id: 'progress',
      header: operator.count,
      cell: ({ moved, seen }) => texts.progress(String(moved), String(seen)),
      width: '14rem',
      priority: 2,
    },
    { id: 'reason', header: operator.reason, cell: ({ reason }) => reason, width: '14%', priority: 3 },
    { id: 'by', header: texts.startedBy, cell: ({ by }) => by, width: '11rem', priority: 3 },
    {
      id: 'began',
      header: texts.began,
      cell: (row) => <RelativeTime value={row.began_at} />,
      width: '9rem',
      priority: 2,
    },
  ]
  return (
    <Loaded query={query}>
      {({ data }) => (
        <PlainTable
          label={texts.views.actions}
          columns={columns}
          rows={data.actions}
          getRowId={({ id }) => id}
          empty={<EmptyState title={texts.noActions} text={texts.noActionsText} />}
        />
      )}
    </Loaded>
  )
}
