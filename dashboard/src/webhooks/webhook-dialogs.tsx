import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { deleteWebhook, rotateWebhookSecret, type Webhook } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { WebhookSecretDialog } from './webhook-secret-dialog.tsx'

interface WebhookDialogProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

export function DeleteWebhookDialog({ webhook, onClose }: WebhookDialogProps): ReactNode {
  const { webhooks } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const [error, setError] = useState<string | null>(null)
  const remove = useAction(deleteWebhook, {
    onSuccess: () => {
      toast({ title: webhooks.removed })
      void navigate({ to: path('/webhooks') })
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={webhooks.removeTitle}
      text={webhooks.removeText(webhook.url)}
      confirmLabel={webhooks.remove}
      isDanger
      isLoading={remove.isPending}
      error={error}
      onConfirm={() => remove.mutate({ params: { id: webhook.id } })}
    />
  )
}

/** Asks, then shows the new secret. The previous one also signs for a day. */
export function RotateSecretDialog({ webhook, onClose }: WebhookDialogProps): ReactNode {
  const { webhooks } = useTexts()
  const [secret, setSecret] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const rotate = useAction(rotateWebhookSecret, {
    invalidates: ['/public/webhooks'],
    onSuccess: ({ data }) => setSecret(data.secret),
    onError: ({ message }) => setError(message),
  })
  if (secret !== null) return <WebhookSecretDialog title={webhooks.rotated} secret={secret} onDone={onClose} />
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={webhooks.rotateTitle}
      text={webhooks.rotateText}
      confirmLabel={webhooks.rotate}
      isLoading={rotate.isPending}
      error={error}
      onConfirm={() => rotate.mutate({ params: { id: webhook.id } })}
    />
  )
}
