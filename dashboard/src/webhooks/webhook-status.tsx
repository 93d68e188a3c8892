import type { ReactNode } from 'react'
import type { Webhook, WebhookDelivery } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const TONES: Record<WebhookDelivery['state'], Tone> = { pending: 'info', delivered: 'success', failed: 'danger' }

export function DeliveryState({ state }: Pick<WebhookDelivery, 'state'>): ReactNode {
  const { webhooks } = useTexts()
  return (
    <StatusBadge tone={TONES[state]} isLive={state === 'pending'}>
      {webhooks.states[state]}
    </StatusBadge>
  )
}

/** Whether an endpoint receives events. */
export function WebhookStatus({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhooks } = useTexts()
  return (
    <StatusBadge tone={webhook.is_active ? 'success' : 'warning'}>
      {webhook.is_active ? webhooks.on : webhooks.off}
    </StatusBadge>
  )
}
