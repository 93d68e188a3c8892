import { useMemo } from 'react'
import type { FoundEmail } from '#dashboard/src/api/endpoints.ts'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

/** The columns of the list of messages. On phones: to whom, and what became of it. */
export function useMessageColumns(): readonly DataColumn<FoundEmail>[] {
  const { messages, mailView } = useTexts()
  return useMemo(
    () => [
      {
        id: 'to',
        header: messages.to,
        width: '32%',
        cell: ({ to, metadata }) => (
          <span className="flex min-w-0 items-baseline gap-1.5 font-medium">
            <EmailAddress address={to[0] ?? '–'} />
            {metadata.recipients_count > 1 && (
              <span className="shrink-0 text-xs font-normal text-muted">
                {messages.moreRecipients(metadata.recipients_count - 1)}
              </span>
            )}
          </span>
        ),
      },
      {
        id: 'status',
        header: messages.status,
        width: '8.5rem',
        cell: ({ status }) => <MessageStatusBadge status={status} />,
      },
      {
        id: 'subject',
        header: messages.subject,
        priority: 2,
        cell: ({ subject, tags }) => (
          <span className="flex min-w-0 items-center gap-2">
            <span className="truncate">{subject === '' ? mailView.noSubject : subject}</span>
            {tags.slice(0, 2).map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </span>
        ),
      },
      {
        id: 'tier',
        header: messages.tier,
        width: '8.5rem',
        priority: 3,
        cell: ({ priority }) => <span className="text-muted">{messages.tiers[priority]}</span>,
      },
      {
        id: 'accepted',
        header: messages.accepted,
        width: '9rem',
        align: 'right',
        priority: 2,
        cell: ({ created_at: at }) => (
          <span className="text-muted">
            <RelativeTime value={at} />
          </span>
        ),
      },
    ],
    [messages, mailView],
  )
}
