/** One condition of a segment: what it is about, how it compares, and with what. */
import { X } from '#dashboard/src/ui/icons.tsx'
import { useId, type ReactNode } from 'react'
import { listContactAttributes } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import {
  FIELD_TYPES,
  FIRST_CONDITIONS,
  OPERATORS,
  readValue,
  type Condition,
  type ConditionType,
  type Scalar,
} from './segment-document.ts'

interface EditorProps<Kind extends ConditionType> {
  readonly condition: Extract<Condition, { readonly type: Kind }>
  readonly onChange: (condition: Condition) => void
}

interface SegmentConditionProps {
  readonly condition: Condition
  readonly onChange: (condition: Condition) => void
  readonly onRemove: () => void
}

const TYPES: readonly ConditionType[] = ['attribute', 'field', 'tag', 'status', 'activity']

export function SegmentCondition({ condition, onChange, onRemove }: SegmentConditionProps): ReactNode {
  const { segments } = useTexts()
  return (
    <div className="flex items-start gap-2">
      <div className="grid min-w-0 grow gap-2 sm:grid-cols-[9rem_minmax(0,1fr)_minmax(0,1fr)_minmax(0,1fr)]">
        <Select
          label={segments.kind}
          value={condition.type}
          options={TYPES.map((value) => ({ value, label: segments.kinds[value] }))}
          onChange={(type) => onChange(FIRST_CONDITIONS[type])}
        />
        <Editor condition={condition} onChange={onChange} />
      </div>
      <IconButton icon={X} label={segments.removeCondition} onClick={onRemove} />
    </div>
  )
}

function Editor({ condition, onChange }: Omit<SegmentConditionProps, 'onRemove'>): ReactNode {
  if (condition.type === 'attribute') return <AttributeEditor condition={condition} onChange={onChange} />
  if (condition.type === 'field') return <FieldEditor condition={condition} onChange={onChange} />
  if (condition.type === 'tag') return <TagEditor condition={condition} onChange={onChange} />
  if (condition.type === 'status') return <StatusEditor condition={condition} onChange={onChange} />
  return <ActivityEditor condition={condition} onChange={onChange} />
}

function AttributeEditor({ condition, onChange }: EditorProps<'attribute'>): ReactNode {
  const { segments } = useTexts()
  const listId = useId()
  const { data } = useApi(listContactAttributes, {}, { staleMs: 60_000 })
  return (
    <>
      <TextInput
        aria-label={segments.attribute}
        placeholder={segments.attribute}
        list={listId}
        value={condition.attribute}
        onChange={(attribute) => onChange({ ...condition, attribute })}
        spellCheck={false}
      />
      <datalist id={listId}>
        {data?.data.attributes.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Comparison
        kind="any"
        op={condition.op}
        value={condition.value}
        onChange={(part) => onChange({ ...condition, ...part })}
      />
    </>
  )
}

function FieldEditor({ condition, onChange }: EditorProps<'field'>): ReactNode {
  const { segments } = useTexts()
  const kind = FIELD_TYPES[condition.field] ?? 'text'
  return (
    <>
      <Select
        label={segments.kinds.field}
        value={condition.field}
        options={Object.keys(FIELD_TYPES).map((value) => ({ value, label: segments.fields[value] ?? value }))}
        onChange={(field) =>
          onChange({ ...condition, field, op: OPERATORS[FIELD_TYPES[field] ?? 'text'][0], value: '' })
        }
      />
      <Comparison
        kind={kind}
        op={condition.op}
        value={condition.value}
        onChange={(part) => onChange({ ...condition, ...part })}
      />
    </>
  )
}

interface ComparisonProps {
  readonly kind: keyof typeof OPERATORS
  readonly op: string
  readonly value: Scalar
  readonly onChange: (part: { readonly op?: string; readonly value?: Scalar }) => void
}

function Comparison({ kind, op, value, onChange }: ComparisonProps): ReactNode {
  const { segments } = useTexts()
  const names = kind === 'time' ? segments.timeOperators : segments.operators
  return (
    <>
      <Select
        label={segments.operator}
        value={op}
        options={OPERATORS[kind].map((one) => ({ value: one as string, label: names[one] ?? one }))}
        onChange={(next) =>
          onChange({
            op: next,
            ...((next === 'exists') === (op === 'exists') ? {} : { value: next === 'exists' ? true : '' }),
          })
        }
      />
      <Value kind={kind} op={op} value={value} onChange={onChange} />
    </>
  )
}

function Value({ kind, op, value, onChange }: ComparisonProps): ReactNode {
  const { segments } = useTexts()
  if (op === 'exists')
    return (
      <Select
        label={segments.value}
        value={value === false ? 'no' : 'yes'}
        options={[
          { value: 'yes', label: segments.isSet },
          { value: 'no', label: segments.isNotSet },
        ]}
        onChange={(next) => onChange({ value: next === 'yes' })}
      />
    )
  if (kind === 'time')
    return (
      <DateTimeInput
        label={segments.value}
        value={typeof value === 'string' && value !== '' ? value : null}
        onChange={(next) => onChange({ value: next ?? '' })}
      />
    )
  if (kind === 'number')
    return (
      <NumberInput
        aria-label={segments.value}
        step={0.01}
        value={typeof value === 'number' ? value : null}
        onChange={(next) => onChange({ value: next ?? '' })}
      />
    )
  return (
    <TextInput
      aria-label={segments.value}
      placeholder={segments.value}
      value={String(value)}
      onChange={(text) => onChange({ value: kind === 'any' ? readValue(text) : text })}
    />
  )
}

function TagEditor({ condition, onChange }: EditorProps<'tag'>): ReactNode {
  const { segments } = useTexts()
  return (
    <>
      <Select
        label={segments.operator}
        value={condition.has ? 'has' : 'hasNot'}
        options={[
          { value: 'has', label: segments.hasTag },
          { value: 'hasNot', label: segments.hasNotTag },
        ]}
        onChange={(next) => onChange({ ...condition, has: next === 'has' })}
      />
      <TextInput
        aria-label={segments.kinds.tag}
        placeholder={segments.kinds.tag}
        value={condition.tag}
        onChange={(tag) => onChange({ ...condition, tag })}
      />
    </>
  )
}

const STATUSES = ['subscribed', 'unsubscribed', 'member', 'blocked'] as const
const ANY = 'any'

function StatusEditor({ condition, onChange }: EditorProps<'status'>): ReactNode {
  const { segments } = useTexts()
  const audiences = useAudienceChoices()
  return (
    <>
      <Select
        label={segments.kinds.status}
        value={condition.status}
        options={STATUSES.map((value) => ({ value: value as string, label: segments.statuses[value] }))}
        onChange={(status) =>
          onChange({ ...condition, status, audienceId: status === 'blocked' ? null : condition.audienceId })
        }
      />
      {condition.status !== 'blocked' && (
        <Select
          label={segments.audience}
          value={condition.audienceId ?? ANY}
          options={[{ value: ANY, label: segments.anyAudience }, ...audiences]}
          onChange={(value) => onChange({ ...condition, audienceId: value === ANY ? null : value })}
        />
      )}
    </>
  )
}

const ACTIVITIES = ['opened', 'clicked', 'delivered', 'bounced', 'mailed'] as const
const EVER = 'ever'
const PERIODS = [7, 30, 90, 180, 365] as const

function ActivityEditor({ condition, onChange }: EditorProps<'activity'>): ReactNode {
  const { segments } = useTexts()
  const days = condition.withinDays
  const choices = days === null || PERIODS.some((one) => one === days) ? PERIODS : [...PERIODS, days]
  return (
    <>
      <Select
        label={segments.kinds.activity}
        value={condition.activity}
        options={ACTIVITIES.map((value) => ({ value: value as string, label: segments.activities[value] }))}
        onChange={(activity) => onChange({ ...condition, activity })}
      />
      <Select
        label={segments.period}
        value={days === null ? EVER : days.toString()}
        options={[
          { value: EVER, label: segments.ever },
          ...choices.map((one) => ({ value: one.toString(), label: segments.within(one) })),
        ]}
        onChange={(value) => onChange({ ...condition, withinDays: value === EVER ? null : Number(value) })}
      />
    </>
  )
}
