import type { ReactNode } from 'react'
import { adminCountQueue, type AdminCountQueueAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

type Count = AdminCountQueueAnswer['data']['counts'][number]
const GROUPINGS = ['tier', 'state', 'site', 'domain', 'workspace', 'age'] as const
/** Those whose values are a filter of the list. */
const FILTERS: ReadonlySet<string> = new Set(['tier', 'state', 'site', 'domain', 'workspace'])

/** How much mail waits, and since when, by what the reader chooses. */
export function QueueCounts(): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const by = GROUPINGS.find((one) => one === search['by']) ?? 'tier'
  const query = useApi(adminCountQueue, { query: { by } }, { keepsPrevious: true })
  const nameOf = useWorkspaceNames()
  const columns: readonly DataColumn<Count>[] = [
    {
      id: 'name',
      header: texts.by[by],
      cell: ({ name }) => (by === 'workspace' ? nameOf(name) : name),
      sortValue: ({ name }) => name,
    },
    {
      id: 'count',
      header: operator.count,
      cell: ({ count }) => <NumberText value={count} isExact />,
      sortValue: ({ count }) => count,
      align: 'right',
      width: '6.5rem',
    },
    {
      id: 'oldest',
      header: texts.oldest,
      cell: (row) => <RelativeTime value={row.oldest_due_at} />,
      sortValue: (row) => row.oldest_due_at,
      width: '9rem',
      priority: 2,
    },
  ]
  return (
    <div className="flex flex-col gap-4">
      <div className="overflow-x-auto">
        <SegmentedControl
          label={texts.countBy}
          value={by}
          onChange={(value) => changeSearch({ by: value === 'tier' ? undefined : value })}
          segments={GROUPINGS.map((value) => ({ value, label: texts.by[value] }))}
        />
      </div>
      <Loaded query={query}>
        {({ data }) => (
          <PlainTable
            label={texts.views.counts}
            columns={columns}
            rows={data.counts}
            getRowId={({ name }) => name}
            getHref={({ name }) => (FILTERS.has(data.by) ? operatorPath('/queue', { [data.by]: name }) : undefined)}
            empty={<EmptyState title={texts.empty} text={texts.emptyText} />}
          />
        )}
      </Loaded>
    </div>
  )
}
