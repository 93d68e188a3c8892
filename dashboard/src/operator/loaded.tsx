/** Data that is loaded: a skeleton of lines, the failure, or what the caller makes of it. */
import type { ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import type { ApiList } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import type { DataTableProps } from '#dashboard/src/ui/data-table.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'

interface LoadedProps<Data> {
  readonly query: {
    readonly data: Data | undefined
    readonly error: ApiError | null
    readonly isFetching: boolean
    refetch(): unknown
  }
  readonly lines?: number
  readonly children: (data: Data) => ReactNode
}

export function Loaded<Data>({ query, lines = 6, children }: LoadedProps<Data>): ReactNode {
  const { operator } = useTexts()
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <FailedQuery query={query} title={operator.notLoaded} />
  return (
    <Card>
      <SkeletonLines lines={lines} />
    </Card>
  )
}

type TableProps<Row extends object> = Pick<
  DataTableProps<Row>,
  'label' | 'columns' | 'getRowId' | 'getHref' | 'onOpen' | 'currentId' | 'empty'
>

/** The table of a list that is read page by page. */
export function ListTable<Row extends object, Output>({
  list,
  ...table
}: TableProps<Row> & { readonly list: ApiList<Row, Output> }): ReactNode {
  const { operator } = useTexts()
  const { query } = list
  return (
    <Card padding="none">
      <DataTable
        {...table}
        rows={query.isPending ? null : list.items}
        hasMore={list.hasMore}
        isLoadingMore={query.isFetchingNextPage}
        onEndReached={list.loadMore}
        error={query.error === null ? null : <FailedQuery query={query} title={operator.notLoaded} />}
      />
    </Card>
  )
}

/** The table of a short list that comes as a whole. */
export function PlainTable<Row extends object>({
  rows,
  ...table
}: TableProps<Row> & { readonly rows: readonly Row[] }): ReactNode {
  return (
    <Card padding="none">
      <DataTable {...table} rows={rows} />
    </Card>
  )
}
