/** What may be done with a message: retry, cancel, send again, suppress its recipient, copy it as a request. */
import { Ban, CircleX, ClipboardCopy, Download, Ellipsis, RotateCcw, RotateCw, Send } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { cancelEmail, retryEmail } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu, type MenuItem } from '#dashboard/src/ui/menu.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useContent, useSaveSource } from './message-content.tsx'
import type { Message } from './message-page.tsx'
import { ResendDialog } from './resend-dialog.tsx'
import { toCurl } from './send-curl.ts'
import { SuppressDialog } from './suppress-dialog.tsx'

type OpenDialog = 'cancel' | 'resend' | 'suppress' | 'curl'
/** The states of recipients that a retry makes due, and those that a cancellation ends. */
const RETRYABLE: ReadonlySet<string> = new Set(['queued', 'deferred'])
const CANCELLABLE: ReadonlySet<string> = new Set(['scheduled', 'queued', 'deferred'])
const CHANGED = ['/public/emails', '/public/queue', '/send-email']

export function MessageActions({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const can = useCan()
  const toast = useToast()
  const [open, setOpen] = useState<OpenDialog | null>(null)
  const id = { params: { id: message.email_id } }
  const retry = useAction(retryEmail, {
    invalidates: CHANGED,
    onSuccess: ({ data }) => toast({ title: messages.retried(data.changed) }),
  })
  const save = useSaveSource()
  const states = message.recipients.map(({ state }) => state)
  const mayWrite = can('mail:write')
  const mayCancel = mayWrite && states.some((state) => CANCELLABLE.has(state))
  const [first] = message.recipients
  const isForOne = message.recipients.length === 1
  const items: MenuItem[] = [
    { label: messages.copyAsCurl, icon: ClipboardCopy, onSelect: () => setOpen('curl') },
    ...(can('mail:content')
      ? [{ label: messages.downloadSource, icon: Download, onSelect: () => save.start(id) }]
      : []),
    ...(mayWrite ? [{ label: messages.sendAgain, icon: Send, onSelect: () => setOpen('resend') }] : []),
  ]
  const dangerous: MenuItem[] = [
    ...(mayCancel
      ? [{ label: messages.cancelMessage, icon: CircleX, isDanger: true, onSelect: () => setOpen('cancel') }]
      : []),
    ...(isForOne && can('suppressions:write')
      ? [{ label: messages.suppressRecipient, icon: Ban, isDanger: true, onSelect: () => setOpen('suppress') }]
      : []),
  ]
  return (
    <>
      {mayWrite && states.some((state) => RETRYABLE.has(state)) && (
        <Button icon={RotateCw} isLoading={retry.isPending} onClick={() => retry.mutate(id)}>
          {messages.retryNow}
        </Button>
      )}
      {mayWrite && !states.some((state) => CANCELLABLE.has(state)) && (
        <Button icon={RotateCcw} onClick={() => setOpen('resend')}>
          {messages.sendAgain}
        </Button>
      )}
      <Menu
        trigger={<IconButton variant="secondary" icon={Ellipsis} label={messages.moreActions} hasTooltip={false} />}
        groups={[{ items }, ...(dangerous.length === 0 ? [] : [{ items: dangerous }])]}
      />
      {open === 'cancel' && <CancelDialog message={message} onClose={() => setOpen(null)} />}
      {open === 'curl' && <CurlDialog message={message} onClose={() => setOpen(null)} />}
      {open === 'suppress' && first !== undefined && (
        <SuppressDialog address={first.address} onClose={() => setOpen(null)} />
      )}
      {open === 'resend' && (
        <ResendDialog
          message={message}
          initial={message.recipients.map(({ address }) => address)}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  )
}

interface DialogProps {
  readonly message: Message
  readonly onClose: () => void
}

function CancelDialog({ message, onClose }: DialogProps): ReactNode {
  const { messages } = useTexts()
  const toast = useToast()
  const [error, setError] = useState<string | null>(null)
  const cancel = useAction(cancelEmail, {
    invalidates: CHANGED,
    onSuccess: ({ data }) => {
      toast({ title: messages.cancelled(data.changed) })
      onClose()
    },
    onError: (failure) => setError(failure.message),
  })
  const waiting = message.recipients.filter(({ state }) => CANCELLABLE.has(state)).length
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      isDanger
      title={messages.cancelTitle}
      text={messages.cancelText(waiting)}
      confirmLabel={messages.cancelMessage}
      onConfirm={() => cancel.mutate({ params: { id: message.email_id } })}
      isLoading={cancel.isPending}
      error={error}
    />
  )
}

function CurlDialog({ message, onClose }: DialogProps): ReactNode {
  const { messages } = useTexts()
  const mayRead = useCan()('mail:content')
  const content = useContent(message.email_id, mayRead)
  const isReady = !mayRead || content.data !== undefined || content.error !== null
  const line = isReady
    ? toCurl({ message, content: content.data?.data ?? null, origin: globalThis.location.origin })
    : null
  return (
    <Dialog isOpen onOpenChange={onClose} size="lg" title={messages.copyAsCurl} description={messages.curlText}>
      {line === null ? <SkeletonLines lines={6} /> : <CodeBlock title="curl" text={line} isWrapped />}
    </Dialog>
  )
}
