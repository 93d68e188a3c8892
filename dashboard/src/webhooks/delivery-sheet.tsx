/** One delivery: each attempt with its request, the response and how long it took. It can be sent again. */
import { RotateCw } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import {
  listWebhookDeliveries,
  replayWebhookDelivery,
  type Webhook,
  type WebhookAttempt,
  type WebhookDelivery,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime, Duration, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { DeliveryState } from './webhook-status.tsx'
import { prettyBody } from './pretty-body.ts'

interface DeliverySheetProps {
  readonly webhook: Webhook
  readonly eventId: string | null
  readonly onClose: () => void
}

export function DeliverySheet({ webhook, eventId, onClose }: DeliverySheetProps): ReactNode {
  const { webhooks } = useTexts()
  const query = useApi(
    listWebhookDeliveries,
    { params: { id: webhook.id }, query: { event_id: eventId ?? '', limit: 1 } },
    { isEnabled: eventId !== null },
  )
  const delivery = query.data?.data.deliveries[0]
  return (
    <Sheet
      isOpen={eventId !== null}
      onOpenChange={(open) => !open && onClose()}
      title={delivery?.type ?? webhooks.delivery}
      footer={delivery === undefined ? undefined : <Replay webhook={webhook} delivery={delivery} />}
    >
      {query.error !== null && delivery === undefined && <FailedQuery query={query} title={webhooks.logNotLoaded} />}
      {query.isPending && <SkeletonLines lines={10} />}
      {query.isSuccess && delivery === undefined && <EmptyState title={webhooks.deliveryGone} />}
      {delivery !== undefined && <DeliveryView delivery={delivery} />}
    </Sheet>
  )
}

function DeliveryView({ delivery }: { readonly delivery: WebhookDelivery }): ReactNode {
  const { webhooks } = useTexts()
  const { attempts, next_try_at: nextAt } = delivery
  return (
    <div className="flex min-w-0 flex-col gap-6">
      <KeyValueList
        items={[
          { label: webhooks.state, value: <DeliveryState state={delivery.state} /> },
          { label: webhooks.eventId, value: <code className="font-mono text-sm break-all">{delivery.event_id}</code> },
          { label: webhooks.createdAt, value: <DateTime value={delivery.created_at} precision="second" /> },
          { label: webhooks.tries, value: attempts.length },
          ...(nextAt === null ? [] : [{ label: webhooks.nextTry, value: <RelativeTime value={nextAt} /> }]),
        ]}
      />
      {attempts.length === 0 && <p className="text-muted">{webhooks.noAttempt}</p>}
      {attempts.toReversed().map((attempt) => (
        <Attempt key={attempt.attempt} attempt={attempt} />
      ))}
    </div>
  )
}

function Attempt({ attempt }: { readonly attempt: WebhookAttempt }): ReactNode {
  const { webhooks } = useTexts()
  const { status, error, response, request } = attempt
  const isGood = status !== null && status >= 200 && status < 300
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <Section
      title={webhooks.attempt(attempt.attempt)}
      level={3}
      actions={
        <StatusBadge tone={isGood ? 'success' : 'danger'}>
          {status === null ? webhooks.noAnswer : `HTTP ${status}`}
        </StatusBadge>
      }
      description={
        <>
          <DateTime value={attempt.at} precision="second" /> · <Duration seconds={attempt.duration_ms / 1000} />
        </>
      }
    >
      <div className="flex min-w-0 flex-col gap-3">
        {error !== null && <p className="text-danger-text">{error}</p>}
        <CodeBlock
          title={webhooks.request}
          text={[`POST ${attempt.url}`, ...headers, '', prettyBody(request.body)].join('\n')}
        />
        {response !== null && (
          <CodeBlock
            title={webhooks.response}
            text={response.body === null || response.body === '' ? webhooks.emptyBody : prettyBody(response.body)}
          />
        )}
      </div>
    </Section>
  )
}

function Replay({ webhook, delivery }: { readonly webhook: Webhook; readonly delivery: WebhookDelivery }): ReactNode {
  const { webhooks } = useTexts()
  const can = useCan()
  const toast = useToast()
  const replay = useAction(replayWebhookDelivery, {
    invalidates: ['/public/webhooks'],
    onSuccess: () => toast({ title: webhooks.replayed, tone: 'success' }),
  })
  if (!can('webhooks:write')) return null
  return (
    <Button
      variant="primary"
      icon={RotateCw}
      isLoading={replay.isPending}
      disabled={!webhook.is_active || delivery.type === null}
      title={webhook.is_active ? undefined : webhooks.offText}
      onClick={() => replay.mutate({ params: { id: webhook.id, eventId: delivery.event_id } })}
    >
      {webhooks.replay}
    </Button>
  )
}
