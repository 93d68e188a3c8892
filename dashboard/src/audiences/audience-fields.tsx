import type { ReactNode } from 'react'
import type { FormErrors } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

export interface AudienceForm {
  readonly name: string
  readonly description: string
  readonly isDoubleOptIn: boolean
}

export const AUDIENCE_FIELDS = ['name', 'description', 'double_opt_in']

interface AudienceFieldsProps {
  readonly form: AudienceForm
  readonly onChange: (form: AudienceForm) => void
  readonly errors: FormErrors
  readonly isDisabled?: boolean
}

export function AudienceFields({ form, onChange, errors, isDisabled = false }: AudienceFieldsProps): ReactNode {
  const { audiences: texts } = useTexts()
  return (
    <div className="flex flex-col gap-4">
      {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
      <Field label={texts.name} hint={texts.nameHint} isRequired error={errors.of('name')}>
        <TextInput value={form.name} onChange={(name) => onChange({ ...form, name })} disabled={isDisabled} />
      </Field>
      <Field label={texts.descriptionField} isOptional error={errors.of('description')}>
        <TextArea
          value={form.description}
          onChange={(description) => onChange({ ...form, description })}
          rows={2}
          disabled={isDisabled}
        />
      </Field>
      <Checkbox
        label={texts.confirmLabel}
        hint={texts.confirmHint}
        isChecked={form.isDoubleOptIn}
        onChange={(isDoubleOptIn) => onChange({ ...form, isDoubleOptIn })}
        isDisabled={isDisabled}
      />
    </div>
  )
}
