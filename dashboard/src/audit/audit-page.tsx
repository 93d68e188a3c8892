/** The audit log of the workspace. A row opens what was there before and after. */
import { ScrollText } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listAuditLog, type AuditEntry } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { DiffView } from '#dashboard/src/ui/diff-view.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'

const FILTERS = ['action', 'actor', 'object_type'] as const

export function AuditPage(): ReactNode {
  const { people } = useTexts()
  const texts = people.audit
  const [search, changeSearch] = useAddressSearch()
  const filters = Object.fromEntries(
    FILTERS.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
  )
  const list = useApiList(
    listAuditLog,
    { query: { limit: 100, ...filters } },
    { items: ({ data }) => data.entries, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const open = list.items.find(({ id }) => id === search['entry'])
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <div className="mb-4">
        <FilterBar
          filters={[
            { key: 'action', label: texts.filterAction },
            { key: 'actor', label: texts.filterActor },
            { key: 'object_type', label: texts.filterType },
          ]}
          value={filters}
          onChange={(value) => changeSearch(Object.fromEntries(FILTERS.map((name) => [name, value[name]])))}
        />
      </div>
      <Card padding="none">
        <DataTable
          label={texts.title}
          columns={useAuditColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          onOpen={({ id }) => changeSearch({ entry: id })}
          currentId={open?.id}
          hasMore={list.hasMore}
          onEndReached={list.loadMore}
          isLoadingMore={list.query.isFetchingNextPage}
          empty={<EmptyState icon={ScrollText} title={texts.empty} text={texts.emptyText} />}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={texts.failed} />}
        />
      </Card>
      {open !== undefined && <EntrySheet entry={open} onClose={() => changeSearch({ entry: undefined })} />}
    </>
  )
}

function useAuditColumns(): readonly DataColumn<AuditEntry>[] {
  const { people } = useTexts()
  const texts = people.audit
  return [
    { id: 'when', header: texts.when, width: '10rem', cell: ({ created_at: at }) => <RelativeTime value={at} /> },
    {
      id: 'who',
      header: texts.who,
      width: '14rem',
      priority: 2,
      cell: ({ actor }) => <span className="truncate">{actor.name ?? texts.actors[actor.type]}</span>,
    },
    { id: 'action', header: texts.action, cell: ({ action }) => <code className="font-mono text-sm">{action}</code> },
    {
      id: 'object',
      header: texts.object,
      priority: 3,
      cell: ({ object }) => (
        <span className="truncate text-muted">
          {object.type} {object.id}
        </span>
      ),
    },
    { id: 'from', header: texts.from, width: '10rem', priority: 3, cell: ({ ip_address: address }) => address ?? '' },
  ]
}

function EntrySheet({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }): ReactNode {
  const { people } = useTexts()
  const texts = people.audit
  const { actor, object } = entry
  return (
    <Sheet isOpen onOpenChange={onClose} title={entry.action}>
      <div className="flex flex-col gap-5">
        <KeyValueList
          items={[
            { label: texts.when, value: <DateTime value={entry.created_at} precision="second" /> },
            {
              label: texts.who,
              value: [texts.actors[actor.type], actor.name, actor.id].filter((part) => part !== null).join(' · '),
            },
            { label: texts.object, value: `${object.type} ${object.id}` },
            { label: texts.from, value: entry.ip_address ?? '–' },
            { label: texts.request, value: entry.request_id ?? '–' },
          ]}
        />
        <DiffView label={texts.before} before={format(entry.before)} after={format(entry.after)} />
      </div>
    </Sheet>
  )
}

function format(values: Readonly<Record<string, unknown>> | null): string {
  return values === null ? '' : JSON.stringify(values, null, 2)
}
