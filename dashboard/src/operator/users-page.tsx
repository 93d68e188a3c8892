/** Everybody who signs in, and what the operator can do about an account. */
import { UserPlus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { adminListUsers, type User } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { SecretDialog } from '#dashboard/src/shared/secret-dialog.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useConfirmation, type Confirmation } from './confirmation.tsx'
import { InviteUserDialog, type NewLink } from './invite-user-dialog.tsx'
import { ListTable } from './loaded.tsx'
import { OperatorInvitations } from './operator-invitations.tsx'
import { UserMenu } from './user-menu.tsx'

export function UsersPage(): ReactNode {
  const { administration } = useTexts()
  const { users: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const [link, setLink] = useState<NewLink | null>(null)
  const [ask, dialog] = useConfirmation()
  const list = useApiList(
    adminListUsers,
    { query: { limit: 100 } },
    { items: ({ data }) => data.users, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useUserColumns(ask, setLink)
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button variant="primary" icon={UserPlus} onClick={() => changeSearch({ invite: 'user' })}>
            {texts.invite}
          </Button>
        }
      />
      <div className="flex flex-col gap-8">
        <ListTable list={list} label={texts.title} columns={columns} getRowId={({ id }) => id} />
        <OperatorInvitations ask={ask} />
      </div>
      {search['invite'] === 'user' && (
        <InviteUserDialog onClose={() => changeSearch({ invite: undefined })} onLink={setLink} />
      )}
      {dialog}
      {link !== null && (
        <SecretDialog
          title={texts.linkReady(link.email)}
          secret={link.link}
          copyLabel={texts.copyLink}
          onDone={() => setLink(null)}
        />
      )}
    </>
  )
}

function useUserColumns(
  ask: (confirmation: Confirmation) => void,
  onLink: (link: NewLink) => void,
): readonly DataColumn<User>[] {
  const { operator, administration } = useTexts()
  const { users: texts } = administration
  return [
    { id: 'name', header: texts.name, cell: ({ name }) => <span className="font-medium">{name}</span>, width: '20%' },
    { id: 'email', header: texts.email, cell: ({ email }) => <EmailAddress address={email} />, priority: 2 },
    { id: 'methods', header: texts.methods, cell: ({ methods }) => methods.join(', '), width: '18%', priority: 3 },
    {
      id: 'state',
      header: texts.state,
      cell: (user) => (
        <span className="flex flex-wrap gap-2">
          <StatusBadge tone={user.disabled_at === null ? 'success' : 'neutral'}>
            {user.disabled_at === null ? texts.active : texts.disabled}
          </StatusBadge>
          {user.is_operator && <Badge tone="accent">{texts.operator}</Badge>}
        </span>
      ),
      width: '8.5rem',
    },
    {
      id: 'used',
      header: texts.lastUsed,
      cell: (user) => (user.last_used_at === null ? '–' : <RelativeTime value={user.last_used_at} />),
      width: '9rem',
      priority: 3,
    },
    {
      id: 'actions',
      header: operator.actions,
      isHeaderHidden: true,
      align: 'right',
      cell: (user) => <UserMenu user={user} ask={ask} onLink={onLink} />,
      width: '3.75rem',
    },
  ]
}
