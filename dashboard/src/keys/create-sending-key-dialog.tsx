/** A key for an application that sends: from a verified domain, or through a connected account. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createDomainKey, getDomains, listAccounts } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Select, type SelectGroup } from '#dashboard/src/ui/select.tsx'
import { LimitFields, NameField, useKeyForm } from './key-form.tsx'
import type { NewSecret } from './keys-page.tsx'

interface CreateSendingKeyDialogProps {
  readonly isOpen: boolean
  /** The domain to choose at first. */
  readonly domainId: string | null
  readonly onClose: () => void
  readonly onSecret: (secret: NewSecret) => void
}

export function CreateSendingKeyDialog(props: CreateSendingKeyDialogProps): ReactNode {
  const { isOpen, domainId, onClose, onSecret } = props
  const { keys, ui } = useTexts()
  const state = useKeyForm()
  const { groups, isEmpty } = useSenders(isOpen)
  const [chosen, setChosen] = useState<string | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const only = groups.flatMap(({ options }) => options)
  const sender =
    chosen ?? (domainId === null ? null : `domain:${domainId}`) ?? (only.length === 1 ? (only[0]?.value ?? null) : null)
  const create = useAction(createDomainKey, {
    invalidates: ['/public/api-keys', '/public/checklist'],
    onSuccess: ({ data }) => {
      state.reset()
      onSecret({ title: keys.createdTitle(data.api_key.name), secret: data.secret_key, type: 'regular' })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name', 'expires_at', 'allowed_networks', 'custom_domain_id', 'account_id'])
  const submit = (): void => {
    setError(null)
    const { name, expiresAt, networks } = state.form
    create.mutate({ body: { name, expires_at: expiresAt, allowed_networks: networks, ...senderFields(sender) } })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={keys.createSending}
      description={keys.createSendingText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending} disabled={isEmpty}>
            {keys.createSending}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {isEmpty && <NoSender />}
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <NameField state={state} errors={errors} />
        <Field
          label={keys.sender}
          hint={keys.senderHint}
          error={errors.of('custom_domain_id') ?? errors.of('account_id')}
          isRequired
        >
          <Select
            value={sender}
            onChange={setChosen}
            groups={groups}
            placeholder={keys.chooseSender}
            isDisabled={isEmpty}
          />
        </Field>
        <LimitFields state={state} errors={errors} />
      </div>
    </Dialog>
  )
}

function NoSender(): ReactNode {
  const { keys } = useTexts()
  const path = useWorkspacePath()
  return (
    <Callout tone="info" title={keys.noSender}>
      {keys.noSenderText} <LinkText href={path('/domains')}>{keys.toDomains}</LinkText>
    </Callout>
  )
}

function senderFields(sender: string | null): { readonly custom_domain_id?: string; readonly account_id?: string } {
  const [kind, id] = sender?.split(':') ?? []
  if (id === undefined) return {}
  return kind === 'account' ? { account_id: id } : { custom_domain_id: id }
}

/** Verified domains and connected accounts, as far as the role may see them. */
function useSenders(isEnabled: boolean): { readonly groups: readonly SelectGroup[]; readonly isEmpty: boolean } {
  const { keys } = useTexts()
  const can = useCan()
  const domains = useApi(getDomains, {}, { isEnabled: isEnabled && can('domains:read') })
  const accounts = useApi(listAccounts, { query: { limit: 100 } }, { isEnabled: isEnabled && can('accounts:read') })
  const usable = domains.data?.data.filter(({ status }) => status === 'verified' || status === 'degraded') ?? []
  const groups = [
    { label: keys.domains, options: usable.map(({ id, domain }) => ({ value: `domain:${id}`, label: domain })) },
    {
      label: keys.accounts,
      options: (accounts.data?.data.accounts ?? []).map(({ id, name, host }) => ({
        value: `account:${id}`,
        label: name,
        description: host,
      })),
    },
  ].filter(({ options }) => options.length > 0)
  return { groups, isEmpty: groups.length === 0 && !domains.isPending && !accounts.isFetching }
}
