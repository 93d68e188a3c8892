import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { addAudience } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { AUDIENCE_FIELDS, AudienceFields, type AudienceForm } from './audience-fields.tsx'

export function NewAudienceDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { audiences: texts } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [form, setForm] = useState<AudienceForm>({ name: '', description: '', isDoubleOptIn: true })
  const [error, setError] = useState<ApiError | null>(null)
  useFocusOnError(error)
  const action = useAction(addAudience, {
    invalidates: ['/public/audiences'],
    onSuccess: ({ data }) => void navigate({ to: path(`/audiences/${data.id}`) }),
    onError: setError,
  })
  const { name, description, isDoubleOptIn } = form
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.create}
      description={texts.createText}
      onSubmit={() => action.mutate({ body: { name, description, double_opt_in: isDoubleOptIn } })}
      footer={
        <Button type="submit" variant="primary" isLoading={action.isPending}>
          {texts.create}
        </Button>
      }
    >
      <AudienceFields form={form} onChange={setForm} errors={formErrors(error, AUDIENCE_FIELDS)} />
    </Dialog>
  )
}
