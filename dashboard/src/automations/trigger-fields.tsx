import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { AudienceField } from './audience-field.tsx'
import type { FlowTrigger } from './flow-validation.ts'
import { textOf } from './step-summary.ts'

const TYPES = ['contact_event', 'contact_added_to_audience', 'date_time', 'manual'] as const

interface TriggerFieldsProps {
  readonly trigger: FlowTrigger
  readonly onChange: (trigger: FlowTrigger) => void
}

export function TriggerFields({ trigger: { type, config }, onChange }: TriggerFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { fields } = automations
  const change = (changed: FlowTrigger['config']): void => onChange({ type, config: { ...config, ...changed } })
  const at = typeof config['at'] === 'string' && !Number.isNaN(Date.parse(config['at'])) ? config['at'] : null
  return (
    <>
      <Field label={automations.triggerColumn}>
        <Select
          value={type}
          onChange={(chosen) => onChange({ type: chosen, config: {} })}
          options={TYPES.map((value) => ({ value, label: automations.triggers[value] }))}
        />
      </Field>
      {type === 'contact_event' && (
        <Field label={fields.event} hint={fields.eventHint}>
          <TextInput value={textOf(config['event_name'])} onChange={(name) => change({ event_name: name })} />
        </Field>
      )}
      {type === 'date_time' && (
        <Field label={fields.at}>
          <DateTimeInput value={at} onChange={(instant) => change({ at: instant })} />
        </Field>
      )}
      {(type === 'contact_added_to_audience' || type === 'date_time') && (
        <AudienceField
          value={config['audience_id']}
          onChange={(id) => change({ audience_id: id })}
          isOptional={type === 'date_time'}
        />
      )}
    </>
  )
}
