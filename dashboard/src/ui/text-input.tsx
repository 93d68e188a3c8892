import { type ComponentProps, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'
import { inputClass } from './input-class.ts'
import { type Size } from './tone.ts'

export interface TextInputProps extends Omit<ComponentProps<'input'>, 'size' | 'prefix' | 'onChange' | 'value'> {
  value: string
  onChange: (value: string) => void
  size?: Size | undefined
  isMono?: boolean | undefined
  /** Fixed text before or after the value: `https://`, `.example.com`, `days`. */
  prefix?: ReactNode
  suffix?: ReactNode
}

export function TextInput({ size, isMono, prefix, suffix, className, onChange, ...rest }: TextInputProps) {
  const control = useFieldControl()
  const input = (
    <input
      type="text"
      autoComplete="off"
      {...control}
      {...rest}
      onChange={(event) => onChange(event.target.value)}
      className={inputClass(
        size,
        cx(
          isMono === true && 'font-mono text-sm',
          prefix !== undefined && 'rounded-l-none',
          suffix !== undefined && 'rounded-r-none',
          className,
        ),
      )}
    />
  )
  if (prefix === undefined && suffix === undefined) return input
  const affix = 'flex items-center border-control bg-sunken px-2.5 text-sm text-muted whitespace-nowrap'
  return (
    <div className="flex min-w-0">
      {prefix !== undefined && <span className={cx(affix, 'rounded-l-md border border-r-0')}>{prefix}</span>}
      {input}
      {suffix !== undefined && <span className={cx(affix, 'rounded-r-md border border-l-0')}>{suffix}</span>}
    </div>
  )
}
