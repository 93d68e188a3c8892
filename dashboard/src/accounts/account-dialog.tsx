/** Connects an SMTP server with its credentials, or changes an account. New credentials are tested at once. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createAccount, updateAccount, type Account, type TestedAccount } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError, type FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { PasswordInput } from '#dashboard/src/ui/password-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { formOf, toCreateBody, toUpdateBody, USUAL_PORTS, type AccountForm } from './account-form.ts'

const FIELDS = [
  'name',
  'host',
  'port',
  'security',
  'username',
  'password',
  'from',
  'connections',
  'messages_per_connection',
  'messages_per_minute',
]
const SECURITIES = ['starttls', 'tls', 'none'] as const

interface AccountDialogProps {
  /** Null: a new one. */
  readonly account: Account | null
  readonly onClose: () => void
  readonly onSaved: (saved: TestedAccount) => void
}

export function AccountDialog({ account, onClose, onSaved }: AccountDialogProps): ReactNode {
  const { accounts, ui } = useTexts()
  const toast = useToast()
  const [form, setForm] = useState(() => formOf(account))
  const [error, setError] = useState<ApiError | null>(null)
  const options = {
    invalidates: ['/public/accounts', '/public/attention'],
    onError: setError,
    onSuccess: ({ message, data }: { readonly message: string; readonly data: TestedAccount }) => {
      if (data.test !== null) toast({ title: message, tone: data.test.ok ? 'success' : 'warning', seconds: 10 })
      onSaved(data)
    },
  }
  const create = useAction(createAccount, options)
  const update = useAction(updateAccount, options)
  useFocusOnError(error)
  const errors = formErrors(error, FIELDS)
  const change = (changed: Partial<AccountForm>): void => setForm((old) => ({ ...old, ...changed }))
  const submit = (): void => {
    setError(null)
    if (account === null) create.mutate({ body: toCreateBody(form) })
    else update.mutate({ params: { id: account.id }, body: toUpdateBody(form, account) })
  }
  const fields = { form, change, errors }
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={account === null ? accounts.connectSmtp : accounts.changeTitle(account.name)}
      description={account === null ? accounts.connectSmtpText : undefined}
      size="lg"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending || update.isPending}>
            {account === null ? accounts.connect : accounts.save}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={accounts.name} hint={accounts.nameHint} error={errors.of('name')} isOptional>
          <TextInput value={form.name} onChange={(name) => change({ name })} autoComplete="off" />
        </Field>
        {account?.type !== 'oauth' && <ServerFields {...fields} hasPassword={account !== null} />}
        <LimitFields {...fields} />
      </div>
    </Dialog>
  )
}

interface FieldsProps {
  readonly form: AccountForm
  readonly change: (changed: Partial<AccountForm>) => void
  readonly errors: FormErrors
}

function ServerFields({
  form,
  change,
  errors,
  hasPassword,
}: FieldsProps & { readonly hasPassword: boolean }): ReactNode {
  const { accounts } = useTexts()
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_12rem_7rem]">
        <Field label={accounts.host} error={errors.of('host')} isRequired>
          <TextInput
            value={form.host}
            onChange={(host) => change({ host })}
            placeholder="smtp.example.com"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Field>
        <Field label={accounts.security} error={errors.of('security')}>
          <Select
            value={form.security}
            onChange={(security) => change({ security, port: USUAL_PORTS[security] })}
            options={SECURITIES.map((value) => ({ value, label: accounts.securities[value] }))}
          />
        </Field>
        <Field label={accounts.port} error={errors.of('port')} isRequired>
          <NumberInput value={form.port} onChange={(port) => change({ port })} />
        </Field>
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={accounts.username} error={errors.of('username')} isRequired>
          <TextInput
            value={form.username}
            onChange={(username) => change({ username })}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Field>
        <Field
          label={accounts.password}
          hint={hasPassword ? accounts.passwordStays : undefined}
          error={errors.of('password')}
          isRequired={!hasPassword}
        >
          <PasswordInput
            value={form.password}
            onChange={(password) => change({ password })}
            autoComplete="new-password"
          />
        </Field>
      </div>
      <Field label={accounts.addresses} hint={accounts.addressesHint} error={errors.of('from')} isOptional>
        <TagInput
          value={form.addresses}
          onChange={(addresses) => change({ addresses })}
          isValid={(text) => /^\S+@\S+$/.test(text)}
          placeholder="office@example.com"
        />
      </Field>
    </>
  )
}

function LimitFields({ form, change, errors }: FieldsProps): ReactNode {
  const { accounts } = useTexts()
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <Field label={accounts.connections} error={errors.of('connections')}>
        <NumberInput value={form.connections} onChange={(connections) => change({ connections })} min={1} />
      </Field>
      <Field label={accounts.perConnection} error={errors.of('messages_per_connection')}>
        <NumberInput value={form.perConnection} onChange={(perConnection) => change({ perConnection })} min={1} />
      </Field>
      <Field label={accounts.perMinute} hint={accounts.perMinuteHint} error={errors.of('messages_per_minute')}>
        <NumberInput value={form.perMinute} onChange={(perMinute) => change({ perMinute })} min={1} />
      </Field>
    </div>
  )
}
