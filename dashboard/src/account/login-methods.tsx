/** What the person signs in with: authenticator app, recovery codes, passkeys, connected providers. */
import { KeyRound, Smartphone } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import {
  listLoginMethods,
  removeLoginMethod,
  renewRecoveryCodes,
  type LoginMethod,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { hasPasskeys } from '#dashboard/src/session/passkey.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { METHODS } from './method-paths.ts'
import { PasskeyDialog } from './passkey-dialog.tsx'
import { RecoveryCodesDialog } from './recovery-codes-dialog.tsx'
import { TotpDialog } from './totp-dialog.tsx'

export function LoginMethods(): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const methods = useApi(listLoginMethods, {})
  const [dialog, setDialog] = useState<'totp' | 'passkey' | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const [removing, setRemoving] = useState<LoginMethod | null>(null)
  const renew = useAction(renewRecoveryCodes, { onSuccess: ({ data }) => setCodes(data.recovery_codes) })
  const rows = methods.data?.data.login_methods ?? null
  const hasTotp = rows?.some(({ kind }) => kind === 'totp') === true
  return (
    <Section
      title={texts.factors}
      description={`${texts.factorsText} ${texts.factorsNeedLogin}`}
      actions={
        <>
          {!hasTotp && (
            <Button icon={Smartphone} onClick={() => setDialog('totp')}>
              {texts.addTotp}
            </Button>
          )}
          {hasTotp && (
            <Button isLoading={renew.isPending} onClick={() => renew.mutate({})}>
              {texts.newCodes}
            </Button>
          )}
          {hasPasskeys() && (
            <Button icon={KeyRound} onClick={() => setDialog('passkey')}>
              {texts.addPasskey}
            </Button>
          )}
        </>
      }
    >
      <Card padding="none">
        <DataTable
          label={texts.factors}
          columns={useMethodColumns(setRemoving)}
          rows={rows}
          getRowId={({ id }) => id}
          error={methods.error === null ? null : <FailedQuery query={methods} title={texts.failed} />}
        />
      </Card>
      {dialog === 'totp' && (
        <TotpDialog
          onClose={() => setDialog(null)}
          onAdded={(recovery) => {
            setDialog(null)
            setCodes(recovery)
          }}
        />
      )}
      {dialog === 'passkey' && <PasskeyDialog onClose={() => setDialog(null)} />}
      {codes !== null && <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />}
      {removing !== null && <RemoveDialog method={removing} onClose={() => setRemoving(null)} />}
    </Section>
  )
}

function useMethodColumns(onRemove: (method: LoginMethod) => void): readonly DataColumn<LoginMethod>[] {
  const { people } = useTexts()
  const texts = people.account
  return [
    {
      id: 'kind',
      header: texts.kind,
      cell: ({ kind, name, email }) => (
        <span className="truncate">
          {texts.kinds[kind]}
          {(name ?? email) !== null && <span className="text-muted"> · {name ?? email}</span>}
        </span>
      ),
    },
    {
      id: 'added',
      header: texts.added,
      width: '10rem',
      priority: 2,
      cell: ({ created_at: at }) => <RelativeTime value={at} />,
    },
    {
      id: 'used',
      header: texts.lastUsed,
      width: '10rem',
      priority: 2,
      cell: ({ last_used_at: at }) => (at === null ? texts.never : <RelativeTime value={at} />),
    },
    {
      id: 'remove',
      header: texts.removeMethod,
      isHeaderHidden: true,
      width: '7rem',
      align: 'right',
      cell: (method) =>
        method.kind !== 'password' &&
        method.kind !== 'recovery_codes' && (
          <Button size="sm" onClick={() => onRemove(method)}>
            {texts.removeMethod}
          </Button>
        ),
    },
  ]
}

function RemoveDialog({ method, onClose }: { readonly method: LoginMethod; readonly onClose: () => void }): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const remove = useAction(removeLoginMethod, { invalidates: METHODS, onSuccess: onClose, onError: () => undefined })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={texts.removeMethodTitle(method.name ?? texts.kinds[method.kind])}
      text={texts.removeMethodText}
      confirmLabel={texts.removeMethod}
      isDanger
      isLoading={remove.isPending}
      error={remove.error?.message}
      onConfirm={() => remove.mutate({ params: { id: method.id } })}
    />
  )
}
