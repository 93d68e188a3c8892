import { Filter, Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getSegment, listSegments, type Segment } from '#dashboard/src/api/endpoints.ts'
import { useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ContactTabs } from './contact-tabs.tsx'

export function SegmentsPage(): ReactNode {
  const { contacts, segments } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const list = useApiList(
    listSegments,
    { query: { limit: 50 } },
    { items: ({ data }) => data.segments, nextCursor: ({ data }) => data.next_cursor },
  )
  const create = (
    <ButtonLink variant="primary" icon={Plus} href={path('/segments/new')}>
      {segments.create}
    </ButtonLink>
  )
  return (
    <>
      <PageHeader
        title={contacts.title}
        description={segments.description}
        tabs={<ContactTabs current="segments" />}
        actions={canWrite ? create : undefined}
      />
      <Card padding="none">
        <DataTable
          label={segments.title}
          columns={useColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          getHref={({ id }) => path(`/segments/${id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={
            <EmptyState
              icon={Filter}
              title={segments.emptyTitle}
              text={segments.emptyText}
              action={canWrite ? create : undefined}
            />
          }
          error={list.query.isError ? <FailedQuery query={list.query} title={segments.notLoaded} /> : undefined}
        />
      </Card>
    </>
  )
}

function useColumns(): readonly DataColumn<Segment>[] {
  const { segments } = useTexts()
  const audiences = useAudienceChoices()
  return [
    { id: 'name', header: segments.name, cell: ({ name }) => name },
    {
      id: 'audience',
      header: segments.audience,
      width: '25%',
      priority: 2,
      cell: ({ audienceId }) =>
        audienceId === null
          ? segments.allContacts
          : (audiences.find(({ value }) => value === audienceId)?.label ?? audienceId),
    },
    {
      id: 'count',
      header: segments.contacts,
      width: '8rem',
      align: 'right',
      cell: ({ id }) => <SegmentCount id={id} />,
    },
    {
      id: 'changed',
      header: segments.changed,
      width: '9rem',
      align: 'right',
      priority: 2,
      cell: ({ updatedAt }) => <RelativeTime value={updatedAt} />,
    },
  ]
}

/** Counting reads contacts, so only rows that are visible are counted. */
function SegmentCount({ id }: { readonly id: string }): ReactNode {
  const { data, isError } = useApi(getSegment, { params: { id } }, { staleMs: 60_000 })
  if (isError) return '–'
  return data === undefined ? (
    <Skeleton className="ml-auto h-3.5 w-10" />
  ) : (
    <NumberText value={data.data.contactCount} isExact />
  )
}
