/** Messages that wait for their time, the soonest first: see, change, cancel. Live. */
import { CalendarClock, CircleX, Ellipsis, Pencil } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { cancelScheduled, listScheduled, type WaitingEmail } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { MessageTabs } from './message-tabs.tsx'
import { RescheduleDialog } from './reschedule-dialog.tsx'

const PAGE_SIZE = 50

interface Chosen {
  readonly email: WaitingEmail
  readonly action: 'change' | 'cancel'
}

export function ScheduledPage(): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const list = useApiList(
    listScheduled,
    { query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data.emails, nextCursor: (answer) => answer.data.next_cursor },
  )
  const { query } = list
  const columns = useScheduledColumns(can('mail:send') ? setChosen : null)
  return (
    <>
      <PageHeader title={messages.title} tabs={<MessageTabs current="scheduled" />} />
      <Card padding="none">
        <DataTable
          label={messages.scheduled}
          columns={columns}
          rows={query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/messages/${row.email_id}`)}
          hasMore={list.hasMore}
          isLoadingMore={query.isFetchingNextPage}
          onEndReached={list.loadMore}
          error={query.error === null ? null : <FailedQuery query={query} title={messages.notLoaded} />}
          empty={<EmptyState icon={CalendarClock} title={messages.noScheduled} text={messages.noScheduledText} />}
        />
      </Card>
      {chosen?.action === 'change' && <RescheduleDialog email={chosen.email} onClose={() => setChosen(null)} />}
      {chosen?.action === 'cancel' && <CancelScheduled email={chosen.email} onClose={() => setChosen(null)} />}
    </>
  )
}

function useScheduledColumns(onChoose: ((chosen: Chosen) => void) | null): readonly DataColumn<WaitingEmail>[] {
  const { messages, mailView } = useTexts()
  const menu: DataColumn<WaitingEmail> = {
    id: 'actions',
    header: messages.actions,
    isHeaderHidden: true,
    width: '3.75rem',
    align: 'right',
    cell: (email) => (
      <Menu
        trigger={
          <IconButton
            size="sm"
            icon={Ellipsis}
            label={messages.actionsFor(email.subject || mailView.noSubject)}
            hasTooltip={false}
          />
        }
        groups={[
          {
            items: [
              { label: messages.change, icon: Pencil, onSelect: () => onChoose?.({ email, action: 'change' }) },
              {
                label: messages.cancelMessage,
                icon: CircleX,
                isDanger: true,
                onSelect: () => onChoose?.({ email, action: 'cancel' }),
              },
            ],
          },
        ]}
      />
    ),
  }
  return [
    {
      id: 'at',
      header: messages.scheduledFor,
      width: '12.5rem',
      cell: ({ scheduled_at: at }) => (
        <span className="font-medium">
          <DateTime value={at} />
        </span>
      ),
    },
    {
      id: 'in',
      header: messages.due,
      width: '8rem',
      priority: 3,
      cell: ({ scheduled_at: at }) => (
        <span className="text-muted">
          <RelativeTime value={at} />
        </span>
      ),
    },
    {
      id: 'to',
      header: messages.to,
      priority: 2,
      cell: ({ to, metadata }) => (
        <span className="flex min-w-0 items-baseline gap-1.5">
          <EmailAddress address={to[0] ?? '–'} />
          {metadata.recipients_count > 1 && (
            <span className="shrink-0 text-xs text-muted">
              {messages.moreRecipients(metadata.recipients_count - 1)}
            </span>
          )}
        </span>
      ),
    },
    { id: 'subject', header: messages.subject, cell: ({ subject }) => (subject === '' ? mailView.noSubject : subject) },
    ...(onChoose === null ? [] : [menu]),
  ]
}

interface CancelScheduledProps {
  readonly email: WaitingEmail
  readonly onClose: () => void
}

function CancelScheduled({ email, onClose }: CancelScheduledProps): ReactNode {
  const { messages } = useTexts()
  const toast = useToast()
  const [error, setError] = useState<string | null>(null)
  const count = email.metadata.recipients_count
  const cancel = useAction(cancelScheduled, {
    invalidates: ['/send-email', '/public/emails'],
    onSuccess: () => {
      toast({ title: messages.cancelled(count) })
      onClose()
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      isDanger
      title={messages.cancelTitle}
      text={messages.cancelText(count)}
      confirmLabel={messages.cancelMessage}
      onConfirm={() => cancel.mutate({ params: { id: email.id } })}
      isLoading={cancel.isPending}
      error={error}
    />
  )
}
