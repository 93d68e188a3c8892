import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { listSteps } from './flow-document.ts'
import { useFlowEditor } from './flow-editor.ts'
import { conditionOf } from './flow-validation.ts'
import type { StepFieldsProps } from './step-fields.tsx'
import { summaryOf, textOf } from './step-summary.ts'

const TYPES = ['opened', 'clicked', 'has_tag', 'attribute'] as const
const OPERATORS = [
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'greater_than',
  'less_than',
  'exists',
  'not_exists',
] as const
const WITHOUT_VALUE: readonly string[] = ['exists', 'not_exists']
const LATEST = 'latest'

export function ConditionFields({ step, onChange }: StepFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { fields } = automations
  const condition = conditionOf(step)
  const type = TYPES.find((one) => one === condition['type']) ?? 'opened'
  const change = (changed: object): void => onChange({ condition: { ...condition, ...changed } })
  return (
    <>
      <Field label={fields.condition}>
        <Select
          value={type}
          onChange={(chosen) => onChange({ condition: { type: chosen } })}
          options={TYPES.map((value) => ({ value, label: automations.conditions[value] }))}
        />
      </Field>
      {(type === 'opened' || type === 'clicked') && (
        <MailChoice ownId={step.id} value={textOf(condition['step'])} onChange={(id) => change({ step: id })} />
      )}
      {type === 'has_tag' && (
        <Field label={fields.tag}>
          <TextInput value={textOf(condition['tag'])} onChange={(tag) => change({ tag })} />
        </Field>
      )}
      {type === 'attribute' && <AttributeFields condition={condition} onChange={change} />}
    </>
  )
}

interface MailChoiceProps {
  readonly ownId: string
  readonly value: string
  readonly onChange: (id: string | null) => void
}

function MailChoice({ ownId, value, onChange }: MailChoiceProps): ReactNode {
  const { automations } = useTexts()
  const { flow, names } = useFlowEditor()
  const all = listSteps(flow.steps).map(({ step }) => step)
  const mails = all
    .slice(
      0,
      all.findIndex(({ id }) => id === ownId),
    )
    .filter(({ type }) => type === 'send_email')
  return (
    <Field label={automations.fields.mail}>
      <Select
        value={value === '' ? LATEST : value}
        onChange={(id) => onChange(id === LATEST ? null : id)}
        options={[
          { value: LATEST, label: automations.fields.latestMail },
          ...mails.map((mail) => ({ value: mail.id, label: summaryOf(mail, names) || mail.id })),
        ]}
      />
    </Field>
  )
}

interface AttributeFieldsProps {
  readonly condition: Readonly<Record<string, unknown>>
  readonly onChange: (change: object) => void
}

function AttributeFields({ condition, onChange }: AttributeFieldsProps): ReactNode {
  const { automations } = useTexts()
  const { fields } = automations
  const operator = OPERATORS.find((one) => one === condition['operator']) ?? 'equals'
  return (
    <>
      <Field label={fields.attribute} hint={fields.attributeHint}>
        <TextInput value={textOf(condition['attribute'])} onChange={(attribute) => onChange({ attribute })} />
      </Field>
      <Field label={fields.operator}>
        <Select
          value={operator}
          onChange={(chosen) => onChange({ operator: chosen })}
          options={OPERATORS.map((value) => ({ value, label: automations.operators[value] }))}
        />
      </Field>
      {!WITHOUT_VALUE.includes(operator) && (
        <Field label={fields.value}>
          <TextInput value={textOf(condition['value'])} onChange={(value) => onChange({ value })} />
        </Field>
      )}
    </>
  )
}
