import type { ReactNode } from 'react'
import { SecretDialog } from '#dashboard/src/shared/secret-dialog.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'

export interface ShownSecret {
  /** Of the endpoint. */
  readonly id: string
  readonly secret: string
}

interface WebhookSecretDialogProps {
  readonly title: string
  readonly secret: string
  readonly onDone: () => void
}

/** The signing secret of an endpoint, after it was made or rotated. */
export function WebhookSecretDialog({ title, secret, onDone }: WebhookSecretDialogProps): ReactNode {
  const { webhooks } = useTexts()
  return (
    <SecretDialog title={title} secret={secret} copyLabel={webhooks.copySecret} onDone={onDone}>
      <p className="text-muted">{webhooks.secretText}</p>
    </SecretDialog>
  )
}
