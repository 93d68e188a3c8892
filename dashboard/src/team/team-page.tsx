/** Members of the workspace and open invitations. Who may not manage members sees them and can leave. */
import { UserPlus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { leaveWorkspace, listInvitations, listMembers } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { useInvitationColumns, useMemberColumns } from './team-columns.tsx'

export function TeamPage(): ReactNode {
  const { people } = useTexts()
  const texts = people.team
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const members = useApiList(
    listMembers,
    { query: { limit: 100 } },
    { items: ({ data }) => data.members, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useMemberColumns()
  const mayManage = can('members:manage')
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          mayManage && (
            <Button variant="primary" icon={UserPlus} onClick={() => changeSearch({ invite: 'yes' })}>
              {texts.invite}
            </Button>
          )
        }
      />
      <Section title={texts.members}>
        <Card padding="none">
          <DataTable
            label={texts.members}
            columns={columns}
            rows={members.first === undefined ? null : members.items}
            getRowId={({ user_id: id }) => id}
            hasMore={members.hasMore}
            onEndReached={members.loadMore}
            error={members.query.error === null ? null : <FailedQuery query={members.query} title={texts.failed} />}
          />
        </Card>
      </Section>
      {mayManage && <Invitations />}
      <div className="mt-8">
        <Button onClick={() => changeSearch({ leave: 'yes' })}>{texts.leave}</Button>
      </div>
      {search['invite'] !== undefined && <InviteDialog onClose={() => changeSearch({ invite: undefined })} />}
      {search['leave'] !== undefined && <LeaveDialog onClose={() => changeSearch({ leave: undefined })} />}
    </>
  )
}

function Invitations(): ReactNode {
  const { people } = useTexts()
  const texts = people.team
  const list = useApiList(
    listInvitations,
    { query: { limit: 100 } },
    { items: ({ data }) => data.invitations, nextCursor: ({ data }) => data.next_cursor },
  )
  const columns = useInvitationColumns()
  return (
    <div className="mt-8">
      <Section title={texts.invitations}>
        <Card padding="none">
          <DataTable
            label={texts.invitations}
            columns={columns}
            rows={list.first === undefined ? null : list.items}
            getRowId={({ id }) => id}
            hasMore={list.hasMore}
            onEndReached={list.loadMore}
            empty={<p className="px-4 py-3 text-muted">{texts.noInvitations}</p>}
            error={list.query.error === null ? null : <FailedQuery query={list.query} title={texts.failed} />}
          />
        </Card>
      </Section>
    </div>
  )
}

function LeaveDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { people } = useTexts()
  const leave = useAction(leaveWorkspace, {
    onSuccess: () => globalThis.location.assign('/'),
    onError: () => undefined,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={people.team.leave}
      text={people.team.leaveText}
      confirmLabel={people.team.leave}
      isDanger
      isLoading={leave.isPending}
      error={leave.error?.message}
      onConfirm={() => leave.mutate({})}
    />
  )
}
