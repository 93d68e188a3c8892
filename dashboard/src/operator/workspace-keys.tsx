/** The API keys of a workspace, for the operator: revoke a leaked one, or create the first Admin key. */
import { Plus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { adminCreateKey, adminDeactivateKey, adminListKeys, type AdminApiKey } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { SecretDialog } from '#dashboard/src/shared/secret-dialog.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'
import { ListTable } from './loaded.tsx'

const CHANGED = ['/admin/workspaces']

export function WorkspaceKeys({ workspaceId }: { readonly workspaceId: string }): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [secret, setSecret] = useState<string | null>(null)
  const [ask, dialog] = useConfirmation()
  const create = useOperatorAction(adminCreateKey, CHANGED)
  const revoke = useOperatorAction(adminDeactivateKey, CHANGED)
  const list = useApiList(
    adminListKeys,
    { params: { workspace: workspaceId }, query: { limit: 50 } },
    { items: ({ data }) => data.keys, nextCursor: ({ data }) => data.next_cursor },
  )
  const askCreate = (): void =>
    ask({
      title: texts.createKey,
      text: texts.createKeyText,
      label: texts.createKey,
      run: async () => {
        const { data } = await create({ params: { workspace: workspaceId }, body: {} })
        setSecret(data.secret_key)
      },
    })
  const askRevoke = (key: AdminApiKey): void =>
    ask({
      title: texts.revokeTitle(key.name),
      text: texts.revokeText,
      label: texts.revoke,
      isDanger: true,
      run: () => revoke({ params: { id: key.id } }),
    })
  const columns = useKeyColumns(askRevoke)
  return (
    <Section
      title={texts.keys}
      actions={
        <Button size="sm" icon={Plus} onClick={askCreate}>
          {texts.createKey}
        </Button>
      }
    >
      <ListTable
        list={list}
        label={texts.keys}
        columns={columns}
        getRowId={({ id }) => id}
        empty={<p className="px-4 py-3 text-muted">{texts.noKeys}</p>}
      />
      {dialog}
      {secret !== null && (
        <SecretDialog title={texts.keyReady} secret={secret} copyLabel={texts.copyKey} onDone={() => setSecret(null)} />
      )}
    </Section>
  )
}

function useKeyColumns(onRevoke: (key: AdminApiKey) => void): readonly DataColumn<AdminApiKey>[] {
  const { operator, administration } = useTexts()
  const { workspaces: texts } = administration
  return [
    { id: 'name', header: texts.name, cell: ({ name }) => name },
    { id: 'type', header: texts.type, cell: ({ type }) => <Badge>{texts.types[type]}</Badge>, width: '7rem' },
    {
      id: 'domain',
      header: texts.domain,
      cell: ({ domain, account }) => domain ?? account ?? '–',
      width: '22%',
      priority: 3,
    },
    {
      id: 'used',
      header: texts.lastUsed,
      cell: (row) => (row.last_used_at === null ? texts.never : <RelativeTime value={row.last_used_at} />),
      width: '9.5rem',
      priority: 2,
    },
    {
      id: 'state',
      header: operator.state,
      cell: (row) => (
        <StatusBadge tone={row.is_active ? 'success' : 'neutral'}>
          {row.is_active ? texts.active : texts.inactive}
        </StatusBadge>
      ),
      width: '7rem',
      priority: 2,
    },
    {
      id: 'revoke',
      header: operator.actions,
      cell: (row) =>
        row.is_active && (
          <Button size="sm" onClick={() => onRevoke(row)}>
            {texts.revoke}
          </Button>
        ),
      width: '8rem',
    },
  ]
}
