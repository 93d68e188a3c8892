/** The API keys of the workspace: who may send, and who may use the API. A key opens in a drawer. */
import { KeyRound, Plus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { listApiKeys, type ApiKey } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { SecretDialog } from '#dashboard/src/shared/secret-dialog.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { CreateAdminKeyDialog } from './create-admin-key-dialog.tsx'
import { CreateSendingKeyDialog } from './create-sending-key-dialog.tsx'
import { useKeyColumns } from './key-columns.tsx'
import { KeySheet } from './key-sheet.tsx'
import { UseOfKey } from './use-of-key.tsx'

const TYPES = ['all', 'regular', 'admin'] as const

/** A secret that was just made. */
export interface NewSecret {
  readonly title: string
  readonly secret: string
  readonly type: ApiKey['type']
}

export function KeysPage(): ReactNode {
  const { keys } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const [secret, setSecret] = useState<NewSecret | null>(null)
  const type = TYPES.find((one) => one === search['type']) ?? 'all'
  const list = useApiList(
    listApiKeys,
    { query: { limit: 100, ...(type === 'all' ? {} : { type }) } },
    { items: (answer) => answer.data.keys, nextCursor: (answer) => answer.data.next_cursor, keepsPrevious: true },
  )
  const columns = useKeyColumns()
  const shown = (made: NewSecret): void => {
    setSecret(made)
    changeSearch({ create: undefined, domain: undefined, key: undefined })
  }
  const close = (): void => changeSearch({ create: undefined, domain: undefined })
  return (
    <>
      <PageHeader title={keys.title} description={keys.description} actions={<CreateButtons />} />
      <div className="mb-4">
        <SegmentedControl
          label={keys.type}
          value={type}
          onChange={(value) => changeSearch({ type: value === 'all' ? undefined : value })}
          segments={TYPES.map((value) => ({ value, label: keys.filters[value] }))}
        />
      </div>
      <Card padding="none">
        <DataTable
          label={keys.title}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          onOpen={(row) => changeSearch({ key: row.id })}
          currentId={search['key']}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={list.query.error === null ? null : <FailedQuery query={list.query} title={keys.notLoaded} />}
          empty={<EmptyState icon={KeyRound} title={keys.empty} text={keys.emptyText} />}
        />
      </Card>
      <KeySheet id={search['key'] ?? null} onClose={() => changeSearch({ key: undefined })} onSecret={shown} />
      {can('keys:write') && (
        <CreateSendingKeyDialog
          isOpen={search['create'] === 'sending'}
          domainId={search['domain'] ?? null}
          onClose={close}
          onSecret={shown}
        />
      )}
      {can('admin-keys:create') && (
        <CreateAdminKeyDialog isOpen={search['create'] === 'admin'} onClose={close} onSecret={shown} />
      )}
      {secret !== null && (
        <SecretDialog
          title={secret.title}
          secret={secret.secret}
          copyLabel={keys.copyKey}
          onDone={() => setSecret(null)}
        >
          <UseOfKey type={secret.type} secret={secret.secret} />
        </SecretDialog>
      )}
    </>
  )
}

function CreateButtons(): ReactNode {
  const { keys } = useTexts()
  const can = useCan()
  const [, changeSearch] = useAddressSearch()
  return (
    <>
      {can('admin-keys:create') && (
        <Button icon={Plus} onClick={() => changeSearch({ create: 'admin' })}>
          {keys.createAdmin}
        </Button>
      )}
      {can('keys:write') && (
        <Button variant="primary" icon={Plus} onClick={() => changeSearch({ create: 'sending' })}>
          {keys.createSending}
        </Button>
      )}
    </>
  )
}
