/** One message: what became of it and why, its SMTP dialogs, its content, and what may be done with it. Live. */
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { getEmailByPath, type Email } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton, SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { MessageActions } from './message-actions.tsx'
import { MessageAttempts } from './message-attempts.tsx'
import { MessageContent, MessageHeaders, MessageSource } from './message-content.tsx'
import { MessageDelivery } from './message-delivery.tsx'

export type Message = Email['data']

const TABS = ['delivery', 'attempts', 'content', 'headers', 'source'] as const
type Tab = (typeof TABS)[number]
/** These show what the mail says. */
const NEEDS_CONTENT: ReadonlySet<Tab> = new Set(['attempts', 'content', 'headers', 'source'])

const VIEWS: Readonly<Record<Tab, (props: { readonly message: Message }) => ReactNode>> = {
  delivery: MessageDelivery,
  attempts: MessageAttempts,
  content: MessageContent,
  headers: MessageHeaders,
  source: MessageSource,
}

export function MessagePage(): ReactNode {
  const { messages, mailView } = useTexts()
  const { id = '' } = useParams({ strict: false })
  const path = useWorkspacePath()
  const can = useCan()
  const [search] = useAddressSearch()
  const email = useApi(getEmailByPath, { params: { id } })
  const breadcrumbs = [{ label: messages.title, href: path('/messages') }]
  const tab = TABS.find((one) => one === search['tab']) ?? 'delivery'
  const tabs = (
    <LinkTabs
      label={messages.views}
      tabs={TABS.map((one) => ({
        href: path(`/messages/${id}`, one === 'delivery' ? {} : { tab: one }),
        label: messages.tabs[one],
        isCurrent: one === tab,
        ...(one === 'attempts' && email.data !== undefined ? { count: email.data.data.attempts.length } : {}),
      }))}
    />
  )
  if (email.error !== null && email.data === undefined)
    return (
      <>
        <PageHeader title={messages.message} breadcrumbs={breadcrumbs} />
        <FailedQuery query={email} title={messages.messageNotLoaded} />
      </>
    )
  const message = email.data?.data
  if (message === undefined)
    return (
      <>
        <PageHeader title={<Skeleton className="h-7 w-64" />} breadcrumbs={breadcrumbs} tabs={tabs} />
        <SkeletonLines lines={8} />
      </>
    )
  const View = VIEWS[tab]
  return (
    <>
      <PageHeader
        title={message.subject === '' ? mailView.noSubject : message.subject}
        status={<MessageStatusBadge status={message.status} />}
        breadcrumbs={breadcrumbs}
        actions={<MessageActions message={message} />}
        tabs={tabs}
      />
      {NEEDS_CONTENT.has(tab) && !can('mail:content') ? (
        <EmptyState title={messages.noContentPermission} text={messages.noContentPermissionText} />
      ) : (
        <View message={message} />
      )}
    </>
  )
}
