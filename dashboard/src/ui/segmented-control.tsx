import type { IconComponent } from './icon.tsx'
import { RadioGroup } from 'radix-ui'
import { cx } from './class-names.ts'
import { type Size } from './tone.ts'

export interface Segment<Value extends string> {
  value: Value
  label: string
  icon?: IconComponent | undefined
  /** Only the icon is visible. */
  isIconOnly?: boolean | undefined
}

export interface SegmentedControlProps<Value extends string> {
  value: Value
  onChange: (value: Value) => void
  segments: readonly Segment<Value>[]
  label: string
  size?: Size | undefined
}

/** A choice of two to five short views, all visible. */
export function SegmentedControl<Value extends string>(props: SegmentedControlProps<Value>) {
  const { value, onChange, segments, label, size = 'md' } = props
  return (
    <RadioGroup.Root
      aria-label={label}
      orientation="horizontal"
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className="inline-flex w-fit max-w-full overflow-x-auto rounded-md border border-line bg-sunken p-0.5"
    >
      {segments.map(({ value: own, label: text, icon: Icon, isIconOnly = false }) => (
        <RadioGroup.Item
          key={own}
          value={own}
          aria-label={text}
          title={isIconOnly ? text : undefined}
          className={cx(
            'inline-flex min-w-7 shrink-0 items-center justify-center gap-1.5 rounded-sm px-2.5 text-sm font-medium whitespace-nowrap text-muted transition-colors',
            'hover:text-ink focus-visible:outline-offset-[-2px] data-[state=checked]:bg-raised data-[state=checked]:text-ink data-[state=checked]:shadow-sm',
            size === 'sm' ? 'h-6 pointer-coarse:h-8' : 'h-7 pointer-coarse:h-10',
          )}
        >
          {Icon !== undefined && <Icon size={14} aria-hidden="true" />}
          {!isIconOnly && text}
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}
