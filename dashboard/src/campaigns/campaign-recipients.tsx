/** Who got a campaign, who did not, and why; with a filter in the address and an export of what it shows. */
import { Download, Users } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import {
  exportCampaignRecipients,
  listCampaignRecipients,
  type ListCampaignRecipientsAnswer,
} from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { Tooltip } from '#dashboard/src/ui/tooltip.tsx'
import type { Campaign } from './campaign-state.ts'

type Recipient = ListCampaignRecipientsAnswer['data']['recipients'][number]
type Filter = keyof ReturnType<typeof useTexts>['campaigns']['filters']

const PAGE_SIZE = 100
const ALL = 'all'
const TONES: Readonly<Record<Recipient['state'], Tone>> = {
  waiting: 'neutral',
  dispatched: 'info',
  deferred: 'warning',
  sent: 'info',
  delivered: 'success',
  bounced: 'danger',
  failed: 'danger',
  suppressed: 'neutral',
  skipped: 'neutral',
  cancelled: 'neutral',
}

export function CampaignRecipients({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const [search, changeSearch] = useAddressSearch()
  const names = Object.keys(campaigns.filters) as Filter[]
  const filter = names.find((one) => one === search['filter'])
  const list = useApiList(
    listCampaignRecipients,
    {
      params: { id: campaign.id },
      query: { limit: PAGE_SIZE, ...(filter === undefined ? {} : { filter }) },
    },
    { items: ({ data }) => data.recipients, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useColumns(campaign.test !== null)
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <Select
          label={campaigns.filter}
          className="w-56"
          value={filter ?? ALL}
          onChange={(value) => changeSearch({ filter: value === ALL ? undefined : value })}
          options={[
            { value: ALL, label: campaigns.everyRecipient },
            ...names.map((value) => ({ value: value as string, label: campaigns.filters[value] })),
          ]}
        />
        <ExportButton campaign={campaign} filter={filter} />
      </div>
      <Card padding="none">
        <DataTable
          label={campaigns.recipients}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.contact_id}
          getHref={(row) =>
            row.email_id === null ? path(`/contacts/${row.contact_id}`) : path(`/messages/${row.email_id}`)
          }
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={
            list.query.error === null ? null : <FailedQuery query={list.query} title={campaigns.recipientsNotLoaded} />
          }
          empty={<EmptyState icon={Users} title={campaigns.noRecipients} text={campaigns.noRecipientsText} />}
        />
      </Card>
    </>
  )
}

function ExportButton(props: { readonly campaign: Campaign; readonly filter: Filter | undefined }): ReactNode {
  const { campaign, filter } = props
  const { campaigns } = useTexts()
  const can = useCan()
  const { start, isRunning } = useDownload(exportCampaignRecipients, `${campaign.name}.csv`)
  const button = (
    <Button
      icon={Download}
      disabled={!can('contacts:export')}
      isLoading={isRunning}
      onClick={() => start({ params: { id: campaign.id }, query: filter === undefined ? {} : { filter } })}
    >
      {campaigns.export}
    </Button>
  )
  return can('contacts:export') ? button : <Tooltip text={campaigns.exportNot}>{button}</Tooltip>
}

function useColumns(hasTest: boolean): readonly DataColumn<Recipient>[] {
  const { campaigns } = useTexts()
  const say = useServerText()
  const time = (value: string | null): ReactNode =>
    value === null ? <span className="text-faint">–</span> : <RelativeTime value={value} />
  const variant: DataColumn<Recipient> = {
    id: 'variant',
    header: campaigns.variant,
    cell: (row) => row.variant?.toUpperCase() ?? '–',
    width: '5.5rem',
    priority: 3,
  }
  return [
    { id: 'email', header: campaigns.address, cell: (row) => <EmailAddress address={row.email} /> },
    {
      id: 'state',
      header: campaigns.outcome,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          <StatusBadge tone={TONES[row.state]}>
            {campaigns.filters[row.state]}
            {row.bounce_type !== null && ` (${campaigns[row.bounce_type]})`}
          </StatusBadge>
          {row.reason !== null && (
            <span className="truncate text-sm text-muted" title={say(row.reason, row.reason_translation)}>
              {say(row.reason, row.reason_translation)}
            </span>
          )}
        </span>
      ),
    },
    ...(hasTest ? [variant] : []),
    {
      id: 'delivered',
      header: campaigns.delivered,
      cell: (row) => time(row.delivered_at),
      width: '9.5rem',
      priority: 2,
    },
    { id: 'opened', header: campaigns.opened, cell: (row) => time(row.opened_at), width: '9.5rem', priority: 2 },
    { id: 'clicked', header: campaigns.clicked, cell: (row) => time(row.clicked_at), width: '9.5rem', priority: 3 },
  ]
}
