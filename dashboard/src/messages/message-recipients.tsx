/** The recipients of a message, each with its state, the last reply, and what may be done about the address. */
import { Ban, Ellipsis, RotateCcw, Search, Terminal } from '#dashboard/src/ui/icons.tsx'
import { useMemo, useState, type ReactNode } from 'react'
import { useCan } from '#dashboard/src/session/session.tsx'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Message } from './message-page.tsx'
import { ResendDialog } from './resend-dialog.tsx'
import { SuppressDialog } from './suppress-dialog.tsx'

type Recipient = Message['recipients'][number]

export function MessageRecipients({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const [suppressed, setSuppressed] = useState<string | null>(null)
  const [resent, setResent] = useState<string | null>(null)
  const columns = useRecipientColumns((recipient) => (
    <RecipientMenu
      message={message}
      recipient={recipient}
      onSuppress={() => setSuppressed(recipient.address)}
      onResend={() => setResent(recipient.address)}
    />
  ))
  const { recipients } = message
  return (
    <Section title={messages.recipients(recipients.length)}>
      <Card padding="none">
        <DataTable
          label={messages.recipients(recipients.length)}
          columns={columns}
          rows={recipients}
          getRowId={({ address, kind }) => `${kind} ${address}`}
          {...(recipients.length > 12 ? { height: '28rem' } : {})}
        />
      </Card>
      {suppressed !== null && <SuppressDialog address={suppressed} onClose={() => setSuppressed(null)} />}
      {resent !== null && <ResendDialog message={message} initial={[resent]} onClose={() => setResent(null)} />}
    </Section>
  )
}

function useRecipientColumns(menu: (recipient: Recipient) => ReactNode): readonly DataColumn<Recipient>[] {
  const { messages } = useTexts()
  return useMemo(
    () => [
      {
        id: 'address',
        header: messages.recipient,
        width: '34%',
        cell: ({ address, kind }: Recipient) => (
          <span className="flex min-w-0 items-center gap-2">
            <EmailAddress address={address} />
            {kind !== 'to' && <Badge>{kind}</Badge>}
          </span>
        ),
      },
      {
        id: 'state',
        header: messages.status,
        width: '8.5rem',
        cell: ({ state }: Recipient) => <MessageStatusBadge status={state} />,
      },
      {
        id: 'reason',
        header: messages.reason,
        priority: 2,
        cell: (recipient: Recipient) => <LastReply recipient={recipient} />,
      },
      {
        id: 'tries',
        header: messages.tries,
        width: '5.5rem',
        align: 'right',
        priority: 3,
        cell: ({ tries }: Recipient) => <NumberText value={tries} />,
      },
      {
        id: 'next',
        header: messages.nextTry,
        width: '9rem',
        align: 'right',
        priority: 3,
        cell: ({ next_try_at: next, updated_at: updated }: Recipient) => (
          <span className="text-muted">
            {next === null ? <DateTime value={updated} /> : <RelativeTime value={next} />}
          </span>
        ),
      },
      {
        id: 'actions',
        header: messages.actions,
        isHeaderHidden: true,
        width: '3.75rem',
        align: 'right',
        cell: menu,
      },
    ],
    // the menu reads nothing that changes without the message
    [messages, menu],
  )
}

function LastReply({ recipient }: { readonly recipient: Recipient }): ReactNode {
  const say = useServerText()
  const reply = recipient.attempts.at(-1)?.reply ?? null
  const said = reply === null ? null : [reply.code, reply.status, reply.text].filter((one) => one !== null).join(' ')
  const text = recipient.reason === null ? (said ?? '') : say(recipient.reason, recipient.reason_translation)
  return (
    <span className="block truncate text-sm text-muted" title={text}>
      {text}
    </span>
  )
}

interface RecipientMenuProps {
  readonly message: Message
  readonly recipient: Recipient
  readonly onSuppress: () => void
  readonly onResend: () => void
}

function RecipientMenu({ message, recipient, onSuppress, onResend }: RecipientMenuProps): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const { address, tries } = recipient
  const showsDialog = can('mail:content') && tries > 0
  return (
    <Menu
      trigger={<IconButton size="sm" icon={Ellipsis} label={messages.actionsFor(address)} hasTooltip={false} />}
      groups={[
        {
          items: [
            ...(showsDialog
              ? [
                  {
                    label: messages.showDialog,
                    icon: Terminal,
                    href: path(`/messages/${message.email_id}`, { tab: 'attempts', recipient: address }),
                  },
                ]
              : []),
            { label: messages.otherMessages, icon: Search, href: path('/messages', { recipient: address }) },
            ...(can('mail:write') ? [{ label: messages.sendAgain, icon: RotateCcw, onSelect: onResend }] : []),
          ],
        },
        ...(can('suppressions:write')
          ? [{ items: [{ label: messages.suppress, icon: Ban, isDanger: true, onSelect: onSuppress }] }]
          : []),
      ]}
    />
  )
}
