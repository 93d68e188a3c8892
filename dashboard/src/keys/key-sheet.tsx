/** One key in a drawer: what it may do, where from, until when; change, rotate, revoke. */
import { useState, type ReactNode } from 'react'
import { getApiKey, listAccounts, revokeApiKey, type ApiKey } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { ChangeKeyDialog } from './change-key-dialog.tsx'
import { KeyStatus } from './key-columns.tsx'
import type { NewSecret } from './keys-page.tsx'
import { RotateKeyDialog } from './rotate-key-dialog.tsx'

interface KeySheetProps {
  readonly id: string | null
  readonly onClose: () => void
  readonly onSecret: (secret: NewSecret) => void
}

export function KeySheet({ id, onClose, onSecret }: KeySheetProps): ReactNode {
  const { keys } = useTexts()
  const query = useApi(getApiKey, { params: { id: id ?? '' } }, { isEnabled: id !== null })
  const key = query.data?.data
  return (
    <Sheet
      isOpen={id !== null}
      onOpenChange={(open) => !open && onClose()}
      title={key?.name ?? keys.key}
      footer={key !== undefined && key.status === 'active' ? <Actions apiKey={key} onSecret={onSecret} /> : undefined}
    >
      {query.error !== null && key === undefined && <FailedQuery query={query} title={keys.oneNotLoaded} />}
      {query.isPending && <SkeletonLines lines={8} />}
      {key !== undefined && <Facts apiKey={key} />}
    </Sheet>
  )
}

function Facts({ apiKey }: { readonly apiKey: ApiKey }): ReactNode {
  const { keys } = useTexts()
  const account = useAccountName(apiKey.account_id)
  return (
    <KeyValueList
      items={[
        { label: keys.state, value: <KeyStatus status={apiKey.status} /> },
        { label: keys.type, value: keys.types[apiKey.type] },
        { label: keys.id, value: <code className="font-mono text-sm break-all">{apiKey.key_id}</code> },
        ...(apiKey.type === 'regular'
          ? [{ label: keys.sender, value: apiKey.domain ?? account ?? keys.sendsByAccount }]
          : [
              {
                label: keys.scopes,
                value: (
                  <span className="flex flex-wrap gap-1">
                    {apiKey.scopes.map((scope) => (
                      <Badge key={scope}>{scope}</Badge>
                    ))}
                  </span>
                ),
              },
            ]),
        {
          label: keys.networks,
          value: apiKey.allowed_networks.length === 0 ? keys.everywhere : apiKey.allowed_networks.join(', '),
        },
        {
          label: keys.lastUsed,
          value: apiKey.last_used_at === null ? keys.never : <RelativeTime value={apiKey.last_used_at} />,
        },
        {
          label: keys.expires,
          value: apiKey.expires_at === null ? keys.never : <DateTime value={apiKey.expires_at} />,
        },
        { label: keys.created, value: <DateTime value={apiKey.created_at} /> },
        ...apiKey.earlier_secrets_until.map((until) => ({
          key: until,
          label: keys.earlierSecret,
          value: (
            <>
              {keys.validUntil} <DateTime value={until} />
            </>
          ),
        })),
      ]}
    />
  )
}

function useAccountName(id: string | null): string | null {
  const can = useCan()
  const accounts = useApi(listAccounts, { query: { limit: 100 } }, { isEnabled: id !== null && can('accounts:read') })
  return accounts.data?.data.accounts.find((one) => one.id === id)?.name ?? null
}

function Actions({
  apiKey,
  onSecret,
}: {
  readonly apiKey: ApiKey
  readonly onSecret: KeySheetProps['onSecret']
}): ReactNode {
  const { keys } = useTexts()
  const can = useCan()
  const toast = useToast()
  const [dialog, setDialog] = useState<'change' | 'rotate' | 'revoke' | null>(null)
  const [error, setError] = useState<string | null>(null)
  const revoke = useAction(revokeApiKey, {
    invalidates: ['/public/api-keys', '/public/checklist'],
    onSuccess: () => {
      setDialog(null)
      toast({ title: keys.revoked(apiKey.name) })
    },
    onError: ({ message }) => setError(message),
  })
  if (!can('keys:write')) return null
  const close = (): void => setDialog(null)
  return (
    <>
      <Button variant="danger" onClick={() => setDialog('revoke')}>
        {keys.revoke}
      </Button>
      <Button onClick={() => setDialog('rotate')}>{keys.rotate}</Button>
      <Button onClick={() => setDialog('change')}>{keys.change}</Button>
      {dialog === 'change' && <ChangeKeyDialog apiKey={apiKey} onClose={close} />}
      {dialog === 'rotate' && <RotateKeyDialog apiKey={apiKey} onClose={close} onSecret={onSecret} />}
      <ConfirmDialog
        isOpen={dialog === 'revoke'}
        onOpenChange={(open) => !open && close()}
        title={keys.revokeTitle(apiKey.name)}
        text={apiKey.type === 'regular' ? keys.revokeSendingText : keys.revokeAdminText}
        confirmLabel={keys.revoke}
        isDanger
        isLoading={revoke.isPending}
        error={error}
        onConfirm={() => revoke.mutate({ params: { id: apiKey.id } })}
      />
    </>
  )
}
