import type { ReactNode } from 'react'
import type { Webhook } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { chosenTypes } from './event-types.ts'

export function WebhookSettings({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhooks } = useTexts()
  const isAll = webhook.event_types.length === 0 || webhook.events.includes('*')
  return (
    <div className="flex flex-col gap-6">
      {webhook.previous_secret_until !== null && (
        <Callout tone="info" title={webhooks.twoSecrets}>
          {webhooks.previousUntil} <DateTime value={webhook.previous_secret_until} />
        </Callout>
      )}
      <KeyValueList
        items={[
          { label: webhooks.url, value: <CopyField value={webhook.url} label={webhooks.copyUrl} /> },
          { label: webhooks.descriptionField, value: webhook.description ?? '–' },
          {
            label: webhooks.events,
            value: isAll ? (
              webhooks.allEvents
            ) : (
              <span className="flex flex-wrap gap-1">
                {chosenTypes(webhook.events).map((type) => (
                  <Badge key={type}>{type}</Badge>
                ))}
              </span>
            ),
          },
          { label: webhooks.createdAt, value: <DateTime value={webhook.created_at} /> },
          { label: webhooks.changedAt, value: <DateTime value={webhook.updated_at} /> },
          { label: webhooks.id, value: <code className="font-mono text-sm">{webhook.id}</code> },
        ]}
      />
    </div>
  )
}
