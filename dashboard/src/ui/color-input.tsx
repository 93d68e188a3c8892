import { type ReactNode } from 'react'
import { TextInput } from './text-input.tsx'

export interface ColorInputProps {
  /** `#rrggbb`; empty: the default. */
  value: string
  onChange: (value: string) => void
  /** The color that applies without a value. */
  placeholder: string
  /** Names the button that opens the picker. */
  pickerLabel: string
  isDisabled?: boolean | undefined
}

const COLOR = /^#[\da-f]{6}$/i

/** A color as text, with the browser's picker beside it. */
export function ColorInput({ value, onChange, placeholder, pickerLabel, isDisabled }: ColorInputProps): ReactNode {
  return (
    <div className="flex gap-2">
      <input
        type="color"
        aria-label={pickerLabel}
        value={COLOR.test(value) ? value : placeholder}
        onChange={(event) => onChange(event.target.value)}
        disabled={isDisabled}
        className="h-8 w-10 shrink-0 cursor-pointer rounded-md border border-control bg-surface p-0.5 disabled:opacity-50 pointer-coarse:h-11 pointer-coarse:w-14"
      />
      <TextInput
        isMono
        value={value}
        onChange={onChange}
        placeholder={placeholder}
        maxLength={7}
        spellCheck={false}
        readOnly={isDisabled}
      />
    </div>
  )
}
