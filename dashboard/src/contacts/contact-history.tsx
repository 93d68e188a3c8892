/** What happened with a contact, newest first: messages, what it did with them, joins, leaves, changes. */
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import {
  MailOpen,
  MailX,
  MousePointerClick,
  Send,
  ShieldAlert,
  UserCog,
  UserMinus,
  UserPlus,
} from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getContactHistory, type ContactHistoryItem } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { MESSAGE_STATUSES, MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

const ICONS: Readonly<Record<ContactHistoryItem['type'], IconComponent>> = {
  message: Send,
  'email.opened': MailOpen,
  'email.clicked': MousePointerClick,
  'email.bounced': MailX,
  'email.complained': ShieldAlert,
  'email.unsubscribed': UserMinus,
  'contact.subscribed': UserPlus,
  'contact.unsubscribed': UserMinus,
  'contact.changed': UserCog,
}

export function ContactHistory({ id }: { readonly id: string }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const columns = useHistoryColumns()
  const canReadMail = useCan()('mail:read')
  const list = useApiList(
    getContactHistory,
    { query: { id, limit: 50 } },
    { items: ({ data }) => data.history, nextCursor: ({ data }) => data.next_cursor },
  )
  return (
    <Section title={contacts.history}>
      <Card padding="none">
        <DataTable
          label={contacts.history}
          rows={list.first === undefined ? null : list.items}
          getRowId={(item) => `${item.type} ${item.id}`}
          getHref={({ email_id: message }) =>
            message === null || !canReadMail ? undefined : path(`/messages/${message}`)
          }
          columns={columns}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={<p className="p-6 text-center text-muted">{contacts.noHistory}</p>}
          error={list.query.isError ? <FailedQuery query={list.query} title={contacts.historyNotLoaded} /> : undefined}
        />
      </Card>
    </Section>
  )
}

function useHistoryColumns(): readonly DataColumn<ContactHistoryItem>[] {
  const { contacts } = useTexts()
  return [
    { id: 'what', header: contacts.what, cell: (item) => <What item={item} /> },
    { id: 'status', header: contacts.status, width: '8rem', priority: 2, cell: (item) => <Result item={item} /> },
    {
      id: 'at',
      header: contacts.when,
      width: '8.5rem',
      align: 'right',
      cell: ({ at }) => <RelativeTime value={at} />,
    },
  ]
}

function What({ item }: { readonly item: ContactHistoryItem }): ReactNode {
  const { contacts } = useTexts()
  const Icon = ICONS[item.type]
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      <Icon size={16} aria-hidden="true" className="shrink-0 text-faint" />
      <span className="min-w-0 truncate">
        {item.type === 'message' ? (
          <span className="font-medium">{item.subject || contacts.noSubject}</span>
        ) : (
          contacts.events[item.type]
        )}
        <Details item={item} />
      </span>
    </span>
  )
}

/** The link of a click, or what changed. Untrusted text. */
function Details({ item: { url, changes } }: { readonly item: ContactHistoryItem }): ReactNode {
  const { contacts } = useTexts()
  if (url !== null) return <span className="text-muted"> · {url}</span>
  if (changes === null) return null
  const names = changes.map(({ field, from, to }) => contacts.fieldChange(field, textOf(from), textOf(to)))
  return <span className="text-muted"> · {names.join(', ')}</span>
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function Result({ item: { status, is_machine: isMachine } }: { readonly item: ContactHistoryItem }): ReactNode {
  const { contacts } = useTexts()
  const known = MESSAGE_STATUSES.find((one) => one === status)
  if (known !== undefined) return <MessageStatusBadge status={known} />
  return isMachine ? <Badge>{contacts.machine}</Badge> : null
}
