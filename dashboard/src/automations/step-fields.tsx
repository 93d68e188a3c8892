/** The fields of each type of step, one row each. */
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { AudienceField } from './audience-field.tsx'
import { ConditionFields } from './condition-fields.tsx'
import { readDelay, UNITS, type DelayUnit } from './delay-units.ts'
import { EmailFields } from './email-fields.tsx'
import type { FlowStep, StepType } from './flow-document.ts'
import { textOf } from './step-summary.ts'

export interface StepFieldsProps {
  readonly step: FlowStep
  readonly onChange: (change: Readonly<Record<string, unknown>>) => void
}

const UNIT_NAMES: readonly DelayUnit[] = ['seconds', 'minutes', 'hours', 'days', 'weeks']

function DelayFields({ step, onChange }: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { amount, unit } = readDelay(step['seconds'])
  return (
    <div className="grid grid-cols-2 gap-3">
      <Field label={step.type === 'delay' ? automations.fields.amount : automations.fields.timeLimit}>
        <NumberInput
          min={1}
          value={amount === 0 ? null : amount}
          onChange={(value) => onChange({ seconds: (value ?? 0) * UNITS[unit] })}
        />
      </Field>
      <Field label={automations.fields.unit}>
        <Select
          value={unit}
          onChange={(chosen) => onChange({ seconds: amount * UNITS[chosen] })}
          options={UNIT_NAMES.map((value) => ({ value, label: automations.units[value] }))}
        />
      </Field>
    </div>
  )
}

function WaitFields(props: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { step, onChange } = props
  return (
    <>
      <Field label={automations.fields.event} hint={automations.fields.eventHint}>
        <TextInput value={textOf(step['event_name'])} onChange={(name) => onChange({ event_name: name })} />
      </Field>
      <DelayFields {...props} />
    </>
  )
}

function TagFields({ step, onChange }: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  return (
    <Field label={automations.fields.tag}>
      <TextInput value={textOf(step['tag'])} onChange={(tag) => onChange({ tag })} />
    </Field>
  )
}

function AudienceFields({ step, onChange }: StepFieldsProps): ReactNode {
  return <AudienceField value={step['audience_id']} onChange={(id) => onChange({ audience_id: id })} />
}

function WebhookFields({ step, onChange }: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  return (
    <Field label={automations.fields.url} hint={automations.fields.urlHint}>
      <TextInput type="url" value={textOf(step['url'])} onChange={(url) => onChange({ url })} />
    </Field>
  )
}

export const STEP_FIELDS: Readonly<Record<StepType, ((props: StepFieldsProps) => ReactNode) | null>> = {
  send_email: EmailFields,
  delay: DelayFields,
  condition: ConditionFields,
  wait_for_event: WaitFields,
  add_tag: TagFields,
  remove_tag: TagFields,
  add_to_audience: AudienceFields,
  remove_from_audience: AudienceFields,
  webhook: WebhookFields,
  exit: () => null,
}
