/** The mail of a step: a template, or its own subject and body; never both. */
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useFlowEditor } from './flow-editor.ts'
import type { StepFieldsProps } from './step-fields.tsx'
import { textOf } from './step-summary.ts'

const OWN = 'own'

export function EmailFields({ step, onChange }: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { names } = useFlowEditor()
  const { fields } = automations
  const templateId = textOf(step['template_id'])
  return (
    <>
      <Field label={fields.template}>
        <Select
          value={templateId === '' ? OWN : templateId}
          onChange={(id) => onChange(id === OWN ? { template_id: null } : { template_id: id, body: null, text: null })}
          options={[
            { value: OWN, label: fields.ownContent },
            ...[...names.templates].map(([id, label]) => ({ value: id, label })),
          ]}
        />
      </Field>
      <Field label={fields.subject} hint={templateId === '' ? undefined : fields.subjectHint}>
        <TextInput value={textOf(step['subject'])} onChange={(subject) => onChange({ subject })} />
      </Field>
      {templateId === '' && (
        <Field label={fields.body} hint={fields.bodyHint}>
          <TextArea
            isMono
            rows={8}
            spellCheck={false}
            value={textOf(step['body'])}
            onChange={(body) => onChange({ body })}
          />
        </Field>
      )}
      <Field label={fields.from}>
        <TextInput type="email" value={textOf(step['from'])} onChange={(from) => onChange({ from })} />
      </Field>
      <Field label={fields.fromName} isOptional>
        <TextInput
          value={textOf(step['from_name'])}
          onChange={(name) => onChange({ from_name: name === '' ? null : name })}
        />
      </Field>
    </>
  )
}
