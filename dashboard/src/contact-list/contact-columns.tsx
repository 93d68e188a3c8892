/** The columns of a list of contacts. */
import type { ReactNode } from 'react'
import type { SearchContactsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { Percent } from '#dashboard/src/ui/numbers.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

export type ListedContact = SearchContactsAnswer['data']['contacts'][number]

const SHOWN_TAGS = 2

export function ContactStatus({ status }: { readonly status: ListedContact['status'] }): ReactNode {
  const { contacts } = useTexts()
  if (status === null) return <span className="text-muted">{contacts.noAudience}</span>
  return <StatusBadge tone={status === 'subscribed' ? 'success' : 'neutral'}>{contacts.statuses[status]}</StatusBadge>
}

export function TagList({
  tags,
  most = Infinity,
}: {
  readonly tags: readonly string[]
  readonly most?: number
}): ReactNode {
  return (
    <span className="flex flex-wrap gap-1">
      {tags.slice(0, most).map((tag) => (
        <Badge key={tag}>{tag}</Badge>
      ))}
      {tags.length > most && <Badge>+{tags.length - most}</Badge>}
    </span>
  )
}

export function useContactColumns(): readonly DataColumn<ListedContact>[] {
  const { contacts } = useTexts()
  return [
    { id: 'email', header: contacts.email, cell: ({ email }) => <EmailAddress address={email} /> },
    {
      id: 'name',
      header: contacts.name,
      priority: 2,
      width: '16%',
      cell: ({ firstName, lastName }) => [firstName, lastName].filter((part) => part !== null).join(' '),
    },
    {
      id: 'status',
      header: contacts.status,
      width: '8.5rem',
      cell: ({ status }) => <ContactStatus status={status} />,
    },
    {
      id: 'tags',
      header: contacts.tags,
      priority: 3,
      width: '12%',
      cell: ({ tags }) => <TagList tags={tags} most={SHOWN_TAGS} />,
    },
    {
      id: 'score',
      header: contacts.score,
      priority: 3,
      width: '6.5rem',
      align: 'right',
      cell: ({ deliverabilityScore }) => <Percent share={deliverabilityScore} />,
    },
    {
      id: 'created',
      header: contacts.added,
      priority: 2,
      width: '9rem',
      align: 'right',
      cell: ({ createdAt }) => <RelativeTime value={createdAt} />,
    },
  ]
}
