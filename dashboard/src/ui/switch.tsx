import { Switch as RadixSwitch } from 'radix-ui'
import { useId, type ReactNode } from 'react'

export interface SwitchProps {
  isOn: boolean
  onChange: (isOn: boolean) => void
  label: ReactNode
  hint?: ReactNode
  isDisabled?: boolean | undefined
}

/** Turns something on or off at once, without a Save button. In forms, use Checkbox. */
export function Switch({ isOn, onChange, label, hint, isDisabled = false }: SwitchProps) {
  const id = useId()
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="min-w-0">
        <label htmlFor={id} className="text-base text-ink">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-muted">
            {hint}
          </p>
        )}
      </div>
      <RadixSwitch.Root
        id={id}
        checked={isOn}
        onCheckedChange={onChange}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className="relative mt-px inline-flex h-5 w-9 shrink-0 items-center rounded-full bg-control transition-colors after:absolute after:-inset-3 disabled:opacity-50 data-[state=checked]:bg-accent"
      >
        <RadixSwitch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-surface shadow-sm transition-transform data-[state=checked]:translate-x-[18px]" />
      </RadixSwitch.Root>
    </div>
  )
}
