/** The inbound routes: which addresses accept mail, and what happens with it. */
import { Ellipsis, Pencil, Plus, Route, Search, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteInboundRoute, listInboundRoutes, type InboundRoute } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { InboundRouteDialog } from './inbound-route-dialog.tsx'
import { ReceivedTabs } from './received-tabs.tsx'

const PAGE_SIZE = 100
const NEW = 'new'

export function InboundRoutesPage(): ReactNode {
  const { received } = useTexts()
  const mayWrite = useCan()('inbound:write')
  const [search, change] = useAddressSearch()
  const [deleted, setDeleted] = useState<InboundRoute | null>(null)
  const list = useApiList(
    listInboundRoutes,
    { query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data.routes, nextCursor: (answer) => answer.data.next_cursor },
  )
  const { query } = list
  const columns = useRouteColumns(mayWrite ? setDeleted : null)
  const dialog = search['dialog']
  const close = (): void => change({ dialog: undefined })
  const edited = list.items.find(({ id }) => id === dialog)
  const newButton = (
    <Button variant="primary" icon={Plus} onClick={() => change({ dialog: NEW })}>
      {received.newRoute}
    </Button>
  )
  return (
    <>
      <PageHeader
        title={received.title}
        description={received.routesDescription}
        actions={mayWrite ? newButton : null}
        tabs={<ReceivedTabs current="routes" />}
      />
      <Card padding="none">
        <DataTable
          label={received.routes}
          columns={columns}
          rows={query.isPending ? null : list.items}
          getRowId={({ id }) => id}
          onOpen={mayWrite ? ({ id }) => change({ dialog: id }) : undefined}
          hasMore={list.hasMore}
          isLoadingMore={query.isFetchingNextPage}
          onEndReached={list.loadMore}
          error={query.error === null ? null : <FailedQuery query={query} title={received.routesNotLoaded} />}
          empty={
            <EmptyState
              icon={Route}
              title={received.noRoutes}
              text={received.noRoutesText}
              action={mayWrite ? newButton : undefined}
            />
          }
        />
      </Card>
      {mayWrite && dialog === NEW && <InboundRouteDialog route={null} onClose={close} />}
      {mayWrite && edited !== undefined && <InboundRouteDialog key={edited.id} route={edited} onClose={close} />}
      {deleted !== null && <DeleteRoute route={deleted} onClose={() => setDeleted(null)} />}
    </>
  )
}

function useRouteColumns(onDelete: ((route: InboundRoute) => void) | null): readonly DataColumn<InboundRoute>[] {
  const { received } = useTexts()
  const menu: DataColumn<InboundRoute> = {
    id: 'actions',
    header: received.actions,
    isHeaderHidden: true,
    width: '3.75rem',
    align: 'right',
    cell: (route) => <RouteMenu route={route} onDelete={() => onDelete?.(route)} />,
  }
  return [
    {
      id: 'address',
      header: received.address,
      cell: ({ address, description }) => (
        <span className="block min-w-0 truncate" title={description ?? address}>
          <span className="font-medium">{address}</span>
          {description !== null && <span className="ml-2 text-sm text-muted">{description}</span>}
        </span>
      ),
    },
    {
      id: 'action',
      header: received.action,
      width: '24%',
      priority: 2,
      cell: ({ action, forward_targets: targets }) => {
        const names = targets.map(({ address, state }) =>
          state === 'unconfirmed' ? `${address} (${received.unconfirmed})` : address,
        )
        return (
          <span className="block truncate" title={names.join(', ')}>
            {received.actionNames[action]}
            {names.length > 0 && <span className="ml-1.5 text-sm text-muted">→ {names.join(', ')}</span>}
          </span>
        )
      },
    },
    {
      id: 'priority',
      header: received.priority,
      width: '6rem',
      align: 'right',
      priority: 3,
      cell: ({ priority }) => <NumberText value={priority} isExact />,
    },
    { id: 'state', header: received.state, width: '8rem', cell: (route) => <RouteState route={route} /> },
    ...(onDelete === null ? [] : [menu]),
  ]
}

function RouteState({ route }: { readonly route: InboundRoute }): ReactNode {
  const { received } = useTexts()
  if (!route.is_domain_verified) return <StatusBadge tone="danger">{received.unverified}</StatusBadge>
  return route.is_active ? (
    <StatusBadge tone="success">{received.active}</StatusBadge>
  ) : (
    <StatusBadge tone="neutral">{received.inactive}</StatusBadge>
  )
}

interface RouteActionProps {
  readonly route: InboundRoute
  readonly onDelete: () => void
}

function RouteMenu({ route, onDelete }: RouteActionProps): ReactNode {
  const { received } = useTexts()
  const path = useWorkspacePath()
  return (
    <Menu
      trigger={<IconButton size="sm" icon={Ellipsis} label={received.actionsFor(route.address)} hasTooltip={false} />}
      groups={[
        {
          items: [
            { label: received.edit, icon: Pencil, href: path('/received/routes', { dialog: route.id }) },
            { label: received.itsMail, icon: Search, href: path('/received', { route_id: route.id }) },
          ],
        },
        { items: [{ label: received.delete, icon: Trash2, isDanger: true, onSelect: onDelete }] },
      ]}
    />
  )
}

function DeleteRoute({ route, onClose }: { readonly route: InboundRoute; readonly onClose: () => void }): ReactNode {
  const { received } = useTexts()
  const toast = useToast()
  const [error, setError] = useState<string | null>(null)
  const remove = useAction(deleteInboundRoute, {
    invalidates: ['/public/inbound/routes'],
    onSuccess: () => {
      toast({ title: received.routeDeleted })
      onClose()
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      isDanger
      title={received.deleteRouteTitle(route.address)}
      text={received.deleteRouteText}
      confirmLabel={received.delete}
      onConfirm={() => remove.mutate({ params: { id: route.id } })}
      isLoading={remove.isPending}
      error={error}
    />
  )
}
