import { type ComponentProps } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'
import { inputClass } from './input-class.ts'

export interface TextAreaProps extends Omit<ComponentProps<'textarea'>, 'onChange' | 'value'> {
  value: string
  onChange: (value: string) => void
  isMono?: boolean | undefined
}

/** Several lines. It grows with its text where the browser can. */
export function TextArea({ isMono, className, onChange, rows = 4, ...rest }: TextAreaProps) {
  const control = useFieldControl()
  return (
    <textarea
      {...control}
      rows={rows}
      {...rest}
      onChange={(event) => onChange(event.target.value)}
      className={inputClass(
        'md',
        cx(
          'field-sizing-content max-h-96 h-auto! min-h-20 resize-y py-1.5',
          isMono === true && 'font-mono text-sm',
          className,
        ),
      )}
    />
  )
}
