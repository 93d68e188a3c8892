import { Trash2, UserCog } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import {
  changeMember,
  removeMember,
  revokeInvitation,
  type Invitation,
  type Member,
} from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan, useWorkspace } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

const ROLES = ['owner', 'admin', 'developer', 'marketer', 'viewer'] as const
const TEAM = ['/public/members', '/public/invitations', '/auth/me']

/** Nobody gives a role above their own. */
export function useRolesToGive(): readonly Member['role'][] {
  const { role } = useWorkspace()
  return ROLES.slice(ROLES.indexOf(role))
}

export function useMemberColumns(): readonly DataColumn<Member>[] {
  const { people } = useTexts()
  const texts = people.team
  return [
    {
      id: 'name',
      header: texts.name,
      cell: ({ name, email, is_self: isSelf, is_disabled: isDisabled }) => (
        <span className="flex min-w-0 flex-col">
          <span className="flex items-center gap-2 truncate">
            {name}
            <span className="flex shrink-0 gap-2">
              {isSelf && <Badge>{texts.you}</Badge>}
              {isDisabled && <Badge tone="warning">{texts.disabled}</Badge>}
            </span>
          </span>
          <span className="truncate text-sm text-muted">
            <EmailAddress address={email} />
          </span>
        </span>
      ),
    },
    { id: 'role', header: texts.role, width: '8rem', cell: ({ role }) => texts.roles[role][0] },
    {
      id: 'joined',
      header: texts.joined,
      width: '10rem',
      priority: 3,
      cell: ({ joined_at: at }) => <DateTime value={at} precision="day" />,
    },
    {
      id: 'seen',
      header: texts.lastSeen,
      width: '10rem',
      priority: 2,
      cell: ({ last_used_at: at }) => (at === null ? texts.never : <RelativeTime value={at} />),
    },
    {
      id: 'actions',
      header: texts.actions,
      isHeaderHidden: true,
      width: '3.75rem',
      align: 'right',
      cell: (member) => <MemberActions member={member} />,
    },
  ]
}

function MemberActions({ member }: { readonly member: Member }): ReactNode {
  const { people } = useTexts()
  const texts = people.team
  const toast = useToast()
  const can = useCan()
  const roles = useRolesToGive()
  const [isRemoving, setRemoving] = useState(false)
  const change = useAction(changeMember, { invalidates: TEAM, onSuccess: () => toast({ title: texts.roleChanged }) })
  const remove = useAction(removeMember, {
    invalidates: TEAM,
    onSuccess: () => {
      setRemoving(false)
      toast({ title: texts.removed(member.name) })
    },
    onError: () => undefined,
  })
  // a role above the own one is beyond reach, and nobody changes their own
  if (!can('members:manage') || member.is_self || !roles.includes(member.role)) return null
  const params = { id: member.user_id }
  return (
    <>
      <Menu
        trigger={<IconButton icon={UserCog} label={`${texts.actions}: ${member.name}`} size="sm" />}
        groups={[
          {
            label: texts.changeRole,
            items: roles.map((role) => ({
              label: texts.roles[role][0] ?? role,
              description: texts.roles[role][1],
              isChecked: role === member.role,
              onSelect: () => change.mutate({ params, body: { role } }),
            })),
          },
          { items: [{ label: texts.remove, icon: Trash2, isDanger: true, onSelect: () => setRemoving(true) }] },
        ]}
      />
      <ConfirmDialog
        isOpen={isRemoving}
        onOpenChange={setRemoving}
        title={texts.removeTitle(member.name)}
        text={texts.removeText}
        confirmLabel={texts.remove}
        isDanger
        isLoading={remove.isPending}
        error={remove.error?.message}
        onConfirm={() => remove.mutate({ params })}
      />
    </>
  )
}

export function useInvitationColumns(): readonly DataColumn<Invitation>[] {
  const { people } = useTexts()
  const texts = people.team
  return [
    { id: 'email', header: texts.email, cell: ({ email }) => <EmailAddress address={email} /> },
    { id: 'role', header: texts.role, width: '9rem', priority: 2, cell: ({ role }) => texts.roles[role][0] },
    {
      id: 'by',
      header: texts.invitedBy,
      width: '12rem',
      priority: 3,
      cell: ({ invited_by: by }) => by ?? '',
    },
    {
      id: 'expires',
      header: texts.expires,
      width: '10rem',
      priority: 2,
      cell: ({ expires_at: at }) => <DateTime value={at} precision="day" />,
    },
    {
      id: 'actions',
      header: texts.actions,
      isHeaderHidden: true,
      width: '9rem',
      align: 'right',
      cell: (invitation) => <RevokeButton invitation={invitation} />,
    },
  ]
}

function RevokeButton({ invitation }: { readonly invitation: Invitation }): ReactNode {
  const { people } = useTexts()
  const toast = useToast()
  const revoke = useAction(revokeInvitation, {
    invalidates: TEAM,
    onSuccess: () => toast({ title: people.team.revoked }),
  })
  return (
    <Button size="sm" isLoading={revoke.isPending} onClick={() => revoke.mutate({ params: { id: invitation.id } })}>
      {people.team.revoke}
    </Button>
  )
}
