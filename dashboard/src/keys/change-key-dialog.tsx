import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { changeApiKey, type ApiKey, type ChangeApiKeyBody } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { LimitFields, NameField, useKeyForm } from './key-form.tsx'
import { ScopeFields } from './scope-fields.tsx'
import { ALL_SCOPES, type Scope } from './scopes.ts'

interface ChangeKeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Changes a key; its secret stays. Who may not create Admin keys can only take scopes from one. */
export function ChangeKeyDialog({ apiKey, onClose }: ChangeKeyDialogProps): ReactNode {
  const { keys, ui } = useTexts()
  const can = useCan()
  const state = useKeyForm({ name: apiKey.name, expiresAt: apiKey.expires_at, networks: apiKey.allowed_networks })
  const present = ALL_SCOPES.filter((scope) => apiKey.scopes.includes(scope))
  const [scopes, setScopes] = useState<readonly Scope[]>(present)
  const [error, setError] = useState<ApiError | null>(null)
  const change = useAction(changeApiKey, {
    invalidates: ['/public/api-keys'],
    onSuccess: onClose,
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name', 'scopes', 'expires_at', 'allowed_networks'])
  const isAdmin = apiKey.type === 'admin'
  const submit = (): void => {
    setError(null)
    const { name, expiresAt, networks } = state.form
    const body: ChangeApiKeyBody = {
      name,
      allowed_networks: networks,
      ...(expiresAt === apiKey.expires_at ? {} : { expires_at: expiresAt }),
      ...(isAdmin && scopes.join() !== present.join() ? { scopes } : {}),
    }
    change.mutate({ params: { id: apiKey.id }, body })
  }
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={keys.changeTitle(apiKey.name)}
      description={isAdmin ? keys.changeAdminText : keys.changeSendingText}
      size={isAdmin ? 'lg' : undefined}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={change.isPending}>
            {keys.save}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <NameField state={state} errors={errors} />
        {isAdmin && (
          <ScopeFields
            scopes={scopes}
            onChange={setScopes}
            error={errors.of('scopes')}
            choices={can('admin-keys:create') ? ALL_SCOPES : present}
          />
        )}
        <LimitFields state={state} errors={errors} />
      </div>
    </Dialog>
  )
}
