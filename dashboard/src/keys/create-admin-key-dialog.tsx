/** A key for programs that manage the workspace. Its maker chooses what it may do. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createAdminKey } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { LimitFields, NameField, useKeyForm } from './key-form.tsx'
import type { NewSecret } from './keys-page.tsx'
import { ScopeFields } from './scope-fields.tsx'
import type { Scope } from './scopes.ts'

interface CreateAdminKeyDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onSecret: (secret: NewSecret) => void
}

export function CreateAdminKeyDialog({ isOpen, onClose, onSecret }: CreateAdminKeyDialogProps): ReactNode {
  const { keys, ui } = useTexts()
  const state = useKeyForm()
  const [scopes, setScopes] = useState<readonly Scope[]>([])
  const [error, setError] = useState<ApiError | null>(null)
  const create = useAction(createAdminKey, {
    invalidates: ['/public/api-keys', '/public/workspace'],
    onSuccess: ({ data }) => {
      state.reset()
      setScopes([])
      onSecret({ title: keys.createdTitle(data.api_key.name), secret: data.secret_key, type: 'admin' })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name', 'scopes', 'expires_at', 'allowed_networks'])
  const submit = (): void => {
    setError(null)
    const { name, expiresAt, networks } = state.form
    create.mutate({ body: { name, scopes, expires_at: expiresAt, allowed_networks: networks } })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={keys.createAdmin}
      description={keys.createAdminText}
      size="lg"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending}>
            {keys.createAdmin}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <NameField state={state} errors={errors} />
        <ScopeFields scopes={scopes} onChange={setScopes} error={errors.of('scopes')} />
        <LimitFields state={state} errors={errors} />
      </div>
    </Dialog>
  )
}
