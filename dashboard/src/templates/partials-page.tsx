/** The partials of the workspace: pieces that several templates share. */
import { Plus, Puzzle } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listPartials, type ListPartialsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { TemplateListTabs } from './template-list-tabs.tsx'

type Partial = ListPartialsAnswer['data']['partials'][number]
const PAGE_SIZE = 100
/** The name in the address of a partial that does not exist yet; no partial can have it. */
export const NEW_PARTIAL = '+new'

export function PartialsPage(): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const list = useApiList(
    listPartials,
    { query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data.partials, nextCursor: (answer) => answer.data.next_cursor },
  )
  const create = can('templates:write') ? (
    <ButtonLink variant="primary" icon={Plus} href={path(`/templates/partials/${NEW_PARTIAL}`)}>
      {templates.createPartial}
    </ButtonLink>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  return (
    <>
      <PageHeader
        title={templates.title}
        description={templates.partialsText}
        actions={isEmpty ? undefined : create}
        tabs={<TemplateListTabs current="partials" />}
      />
      <Card padding="none">
        <DataTable
          label={templates.partials}
          columns={usePartialColumns()}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.name}
          getHref={(row) => path(`/templates/partials/${encodeURIComponent(row.name)}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={
            list.query.error === null ? null : <FailedQuery query={list.query} title={templates.partialsNotLoaded} />
          }
          empty={
            <EmptyState
              icon={Puzzle}
              title={templates.partialsEmpty}
              text={templates.partialsEmptyText}
              action={create}
            />
          }
        />
      </Card>
    </>
  )
}

function usePartialColumns(): readonly DataColumn<Partial>[] {
  const { templates } = useTexts()
  return [
    {
      id: 'name',
      header: templates.name,
      cell: (row) => <span className="truncate font-mono font-medium">{row.name}</span>,
      sortValue: (row) => row.name,
    },
    {
      id: 'uses',
      header: templates.usedBy,
      cell: (row) => <span className="text-muted">{templates.usedByCount(row.uses)}</span>,
      sortValue: (row) => row.uses,
      width: '10rem',
    },
    {
      id: 'version',
      header: templates.version,
      cell: (row) => <span className="text-muted tabular-nums">{row.version}</span>,
      align: 'right',
      width: '6rem',
      priority: 3,
    },
    {
      id: 'changed',
      header: templates.changed,
      cell: (row) => <RelativeTime value={row.updated_at} />,
      sortValue: (row) => row.updated_at,
      width: '10rem',
      priority: 2,
    },
  ]
}
