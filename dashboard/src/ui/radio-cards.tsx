import type { IconComponent } from './icon.tsx'
import { RadioGroup } from 'radix-ui'
import { useId, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'

export interface RadioCard<Value extends string> {
  value: Value
  label: string
  description?: ReactNode
  icon?: IconComponent | undefined
  isDisabled?: boolean | undefined
}

export interface RadioCardsProps<Value extends string> {
  value: Value | null
  onChange: (value: Value) => void
  options: readonly RadioCard<Value>[]
  /** The name, where no Field is around it. */
  label?: string | undefined
  columns?: 1 | 2 | 3 | undefined
}

const COLUMNS = { 1: '', 2: 'sm:grid-cols-2', 3: 'sm:grid-cols-2 lg:grid-cols-3' }

/** A choice whose options need an explanation. */
export function RadioCards<Value extends string>(props: RadioCardsProps<Value>) {
  const { value, onChange, options, label, columns = 2 } = props
  const { required: _, ...aria } = useFieldControl()
  const id = useId()
  return (
    <RadioGroup.Root
      {...aria}
      {...(label === undefined ? {} : { 'aria-label': label })}
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className={cx('grid gap-2', COLUMNS[columns])}
    >
      {options.map((option) => (
        <RadioGroup.Item
          key={option.value}
          value={option.value}
          disabled={option.isDisabled === true}
          aria-labelledby={`${id}-${option.value}`}
          aria-describedby={option.description === undefined ? undefined : `${id}-${option.value}-about`}
          className="flex items-start gap-3 rounded-lg border border-line-strong bg-surface p-3 text-left transition-colors hover:bg-hover disabled:opacity-50 data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft"
        >
          <span className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border border-control bg-surface">
            <RadioGroup.Indicator className="size-2 rounded-full bg-accent" />
          </span>
          <span className="min-w-0 grow">
            <span id={`${id}-${option.value}`} className="block font-medium text-ink">
              {option.label}
            </span>
            {option.description !== undefined && (
              <span id={`${id}-${option.value}-about`} className="mt-0.5 block text-sm text-muted">
                {option.description}
              </span>
            )}
          </span>
          {option.icon !== undefined && <option.icon size={16} aria-hidden="true" className="mt-0.5 text-faint" />}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}
