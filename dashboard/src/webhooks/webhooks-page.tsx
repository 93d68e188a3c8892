/** The webhook endpoints of the workspace. */
import { useNavigate } from '@tanstack/react-router'
import { Plus, Webhook as WebhookIcon } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { listWebhooks, type ListWebhooksAnswer, type Webhook } from '#dashboard/src/api/endpoints.ts'
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
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { WebhookStatus } from './webhook-status.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'
import { WebhookSecretDialog, type ShownSecret } from './webhook-secret-dialog.tsx'

export function WebhooksPage(): ReactNode {
  const { webhooks } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const [made, setMade] = useState<ShownSecret | null>(null)
  const list = useApiList(
    listWebhooks,
    { query: { limit: 100 } },
    { items: (answer) => pageOf(answer).webhooks, nextCursor: (answer) => pageOf(answer).next_cursor },
  )
  const columns = useWebhookColumns()
  const create = can('webhooks:write') ? (
    <Button variant="primary" icon={Plus} onClick={() => changeSearch({ create: '1' })}>
      {webhooks.create}
    </Button>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  return (
    <>
      <PageHeader title={webhooks.title} description={webhooks.description} actions={isEmpty ? undefined : create} />
      <Card padding="none">
        <DataTable
          label={webhooks.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/webhooks/${row.id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={webhooks.notLoaded} />}
          empty={<EmptyState icon={WebhookIcon} title={webhooks.empty} text={webhooks.emptyText} action={create} />}
        />
      </Card>
      {search['create'] !== undefined && can('webhooks:write') && (
        <WebhookDialog
          webhook={null}
          onClose={() => changeSearch({ create: undefined })}
          onCreated={(created) => {
            setMade(created)
            changeSearch({ create: undefined })
          }}
        />
      )}
      {made !== null && (
        <WebhookSecretDialog
          title={webhooks.created}
          secret={made.secret}
          onDone={() => {
            setMade(null)
            void navigate({ to: path(`/webhooks/${made.id}`) })
          }}
        />
      )}
    </>
  )
}

type WebhookPage = Extract<ListWebhooksAnswer['data'], { readonly webhooks: unknown }>

/** The same endpoint answers one webhook for `?id=`, which no page asks for. */
function pageOf({ data }: ListWebhooksAnswer): Pick<WebhookPage, 'next_cursor' | 'webhooks'> {
  return 'webhooks' in data ? data : { webhooks: [data] }
}

function useWebhookColumns(): readonly DataColumn<Webhook>[] {
  const { webhooks } = useTexts()
  return [
    {
      id: 'url',
      header: webhooks.url,
      cell: (row) => (
        <span className="flex min-w-0 flex-col">
          <span className="truncate font-medium">{row.url}</span>
          {row.description !== null && <span className="truncate text-sm text-muted">{row.description}</span>}
        </span>
      ),
      sortValue: (row) => row.url,
    },
    {
      id: 'events',
      header: webhooks.events,
      cell: (row) => (
        <span className="truncate text-muted">
          {row.event_types.length === 0 || row.events.includes('*')
            ? webhooks.allEvents
            : webhooks.eventCount(row.event_types.length)}
        </span>
      ),
      width: '9rem',
      priority: 2,
    },
    {
      id: 'state',
      header: webhooks.state,
      cell: (row) => <WebhookStatus webhook={row} />,
      width: '9rem',
    },
    {
      id: 'created',
      header: webhooks.createdAt,
      cell: (row) => <RelativeTime value={row.created_at} />,
      sortValue: (row) => row.created_at,
      width: '10rem',
      priority: 3,
    },
  ]
}
