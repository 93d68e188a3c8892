/** What was posted to an endpoint, newest first. A delivery opens in a drawer with each of its attempts. */
import { Inbox } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listWebhookDeliveries, type Webhook, type WebhookDelivery } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Duration, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { DeliveryState } from './webhook-status.tsx'
import { DeliverySheet } from './delivery-sheet.tsx'

const STATES = ['all', 'delivered', 'pending', 'failed'] as const
export function DeliveryLog({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhooks } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const state = STATES.find((one) => one === search['state']) ?? 'all'
  const list = useApiList(
    listWebhookDeliveries,
    { params: { id: webhook.id }, query: { limit: 50, ...(state === 'all' ? {} : { state }) } },
    { items: (answer) => answer.data.deliveries, nextCursor: (answer) => answer.data.next_cursor, keepsPrevious: true },
  )
  const columns = useDeliveryColumns()
  return (
    <div className="flex flex-col gap-4">
      <div>
        <SegmentedControl
          label={webhooks.state}
          value={state}
          onChange={(value) => changeSearch({ state: value === 'all' ? undefined : value })}
          segments={STATES.map((value) => ({
            value,
            label: value === 'all' ? webhooks.allStates : webhooks.states[value],
          }))}
        />
      </div>
      <Card padding="none">
        <DataTable
          label={webhooks.tabs.deliveries}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.event_id}
          onOpen={(row) => changeSearch({ event: row.event_id })}
          currentId={search['event']}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={webhooks.logNotLoaded} />}
          empty={
            state === 'all' ? (
              <EmptyState icon={Inbox} title={webhooks.noDeliveries} text={webhooks.noDeliveriesText} />
            ) : (
              <EmptyState title={webhooks.noneInState} />
            )
          }
        />
      </Card>
      <DeliverySheet
        webhook={webhook}
        eventId={search['event'] ?? null}
        onClose={() => changeSearch({ event: undefined })}
      />
    </div>
  )
}

function useDeliveryColumns(): readonly DataColumn<WebhookDelivery>[] {
  const { webhooks } = useTexts()
  return [
    {
      id: 'event',
      header: webhooks.event,
      cell: (row) => <code className="truncate font-mono text-sm">{row.type ?? webhooks.eventGone}</code>,
    },
    { id: 'state', header: webhooks.state, cell: (row) => <DeliveryState state={row.state} />, width: '9rem' },
    {
      id: 'answer',
      header: webhooks.lastAnswer,
      cell: (row) => <LastAnswer delivery={row} />,
      width: '30%',
      priority: 2,
    },
    {
      id: 'latency',
      header: webhooks.latency,
      align: 'right',
      cell: (row) => {
        const last = row.attempts.at(-1)
        return last === undefined ? '–' : <Duration seconds={last.duration_ms / 1000} />
      },
      width: '7rem',
      priority: 3,
    },
    {
      id: 'tries',
      header: webhooks.tries,
      align: 'right',
      cell: (row) => row.attempts.length,
      width: '6rem',
      priority: 3,
    },
    {
      id: 'at',
      header: webhooks.createdAt,
      align: 'right',
      cell: (row) => <RelativeTime value={row.created_at} />,
      width: '9rem',
      priority: 2,
    },
  ]
}

function LastAnswer({ delivery }: { readonly delivery: WebhookDelivery }): ReactNode {
  const last = delivery.attempts.at(-1)
  if (last === undefined) return '–'
  return <span className="truncate text-muted">{last.error ?? `HTTP ${last.status ?? ''}`}</span>
}
