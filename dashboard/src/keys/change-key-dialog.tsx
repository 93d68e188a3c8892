import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { changeApiKey, type ApiKey } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { isNetwork } from './networks.ts'

interface ChangeKeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

/** Changes what the API lets change of a key. Its secret and its rights stay. */
export function ChangeKeyDialog({ apiKey, onClose }: ChangeKeyDialogProps): ReactNode {
  const { keys, ui } = useTexts()
  const [name, setName] = useState(apiKey.name)
  const [networks, setNetworks] = useState<readonly string[]>(apiKey.allowed_networks)
  const [error, setError] = useState<ApiError | null>(null)
  const change = useAction(changeApiKey, {
    invalidates: ['/public/api-keys'],
    onSuccess: onClose,
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name', 'allowed_networks'])
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onClose()}
      title={keys.changeTitle(apiKey.name)}
      description={keys.changeText}
      onSubmit={() => change.mutate({ params: { id: apiKey.id }, body: { name, allowed_networks: networks } })}
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
        <Field label={keys.name} error={errors.of('name')} isRequired>
          <TextInput value={name} onChange={setName} />
        </Field>
        <Field label={keys.networks} hint={keys.networksHint} error={errors.of('allowed_networks')} isOptional>
          <TagInput value={networks} onChange={setNetworks} isValid={isNetwork} placeholder="192.0.2.0/24" />
        </Field>
      </div>
    </Dialog>
  )
}
