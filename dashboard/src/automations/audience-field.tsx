import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { useFlowEditor } from './flow-editor.ts'

interface AudienceFieldProps {
  readonly value: unknown
  readonly onChange: (id: string) => void
  readonly isOptional?: boolean
}

export function AudienceField({ value, onChange, isOptional = false }: AudienceFieldProps): ReactNode {
  const { automations } = useTexts()
  const { names } = useFlowEditor()
  return (
    <Field label={automations.fields.audience} isOptional={isOptional}>
      <Select
        value={typeof value === 'string' && value !== '' ? value : null}
        onChange={onChange}
        placeholder={automations.fields.chooseAudience}
        isDisabled={names.audiences.size === 0}
        options={[...names.audiences].map(([id, label]) => ({ value: id, label }))}
      />
    </Field>
  )
}
