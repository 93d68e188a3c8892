/** When the messages were accepted: a period until now, or between two times. */
import { CalendarClock, ChevronDown } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { DateTimeInput } from '#dashboard/src/ui/date-time-input.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Popover } from '#dashboard/src/ui/popover.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { isPeriod, PERIODS, type Period } from './message-filter.ts'

interface PeriodFilterProps {
  readonly period: string | undefined
  readonly after: string | undefined
  readonly before: string | undefined
  readonly onChange: (change: Record<'period' | 'after' | 'before', string | undefined>) => void
}

type Choice = Period | 'any' | 'between'

export function PeriodFilter({ period, after, before, onChange }: PeriodFilterProps): ReactNode {
  const { messages } = useTexts()
  const [isOpen, setOpen] = useState(false)
  const isBetween = after !== undefined || before !== undefined
  const current: Choice = isPeriod(period) ? period : isBetween ? 'between' : 'any'
  const names = Object.keys(PERIODS) as readonly Period[]
  return (
    <Popover
      label={messages.period}
      align="end"
      isOpen={isOpen}
      onOpenChange={setOpen}
      trigger={
        <Button icon={CalendarClock}>
          {messages.periods[current]}
          <ChevronDown size={14} aria-hidden="true" className="text-faint" />
        </Button>
      }
    >
      <div className="flex max-w-full flex-col gap-3">
        <SegmentedControl<Choice>
          label={messages.period}
          value={current}
          onChange={(chosen) =>
            onChange({ period: chosen === 'any' ? undefined : chosen, after: undefined, before: undefined })
          }
          segments={(['any', ...names] as const).map((value) => ({ value, label: messages.shortPeriods[value] }))}
        />
        <Field label={messages.after}>
          <DateTimeInput
            value={after ?? null}
            onChange={(value) => onChange({ period: undefined, after: value ?? undefined, before })}
          />
        </Field>
        <Field label={messages.before}>
          <DateTimeInput
            value={before ?? null}
            onChange={(value) => onChange({ period: undefined, after, before: value ?? undefined })}
          />
        </Field>
      </div>
    </Popover>
  )
}
