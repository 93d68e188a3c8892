import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { deleteAudience, updateAudience, type Audience } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { AUDIENCE_FIELDS, AudienceFields, type AudienceForm } from './audience-fields.tsx'

export function AudienceSettings({ audience }: { readonly audience: Audience }): ReactNode {
  const { audiences: texts } = useTexts()
  const canWrite = useCan()('audiences:write')
  return (
    <div className="flex max-w-2xl flex-col gap-8">
      <AudienceSettingsForm audience={audience} canWrite={canWrite} />
      <Section title={texts.id} description={texts.idText}>
        <CopyField value={audience.id} label={texts.copyId} />
      </Section>
      {canWrite && <DeleteAudience audience={audience} />}
    </div>
  )
}

interface AudienceSettingsFormProps {
  readonly audience: Audience
  readonly canWrite: boolean
}

function AudienceSettingsForm({ audience, canWrite }: AudienceSettingsFormProps): ReactNode {
  const { audiences: texts } = useTexts()
  const toast = useToast()
  const [form, setForm] = useState<AudienceForm>({
    name: audience.name,
    description: audience.description ?? '',
    isDoubleOptIn: audience.double_opt_in,
  })
  const [error, setError] = useState<ApiError | null>(null)
  useFocusOnError(error)
  const action = useAction(updateAudience, {
    invalidates: ['/public/audiences'],
    onSuccess: () => {
      setError(null)
      toast({ title: texts.saved, tone: 'success' })
    },
    onError: setError,
  })
  const { name, description, isDoubleOptIn } = form
  return (
    <Section title={texts.tabs.settings}>
      <Card>
        <form
          noValidate
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault()
            action.mutate({ query: { id: audience.id }, body: { name, description, double_opt_in: isDoubleOptIn } })
          }}
        >
          <AudienceFields
            form={form}
            onChange={setForm}
            errors={formErrors(error, AUDIENCE_FIELDS)}
            isDisabled={!canWrite}
          />
          {canWrite && (
            <Button type="submit" variant="primary" className="self-start" isLoading={action.isPending}>
              {texts.save}
            </Button>
          )}
        </form>
      </Card>
    </Section>
  )
}

function DeleteAudience({ audience }: { readonly audience: Audience }): ReactNode {
  const { audiences: texts } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  const remove = useAction(deleteAudience, {
    onSuccess: () => void navigate({ to: path('/audiences') }),
    invalidates: ['/public/audiences/get-audiences', '/public/contacts'],
  })
  return (
    <Section title={texts.remove} description={texts.removeText}>
      <Button variant="danger" icon={Trash2} onClick={() => setAsking(true)}>
        {texts.remove}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onOpenChange={setAsking}
        title={texts.removeTitle(audience.name)}
        text={texts.removeCount(audience.contactCount)}
        confirmLabel={texts.remove}
        isDanger
        typeToConfirm={audience.name}
        isLoading={remove.isPending}
        onConfirm={() => remove.mutate({ query: { id: audience.id } })}
      />
    </Section>
  )
}
