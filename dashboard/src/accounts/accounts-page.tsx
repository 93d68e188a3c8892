/** The connected accounts of the workspace. An account opens in a drawer. */
import { Mail, Plug, Server } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listAccounts, type Account } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { AccountDialog } from './account-dialog.tsx'
import { AccountSheet } from './account-sheet.tsx'
import { AccountStatus } from './account-status.tsx'
import { ConnectMailboxDialog } from './connect-mailbox-dialog.tsx'

export function AccountsPage(): ReactNode {
  const { accounts } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    listAccounts,
    { query: { limit: 100 } },
    { items: (answer) => answer.data.accounts, nextCursor: (answer) => answer.data.next_cursor },
  )
  const columns = useAccountColumns()
  const buttons = can('accounts:write') ? (
    <>
      <Button icon={Mail} onClick={() => changeSearch({ connect: 'mailbox' })}>
        {accounts.connectMailbox}
      </Button>
      <Button variant="primary" icon={Server} onClick={() => changeSearch({ connect: 'smtp' })}>
        {accounts.connectSmtp}
      </Button>
    </>
  ) : undefined
  const isEmpty = list.query.isSuccess && list.items.length === 0
  const close = (): void => changeSearch({ connect: undefined })
  return (
    <>
      <PageHeader title={accounts.title} description={accounts.description} actions={isEmpty ? undefined : buttons} />
      <Card padding="none">
        <DataTable
          label={accounts.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          onOpen={(row) => changeSearch({ account: row.id })}
          currentId={search['account']}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={accounts.notLoaded} />}
          empty={<EmptyState icon={Plug} title={accounts.empty} text={accounts.emptyText} action={buttons} />}
        />
      </Card>
      <AccountSheet id={search['account'] ?? null} onClose={() => changeSearch({ account: undefined })} />
      {can('accounts:write') && search['connect'] === 'smtp' && (
        <AccountDialog
          account={null}
          onClose={close}
          onSaved={({ id }) => changeSearch({ connect: undefined, account: id })}
        />
      )}
      {can('accounts:write') && search['connect'] === 'mailbox' && (
        <ConnectMailboxDialog account={null} onClose={close} />
      )}
    </>
  )
}

function useAccountColumns(): readonly DataColumn<Account>[] {
  const { accounts } = useTexts()
  return [
    {
      id: 'name',
      header: accounts.name,
      cell: (row) => (
        <span className="flex min-w-0 flex-col">
          <span className="truncate font-medium">{row.name}</span>
          <span className="truncate text-sm text-muted">{row.username}</span>
        </span>
      ),
      sortValue: (row) => row.name,
    },
    {
      id: 'server',
      header: accounts.server,
      cell: (row) => <span className="truncate text-muted">{row.provider ?? `${row.host}:${row.port}`}</span>,
      width: '30%',
      priority: 2,
    },
    {
      id: 'limit',
      header: accounts.perMinute,
      align: 'right',
      cell: (row) =>
        row.messages_per_minute === null ? accounts.noLimit : <NumberText value={row.messages_per_minute} />,
      width: '10rem',
      priority: 3,
    },
    { id: 'status', header: accounts.state, cell: (row) => <AccountStatus status={row.status} />, width: '9rem' },
  ]
}
