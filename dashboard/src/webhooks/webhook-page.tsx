/** One endpoint: what it received, its settings, and how to verify what it receives. */
import { useParams } from '@tanstack/react-router'
import { Ellipsis, Pencil, Power, RotateCw, Send, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { getWebhook, updateWebhook, type Webhook } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { DeliveryLog } from './delivery-log.tsx'
import { TestWebhookDialog } from './test-webhook-dialog.tsx'
import { VerifyGuide } from './verify-guide.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'
import { DeleteWebhookDialog, RotateSecretDialog } from './webhook-dialogs.tsx'
import { WebhookSettings } from './webhook-settings.tsx'
import { WebhookStatus } from './webhook-status.tsx'

const TABS = ['deliveries', 'settings', 'verify'] as const
type Tab = (typeof TABS)[number]

export function WebhookPage(): ReactNode {
  const { webhooks } = useTexts()
  const path = useWorkspacePath()
  const { id = '' }: { readonly id?: string } = useParams({ strict: false })
  const query = useApi(getWebhook, { params: { id } })
  const breadcrumbs = [{ label: webhooks.title, href: path('/webhooks') }]
  if (query.data !== undefined) return <WebhookView webhook={query.data.data} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader
        title={query.error === null ? <Skeleton className="h-7 w-72" /> : webhooks.endpoint}
        breadcrumbs={breadcrumbs}
      />
      {query.error === null ? (
        <Skeleton className="h-96 w-full" />
      ) : (
        <FailedQuery query={query} title={webhooks.oneNotLoaded} />
      )}
    </>
  )
}

interface WebhookViewProps {
  readonly webhook: Webhook
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function WebhookView({ webhook, breadcrumbs }: WebhookViewProps): ReactNode {
  const { webhooks } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const tab = TABS.find((one) => one === search['tab']) ?? 'deliveries'
  const href = (one: Tab): string => path(`/webhooks/${webhook.id}`, one === 'deliveries' ? {} : { tab: one })
  return (
    <>
      <PageHeader
        title={<span className="break-all">{webhook.url}</span>}
        status={<WebhookStatus webhook={webhook} />}
        description={webhook.description ?? undefined}
        breadcrumbs={breadcrumbs}
        actions={<WebhookActions webhook={webhook} />}
        tabs={
          <LinkTabs
            label={webhooks.endpoint}
            tabs={TABS.map((one) => ({ href: href(one), label: webhooks.tabs[one], isCurrent: one === tab }))}
          />
        }
      />
      {!webhook.is_active && <SwitchedOff webhook={webhook} />}
      {tab === 'deliveries' && <DeliveryLog webhook={webhook} />}
      {tab === 'settings' && <WebhookSettings webhook={webhook} />}
      {tab === 'verify' && <VerifyGuide />}
    </>
  )
}

function SwitchedOff({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhooks } = useTexts()
  const can = useCan()
  const change = useAction(updateWebhook, { invalidates: ['/public/webhooks'] })
  return (
    <div className="mb-6">
      <Callout
        tone="warning"
        title={webhooks.offTitle}
        action={
          can('webhooks:write') ? (
            <Button
              isLoading={change.isPending}
              onClick={() => change.mutate({ params: { id: webhook.id }, body: { is_active: true } })}
            >
              {webhooks.switchOn}
            </Button>
          ) : undefined
        }
      >
        {webhook.disabled_reason === null ? webhooks.offText : webhooks.offReason(webhook.disabled_reason)}
      </Callout>
    </div>
  )
}

type DialogName = 'delete' | 'edit' | 'rotate' | 'test'

function WebhookActions({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhooks } = useTexts()
  const can = useCan()
  const [dialog, setDialog] = useState<DialogName | null>(null)
  const change = useAction(updateWebhook, { invalidates: ['/public/webhooks'] })
  if (!can('webhooks:write')) return null
  const close = (): void => setDialog(null)
  return (
    <>
      {webhook.is_active && (
        <Button icon={Send} onClick={() => setDialog('test')}>
          {webhooks.test}
        </Button>
      )}
      <Button icon={Pencil} onClick={() => setDialog('edit')}>
        {webhooks.edit}
      </Button>
      <Menu
        trigger={<IconButton icon={Ellipsis} label={webhooks.more} variant="secondary" />}
        groups={[
          {
            items: [
              { label: webhooks.rotate, icon: RotateCw, onSelect: () => setDialog('rotate') },
              {
                label: webhook.is_active ? webhooks.switchOff : webhooks.switchOn,
                icon: Power,
                onSelect: () => change.mutate({ params: { id: webhook.id }, body: { is_active: !webhook.is_active } }),
              },
            ],
          },
          { items: [{ label: webhooks.remove, icon: Trash2, isDanger: true, onSelect: () => setDialog('delete') }] },
        ]}
      />
      {dialog === 'test' && <TestWebhookDialog webhook={webhook} onClose={close} />}
      {dialog === 'edit' && <WebhookDialog webhook={webhook} onClose={close} />}
      {dialog === 'rotate' && <RotateSecretDialog webhook={webhook} onClose={close} />}
      {dialog === 'delete' && <DeleteWebhookDialog webhook={webhook} onClose={close} />}
    </>
  )
}
