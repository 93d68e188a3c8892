/** The way of the test mail, live: accepted, sent, delivered; what the receiver said if it waits or failed. */
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import { Check, Circle, X } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getEmailByPath } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { Spinner } from '#dashboard/src/ui/spinner.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { deliverySteps, isOver, lastReply, type DeliveryStep, type SentMessage } from './delivery-steps.ts'

const ICONS: Readonly<Record<DeliveryStep['state'], IconComponent>> = {
  done: Check,
  current: Circle,
  failed: X,
  waiting: Circle,
}
const COLORS: Readonly<Record<DeliveryStep['state'], string>> = {
  done: 'text-success-text',
  current: 'text-accent-text',
  failed: 'text-danger-text',
  waiting: 'text-faint',
}

export function TestMailProgress({ isSandbox }: { readonly isSandbox: boolean }): ReactNode {
  const { start } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const id = search['message'] ?? ''
  const query = useApi(getEmailByPath, { params: { id } }, { isEnabled: id !== '' })
  if (id === '') return null
  if (query.error !== null) return <FailedQuery query={query} title={start.messageNotLoaded} />
  if (query.data === undefined) return <Skeleton className="mt-3 h-28 w-full" />
  const message = query.data.data
  return (
    <div className="mt-3 rounded-lg border border-line bg-background p-3 sm:p-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-0 truncate text-sm text-muted">{start.toAddress(message.to.join(', '))}</p>
        <span role="status">
          <MessageStatusBadge status={message.status} />
        </span>
      </div>
      <Steps message={message} />
      <div className="mt-3 flex flex-wrap gap-2">
        <ButtonLink size="sm" href={path(`/messages/${id}`)}>
          {isOver(message.status) ? start.openMessage : start.explainMessage}
        </ButtonLink>
        {isSandbox && (
          <ButtonLink size="sm" href={path('/inbox')}>
            {start.openInbox}
          </ButtonLink>
        )}
      </div>
    </div>
  )
}

function Steps({ message }: { readonly message: SentMessage }): ReactNode {
  const { start } = useTexts()
  const reply = lastReply(message)
  return (
    <>
      <ol className="mt-2 grid gap-2 sm:grid-cols-3">
        {deliverySteps(message).map(({ name, state, at }) => {
          const Icon = ICONS[state]
          return (
            <li key={name} className="flex min-w-0 items-center gap-2">
              <span className={cx('flex size-4 shrink-0 items-center justify-center', COLORS[state])}>
                {state === 'current' ? <Spinner size={14} isDecorative /> : <Icon size={14} aria-hidden="true" />}
              </span>
              <span className="min-w-0">
                <span className={cx('block font-medium', state === 'waiting' ? 'text-faint' : 'text-ink')}>
                  {state === 'failed' ? start.deliveryFailed : start.delivery[name]}
                </span>
                <span className="block text-xs text-muted tabular-nums">
                  {at === null ? start.deliveryStates[state] : <DateTime value={at} precision="second" />}
                </span>
              </span>
            </li>
          )
        })}
      </ol>
      {reply !== null && <p className="mt-2 font-mono text-xs break-words text-ink">{reply}</p>}
    </>
  )
}
