import type { ReactNode } from 'react'
import { adminListInvitations, adminRevokeInvitation, type OperatorInvitation } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useOperatorAction, type Confirmation } from './confirmation.tsx'
import { PlainTable } from './loaded.tsx'

/** Links that give the rights of an operator and were not used yet. */
export function OperatorInvitations({ ask }: { readonly ask: (confirmation: Confirmation) => void }): ReactNode {
  const { operator, administration } = useTexts()
  const { users: texts } = administration
  const { data } = useApi(adminListInvitations, { query: { limit: 50 } })
  const revoke = useOperatorAction(adminRevokeInvitation, ['/admin/invitations'])
  const invitations = data?.data.invitations ?? []
  if (invitations.length === 0) return null
  const columns: readonly DataColumn<OperatorInvitation>[] = [
    {
      id: 'email',
      header: texts.email,
      cell: ({ email }) => (email === null ? texts.firstOperator : <EmailAddress address={email} />),
    },
    {
      id: 'expires',
      header: texts.expires,
      cell: (row) => <RelativeTime value={row.expires_at} />,
      width: '10rem',
      priority: 2,
    },
    {
      id: 'revoke',
      header: operator.actions,
      cell: ({ id }) => (
        <Button
          size="sm"
          onClick={() =>
            ask({
              title: texts.revokeTitle,
              text: texts.revokeText,
              label: texts.revoke,
              isDanger: true,
              run: () => revoke({ params: { id } }),
            })
          }
        >
          {texts.revoke}
        </Button>
      ),
      width: '8rem',
    },
  ]
  return (
    <Section title={texts.invitations}>
      <PlainTable label={texts.invitations} columns={columns} rows={invitations} getRowId={({ id }) => id} />
    </Section>
  )
}
