/**
 * Connects a mailbox by a sign-in at its provider, or connects an account again. The browser leaves for the provider.
 */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { startOauth, type Account } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

type Provider = 'google' | 'microsoft' | 'other'

interface ConnectMailboxDialogProps {
  /** Null: a new one. */
  readonly account: Account | null
  readonly onClose: () => void
}

export function ConnectMailboxDialog({ account, onClose }: ConnectMailboxDialogProps): ReactNode {
  const { accounts, ui } = useTexts()
  const [provider, setProvider] = useState<Provider>('google')
  const [other, setOther] = useState('')
  const [email, setEmail] = useState(account?.username ?? '')
  const [error, setError] = useState<ApiError | null>(null)
  const start = useAction(startOauth, {
    onSuccess: ({ data }) => globalThis.location.assign(data.authorize_url),
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['provider', 'email'])
  const submit = (): void => {
    setError(null)
    const name = provider === 'other' ? other.trim() : provider
    const target = account === null ? { provider: name } : { account_id: account.id }
    start.mutate({ query: { ...target, ...(email.trim() === '' ? {} : { email: email.trim() }) } })
  }
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={account === null ? accounts.connectMailbox : accounts.reconnect}
      description={accounts.connectMailboxText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={start.isPending}>
            {accounts.toProvider}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        {account === null && (
          <Field label={accounts.provider} error={errors.of('provider')}>
            <RadioCards
              value={provider}
              onChange={setProvider}
              columns={3}
              options={[
                { value: 'google', label: 'Google' },
                { value: 'microsoft', label: 'Microsoft 365' },
                { value: 'other', label: accounts.otherProvider },
              ]}
            />
          </Field>
        )}
        {account === null && provider === 'other' && (
          <Field label={accounts.providerName} hint={accounts.providerNameHint} isRequired>
            <TextInput value={other} onChange={setOther} autoCapitalize="none" spellCheck={false} />
          </Field>
        )}
        <Field label={accounts.mailbox} hint={accounts.mailboxHint} error={errors.of('email')} isOptional>
          <TextInput type="email" value={email} onChange={setEmail} />
        </Field>
      </div>
    </Dialog>
  )
}
