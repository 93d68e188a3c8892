import { TextInput, type TextInputProps } from './text-input.tsx'

export interface NumberInputProps extends Omit<TextInputProps, 'value' | 'onChange' | 'min' | 'max' | 'step'> {
  /** null: empty */
  value: number | null
  onChange: (value: number | null) => void
  min?: number | undefined
  max?: number | undefined
  step?: number | undefined
}

/** A number; an empty or unreadable text is null. Rules are checked by the form, so that its error can explain them. */
export function NumberInput({ value, onChange, className, ...rest }: NumberInputProps) {
  return (
    <TextInput
      type="number"
      inputMode="numeric"
      {...rest}
      className={`tabular-nums ${className ?? ''}`}
      value={value === null ? '' : String(value)}
      onChange={(text) => {
        const number = Number(text)
        onChange(text.trim() === '' || Number.isNaN(number) ? null : number)
      }}
    />
  )
}
