import { Plus, Users } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { getAudiences, type Audience } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn, TableSort } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { NewAudienceDialog } from './new-audience-dialog.tsx'

/** The columns that the server sorts by. */
const SORTS = { name: 'name', contacts: 'contactCount', created: 'createdAt' } as const

function isSort(column: string): column is keyof typeof SORTS {
  return Object.hasOwn(SORTS, column)
}

export function AudiencesPage(): ReactNode {
  const { audiences: texts } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('audiences:write')
  const [search, change] = useAddressSearch()
  const [sort, setSort] = useState<TableSort | null>({ columnId: 'created', isDescending: true })
  const order =
    sort !== null && isSort(sort.columnId)
      ? { sortBy: SORTS[sort.columnId], sortDir: sort.isDescending ? ('desc' as const) : ('asc' as const) }
      : {}
  const list = useApiList(
    getAudiences,
    { query: { ...order, limit: 100 } },
    { items: ({ data }) => data.audiences, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const create = (
    <Button variant="primary" icon={Plus} onClick={() => change({ dialog: 'new' })}>
      {texts.create}
    </Button>
  )
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} actions={canWrite ? create : undefined} />
      <Card padding="none">
        <DataTable
          label={texts.title}
          columns={useColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          getHref={({ id }) => path(`/audiences/${id}`)}
          sort={sort}
          onSortChange={setSort}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={
            <EmptyState
              icon={Users}
              title={texts.emptyTitle}
              text={texts.emptyText}
              action={canWrite ? create : undefined}
              docsHref="/docs/guides/contacts-and-audiences"
            />
          }
          error={list.query.isError ? <FailedQuery query={list.query} title={texts.notLoaded} /> : undefined}
        />
      </Card>
      {search['dialog'] === 'new' && <NewAudienceDialog onClose={() => change({ dialog: undefined })} />}
    </>
  )
}

function useColumns(): readonly DataColumn<Audience>[] {
  const { audiences: texts } = useTexts()
  return [
    { id: 'name', header: texts.name, isSortable: true, cell: ({ name }) => name },
    {
      id: 'contacts',
      header: texts.contacts,
      isSortable: true,
      align: 'right',
      width: '8rem',
      cell: ({ contactCount }) => <NumberText value={contactCount} isExact />,
    },
    {
      id: 'optIn',
      header: texts.optIn,
      priority: 2,
      width: '9rem',
      cell: ({ double_opt_in: isDouble }) =>
        isDouble ? <Badge tone="success">{texts.doubleOptIn}</Badge> : <Badge>{texts.singleOptIn}</Badge>,
    },
    { id: 'description', header: texts.descriptionField, priority: 3, cell: ({ description }) => description },
    {
      id: 'created',
      header: texts.created,
      isSortable: true,
      align: 'right',
      priority: 2,
      width: '9rem',
      cell: ({ createdAt }) => <RelativeTime value={createdAt} />,
    },
  ]
}
