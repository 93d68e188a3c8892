/** The campaigns of the workspace, newest first, with their state and what became of them. */
import { Megaphone, Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getCampaigns, type GetCampaignsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
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
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { progressOf, STATUSES } from './campaign-state.ts'
import { CampaignStatus } from './campaign-status.tsx'
import { CreateCampaignDialog } from './create-campaign-dialog.tsx'

const PAGE_SIZE = 50

type Row = GetCampaignsAnswer['data']['campaigns'][number]

export function CampaignsPage(): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const status = STATUSES.find((one) => one === search['status'])
  const list = useApiList(
    getCampaigns,
    { query: { limit: PAGE_SIZE, ...(status === undefined ? {} : { status }) } },
    { items: ({ data }) => data.campaigns, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useColumns()
  const create = can('campaigns:write') ? (
    <Button variant="primary" icon={Plus} onClick={() => changeSearch({ create: '1' })}>
      {campaigns.create}
    </Button>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0 && status === undefined
  return (
    <>
      <PageHeader title={campaigns.title} description={campaigns.description} actions={isEmpty ? undefined : create} />
      {!isEmpty && (
        <div className="mb-3">
          <FilterBar
            filters={[
              {
                key: 'status',
                label: campaigns.state,
                options: STATUSES.map((value) => ({ value, label: campaigns.status[value] })),
              },
            ]}
            value={status === undefined ? {} : { status }}
            onChange={(value) => changeSearch({ status: value['status'] })}
          />
        </div>
      )}
      <Card padding="none">
        <DataTable
          label={campaigns.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/campaigns/${row.id}${row.status === 'DRAFT' ? '/edit/who' : ''}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={campaigns.notLoaded} />}
          empty={
            status === undefined ? (
              <EmptyState icon={Megaphone} title={campaigns.empty} text={campaigns.emptyText} action={create} />
            ) : (
              <EmptyState icon={Megaphone} title={campaigns.emptyFiltered} text={campaigns.emptyFilteredText} />
            )
          }
        />
      </Card>
      <CreateCampaignDialog
        isOpen={search['create'] !== undefined}
        onClose={() => changeSearch({ create: undefined })}
      />
    </>
  )
}

function useColumns(): readonly DataColumn<Row>[] {
  const { campaigns } = useTexts()
  return [
    {
      id: 'name',
      header: campaigns.name,
      cell: (row) => (
        <span className="block min-w-0">
          <span className="block truncate font-medium">{row.name}</span>
          <span className="block truncate text-sm text-muted">{row.subject ?? ''}</span>
        </span>
      ),
    },
    {
      id: 'status',
      header: campaigns.state,
      cell: (row) => <CampaignStatus status={row.status} />,
      width: '12.5rem',
    },
    {
      id: 'recipients',
      header: campaigns.recipients,
      cell: (row) => <Result row={row} show={(campaign) => <Recipients campaign={campaign} />} />,
      width: '10rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'opened',
      header: campaigns.opened,
      cell: (row) => <Result row={row} show={({ metrics }) => <Rate part={metrics.opened} of={metrics.delivered} />} />,
      width: '6.5rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'clicked',
      header: campaigns.clicked,
      cell: (row) => (
        <Result row={row} show={({ metrics }) => <Rate part={metrics.clicked} of={metrics.delivered} />} />
      ),
      width: '6.5rem',
      align: 'right',
      priority: 3,
    },
    {
      id: 'changed',
      header: campaigns.changed,
      cell: (row) => <RelativeTime value={row.updated_at} />,
      width: '10rem',
      priority: 3,
    },
  ]
}

function Result({ row, show }: { readonly row: Row; readonly show: (row: Row) => ReactNode }): ReactNode {
  return row.started_at === null ? <span className="text-faint">–</span> : show(row)
}

function Recipients({ campaign }: { readonly campaign: Row }): ReactNode {
  const { campaigns, ui } = useTexts()
  const share = progressOf(campaign)
  const { recipients, waiting } = campaign.metrics
  if (share === null || share === 1) return <NumberText value={recipients} />
  return (
    <Progress
      label={campaigns.progress}
      isLabelHidden
      share={share}
      text={campaigns.progressOf(formatNumber(recipients - waiting, ui.locale), formatNumber(recipients, ui.locale))}
    />
  )
}

function Rate({ part, of }: { readonly part: number; readonly of: number }): ReactNode {
  return <Percent share={of === 0 ? null : part / of} />
}
