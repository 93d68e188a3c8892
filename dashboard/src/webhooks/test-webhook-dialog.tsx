import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { testWebhook, type Webhook } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { chosenTypes, EVENT_TYPES, type EventType } from './event-types.ts'

interface TestWebhookDialogProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

/** Sends a sample event, and shows its delivery. */
export function TestWebhookDialog({ webhook, onClose }: TestWebhookDialogProps): ReactNode {
  const { webhooks, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const own = chosenTypes(webhook.events)
  const [type, setType] = useState<EventType>(
    own.includes('email.delivered') ? 'email.delivered' : (own[0] ?? 'email.delivered'),
  )
  const [error, setError] = useState<string | null>(null)
  const test = useAction(testWebhook, {
    invalidates: ['/public/webhooks'],
    onSuccess: ({ data }) => {
      onClose()
      void navigate({ to: path(`/webhooks/${webhook.id}`, { event: data.event_id }) })
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={webhooks.test}
      description={webhooks.testText}
      onSubmit={() => test.mutate({ params: { id: webhook.id }, body: { type } })}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={test.isPending}>
            {webhooks.sendTest}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {error !== null && <Callout tone="danger">{error}</Callout>}
        <Field label={webhooks.eventType}>
          <Select
            value={type}
            onChange={setType}
            options={EVENT_TYPES.map((value) => ({ value, label: value, description: webhooks.eventTexts[value] }))}
          />
        </Field>
      </div>
    </Dialog>
  )
}
