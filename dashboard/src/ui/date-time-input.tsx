import { useMemo } from 'react'
import { TextInput } from './text-input.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface DateTimeInputProps {
  /** An instant in ISO 8601, or null. */
  value: string | null
  onChange: (value: string | null) => void
  min?: string | undefined
  max?: string | undefined
  label?: string | undefined
  isDisabled?: boolean | undefined
}

/** `2026-11-26T14:30` in the reader's zone, as the browser's field wants it. */
export function toLocalField(instant: string | null | undefined): string {
  if (instant === null || instant === undefined) return ''
  const date = new Date(instant)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** A date with time in the reader's zone, whose name is shown beside it. The value is an instant. */
export function DateTimeInput({ value, onChange, min, max, label, isDisabled }: DateTimeInputProps) {
  const texts = useUiTexts()
  const zone = useMemo(() => {
    const parts = new Intl.DateTimeFormat(texts.locale, { timeZoneName: 'shortOffset' }).formatToParts(
      value === null ? new Date() : new Date(value),
    )
    const offset = parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone
    return name === offset ? name : `${name.replaceAll('_', ' ')} (${offset})`
  }, [texts.locale, value])
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <div className="w-56 max-w-full">
        <TextInput
          type="datetime-local"
          aria-label={label}
          disabled={isDisabled}
          className="tabular-nums"
          value={toLocalField(value)}
          min={toLocalField(min)}
          max={toLocalField(max)}
          onChange={(text) => onChange(text === '' ? null : new Date(text).toISOString())}
        />
      </div>
      <span className="text-sm text-muted">{zone}</span>
    </div>
  )
}
