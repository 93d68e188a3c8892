/** The templates of the workspace, each with a small picture of what it looks like. */
import { Braces, LayoutTemplate, Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listTemplates } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { TemplateListTabs } from './template-list-tabs.tsx'
import { TemplateThumbnail } from './template-thumbnail.tsx'
import { kindOf, type StoredTemplate } from './draft.ts'

const PAGE_SIZE = 50

export function TemplatesPage(): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    listTemplates,
    { query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data.templates, nextCursor: (answer) => answer.data.next_cursor },
  )
  const columns = useTemplateColumns()
  const wanted = (search['q'] ?? '').toLowerCase()
  const rows = list.items.filter(({ name, subject, category }) =>
    [name, subject, category ?? ''].some((text) => text.toLowerCase().includes(wanted)),
  )
  const create = can('templates:write') ? (
    <ButtonLink variant="primary" icon={Plus} href={path('/templates/new')}>
      {templates.create}
    </ButtonLink>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  return (
    <>
      <PageHeader
        title={templates.title}
        description={templates.description}
        actions={isEmpty ? undefined : create}
        tabs={<TemplateListTabs current="templates" />}
      />
      {!isEmpty && (
        <div className="mb-3 sm:max-w-xs">
          <SearchInput
            label={templates.search}
            placeholder={templates.search}
            value={search['q'] ?? ''}
            onChange={(q) => changeSearch({ q })}
          />
        </div>
      )}
      <Card padding="none">
        <DataTable
          label={templates.title}
          columns={columns}
          rows={list.query.isPending ? null : rows}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/templates/${row.id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={templates.notLoaded} />}
          empty={
            isEmpty ? (
              <EmptyState icon={LayoutTemplate} title={templates.empty} text={templates.emptyText} action={create} />
            ) : undefined
          }
        />
      </Card>
    </>
  )
}

function useTemplateColumns(): readonly DataColumn<StoredTemplate>[] {
  const { templates } = useTexts()
  return [
    {
      id: 'name',
      header: templates.name,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-3 py-1.5">
          <TemplateThumbnail template={row} />
          <span className="min-w-0">
            <span className="block truncate font-medium">{row.name}</span>
            <span className="block truncate text-sm text-muted">{row.subject}</span>
          </span>
        </span>
      ),
      sortValue: (row) => row.name,
    },
    {
      id: 'kind',
      header: templates.kind,
      cell: (row) => (
        <Badge {...(kindOf(row) === 'blocks' ? {} : { icon: Braces })}>{templates.kinds[kindOf(row)]}</Badge>
      ),
      sortValue: (row) => kindOf(row),
      width: '7rem',
      priority: 2,
    },
    {
      id: 'category',
      header: templates.category,
      cell: (row) => <span className="truncate text-muted">{row.category ?? '–'}</span>,
      sortValue: (row) => row.category,
      width: '10rem',
      priority: 3,
    },
    {
      id: 'used',
      header: templates.usedBy,
      cell: ({ used_by: { automations, campaigns } }) => (
        <span className="truncate text-muted">{templates.usedByBoth(automations, campaigns)}</span>
      ),
      sortValue: ({ used_by: { automations, campaigns } }) => automations + campaigns,
      width: '13rem',
      priority: 3,
    },
    {
      id: 'version',
      header: templates.version,
      cell: (row) => <span className="tabular-nums text-muted">{row.version}</span>,
      sortValue: (row) => row.version,
      align: 'right',
      width: '6rem',
      priority: 3,
    },
    {
      id: 'changed',
      header: templates.changed,
      align: 'right',
      cell: (row) => <RelativeTime value={row.updated_at} />,
      sortValue: (row) => row.updated_at,
      width: '10rem',
      priority: 2,
    },
  ]
}
