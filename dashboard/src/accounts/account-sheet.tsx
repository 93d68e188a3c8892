/** One account: server, limits, why it is paused; test, resume, change, remove. */
import { useState, type ReactNode } from 'react'
import { deleteAccount, getAccount, resumeAccount, testAccount, type Account } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { AccountDialog } from './account-dialog.tsx'
import { AccountStatus } from './account-status.tsx'
import { AccountTestResult } from './account-test-result.tsx'
import { ConnectMailboxDialog } from './connect-mailbox-dialog.tsx'

interface AccountSheetProps {
  readonly id: string | null
  readonly onClose: () => void
}

export function AccountSheet({ id, onClose }: AccountSheetProps): ReactNode {
  const { accounts } = useTexts()
  const query = useApi(getAccount, { params: { id: id ?? '' } }, { isEnabled: id !== null })
  const account = query.data?.data
  return (
    <Sheet
      isOpen={id !== null}
      onOpenChange={(open) => !open && onClose()}
      title={account?.name ?? accounts.account}
      footer={account === undefined ? undefined : <Actions account={account} onRemoved={onClose} />}
    >
      {query.error !== null && account === undefined && <FailedQuery query={query} title={accounts.oneNotLoaded} />}
      {query.isPending && <SkeletonLines lines={8} />}
      {account !== undefined && <AccountView key={account.id} account={account} />}
    </Sheet>
  )
}

function AccountView({ account }: { readonly account: Account }): ReactNode {
  const { accounts } = useTexts()
  const can = useCan()
  const test = useAction(testAccount, { invalidates: ['/public/accounts'] })
  return (
    <div className="flex min-w-0 flex-col gap-6">
      {account.status === 'paused' && <Paused account={account} />}
      {account.status === 'untested' && <Callout tone="warning">{accounts.untestedText}</Callout>}
      <Facts account={account} />
      {can('accounts:write') && (
        <div className="flex flex-col gap-4">
          <div>
            <Button isLoading={test.isPending} onClick={() => test.mutate({ params: { id: account.id } })}>
              {accounts.test}
            </Button>
          </div>
          {test.data !== undefined && <AccountTestResult test={test.data.data} />}
        </div>
      )}
    </div>
  )
}

function Paused({ account }: { readonly account: Account }): ReactNode {
  const { accounts } = useTexts()
  const can = useCan()
  const resume = useAction(resumeAccount, { invalidates: ['/public/accounts', '/public/attention'] })
  const [isReconnecting, setReconnecting] = useState(false)
  const isOauth = account.type === 'oauth'
  return (
    <Callout
      tone="danger"
      title={accounts.pausedTitle}
      action={
        can('accounts:write') ? (
          <span className="flex flex-wrap gap-2">
            {isOauth && <Button onClick={() => setReconnecting(true)}>{accounts.reconnect}</Button>}
            <Button isLoading={resume.isPending} onClick={() => resume.mutate({ params: { id: account.id } })}>
              {accounts.resume}
            </Button>
          </span>
        ) : undefined
      }
    >
      <p className="break-words">{account.paused_reason}</p>
      <p className="mt-1">{isOauth ? accounts.pausedMailbox : accounts.pausedSmtp}</p>
      {isReconnecting && <ConnectMailboxDialog account={account} onClose={() => setReconnecting(false)} />}
    </Callout>
  )
}

function Facts({ account }: { readonly account: Account }): ReactNode {
  const { accounts } = useTexts()
  return (
    <KeyValueList
      items={[
        { label: accounts.state, value: <AccountStatus status={account.status} /> },
        { label: accounts.type, value: account.provider ?? accounts.types[account.type] },
        { label: accounts.server, value: `${account.host}:${account.port}` },
        { label: accounts.security, value: accounts.securities[account.security] },
        { label: accounts.username, value: account.username },
        { label: accounts.addresses, value: account.addresses.join(', ') },
        { label: accounts.connections, value: account.connections },
        { label: accounts.perConnection, value: account.messages_per_connection },
        { label: accounts.perMinute, value: account.messages_per_minute ?? accounts.noLimit },
        { label: accounts.created, value: <DateTime value={account.created_at} /> },
      ]}
    />
  )
}

function Actions({ account, onRemoved }: { readonly account: Account; readonly onRemoved: () => void }): ReactNode {
  const { accounts } = useTexts()
  const can = useCan()
  const toast = useToast()
  const [dialog, setDialog] = useState<'change' | 'remove' | null>(null)
  const [error, setError] = useState<string | null>(null)
  const close = (): void => setDialog(null)
  const remove = useAction(deleteAccount, {
    invalidates: ['/public/accounts', '/public/api-keys', '/public/attention'],
    onSuccess: () => {
      toast({ title: accounts.removed(account.name) })
      onRemoved()
    },
    onError: ({ message }) => setError(message),
  })
  if (!can('accounts:write')) return null
  return (
    <>
      <Button variant="danger" onClick={() => setDialog('remove')}>
        {accounts.remove}
      </Button>
      <Button onClick={() => setDialog('change')}>{accounts.change}</Button>
      {dialog === 'change' && <AccountDialog account={account} onClose={close} onSaved={close} />}
      <ConfirmDialog
        isOpen={dialog === 'remove'}
        onOpenChange={(open) => !open && close()}
        title={accounts.removeTitle(account.name)}
        text={accounts.removeText}
        confirmLabel={accounts.remove}
        typeToConfirm={account.name}
        isDanger
        isLoading={remove.isPending}
        error={error}
        onConfirm={() => remove.mutate({ params: { id: account.id } })}
      />
    </>
  )
}
