/** Names a campaign, and opens its first step. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { createCampaign } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

interface CreateCampaignDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function CreateCampaignDialog({ isOpen, onClose }: CreateCampaignDialogProps): ReactNode {
  const { campaigns, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  const create = useAction(createCampaign, {
    invalidates: ['/public/campaigns'],
    onSuccess: ({ data }) => {
      setName('')
      void navigate({ to: path(`/campaigns/${data.id}/edit/who`) })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['name'])
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.create}
      description={campaigns.createText}
      size="sm"
      onSubmit={() => {
        setError(null)
        create.mutate({ body: { name: name.trim() } })
      }}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={create.isPending}>
            {campaigns.createIt}
          </Button>
        </>
      }
    >
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Field label={campaigns.name} hint={campaigns.nameHint} error={errors.of('name')} isRequired>
        <TextInput value={name} onChange={setName} autoFocus autoComplete="off" />
      </Field>
    </Dialog>
  )
}
