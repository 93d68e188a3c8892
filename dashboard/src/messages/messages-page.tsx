/** All messages of the workspace, newest first: found by search and filters, which the address keeps. Live. */
import { Send } from '#dashboard/src/ui/icons.tsx'
import { useEffect, useMemo, type ReactNode } from 'react'
import { searchEmails } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { useMessageColumns } from './message-columns.tsx'
import { toQuery } from './message-filter.ts'
import { MessageFilters } from './message-filters.tsx'
import { MessageTabs } from './message-tabs.tsx'

const PAGE_SIZE = 50

export function MessagesPage(): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  const [search, changeSearch] = useAddressSearch()
  // a period begins where it did when it was chosen, so that the list does not load anew each minute
  const query = useMemo(() => toQuery(search, Date.now()), [search])
  const isFiltered = Object.keys(query).length > 0
  const list = useApiList(
    searchEmails,
    { query: { ...query, limit: PAGE_SIZE } },
    {
      items: (answer) => answer.data.emails,
      nextCursor: (answer) => answer.data.next_cursor,
      keepsPrevious: true,
    },
  )
  const { items, hasMore, loadMore, query: state } = list
  // one request examines a limited number of messages: a rare one may be in a later part
  const isStillSearching = state.isSuccess && items.length === 0 && hasMore
  useEffect(() => {
    if (isStillSearching && !state.isFetching) loadMore()
  })
  const columns = useMessageColumns()
  return (
    <>
      <PageHeader title={messages.title} tabs={<MessageTabs current="all" />} />
      <div className="flex flex-col gap-4">
        <MessageFilters search={search} onChange={changeSearch} isSearching={state.isFetching && !state.isPending} />
        {isStillSearching && (
          <p role="status" className="text-sm text-muted">
            {messages.searchingOlder}
          </p>
        )}
        <Card padding="none">
          <DataTable
            label={messages.title}
            columns={columns}
            rows={state.isPending || isStillSearching ? null : items}
            getRowId={(row) => row.id}
            getHref={(row) => path(`/messages/${row.email_id}`)}
            hasMore={hasMore}
            isLoadingMore={state.isFetchingNextPage}
            onEndReached={loadMore}
            error={state.error === null ? null : <FailedQuery query={state} title={messages.notLoaded} />}
            empty={
              isFiltered ? (
                <EmptyState title={messages.nothingFound} text={messages.nothingFoundText} />
              ) : (
                <NoMessages />
              )
            }
          />
        </Card>
      </div>
    </>
  )
}

function NoMessages(): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  return (
    <EmptyState
      icon={Send}
      title={messages.empty}
      text={messages.emptyText}
      action={
        <ButtonLink variant="primary" href={path('/start')}>
          {messages.toStart}
        </ButtonLink>
      }
    />
  )
}
