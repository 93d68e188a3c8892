/** The sending domains of the workspace with their live state. */
import { Globe, Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getDomains, getWorkspace, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { AddDomainDialog } from './add-domain-dialog.tsx'
import { DomainStatus } from './domain-status.tsx'

const PAGE_SIZE = 100

export function DomainsPage(): ReactNode {
  const { domains } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    getDomains,
    { query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data, nextCursor: (answer) => answer.next_cursor },
  )
  const columns = useDomainColumns()
  const limit = useApi(getWorkspace, {}).data?.data.domains.limit ?? null
  const addButton = can('domains:write') ? (
    <Button variant="primary" icon={Plus} onClick={() => changeSearch({ add: '1' })}>
      {domains.add}
    </Button>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  return (
    <>
      <PageHeader title={domains.title} description={domains.description} actions={isEmpty ? undefined : addButton} />
      <Card padding="none">
        <DataTable
          label={domains.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/domains/${row.id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={domains.notLoaded} />}
          empty={<EmptyState icon={Globe} title={domains.empty} text={domains.emptyText} action={addButton} />}
        />
      </Card>
      {limit !== null && list.first !== undefined && (
        <p className="mt-3 text-sm text-muted">{domains.ofPlan(list.first.total, limit)}</p>
      )}
      <AddDomainDialog isOpen={search['add'] !== undefined} onClose={() => changeSearch({ add: undefined })} />
    </>
  )
}

function useDomainColumns(): readonly DataColumn<Domain>[] {
  const { domains } = useTexts()
  return [
    {
      id: 'domain',
      header: domains.domain,
      cell: (row) => <span className="truncate font-medium">{row.domain}</span>,
      sortValue: (row) => row.domain,
    },
    {
      id: 'status',
      header: domains.state,
      cell: (row) => <DomainStatus status={row.status} />,
      sortValue: (row) => row.status,
      width: '9.5rem',
    },
    {
      id: 'records',
      header: domains.recordsFound,
      cell: (row) => <RecordCount domain={row} />,
      width: '9.5rem',
      priority: 2,
    },
    {
      id: 'checked',
      header: domains.lastChecked,
      align: 'right',
      cell: (row) => (row.last_checked_at === null ? domains.notChecked : <RelativeTime value={row.last_checked_at} />),
      sortValue: (row) => row.last_checked_at,
      width: '9rem',
      priority: 2,
    },
    {
      id: 'created',
      header: domains.added,
      align: 'right',
      cell: (row) => <RelativeTime value={row.created_at} />,
      sortValue: (row) => row.created_at,
      width: '10rem',
      priority: 3,
    },
  ]
}

function RecordCount({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const found = domain.dns_records.filter(({ status }) => status === 'ok').length
  return <span className="text-muted">{domains.recordCount(found, domain.dns_records.length)}</span>
}
