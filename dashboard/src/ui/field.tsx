import { createContext, use, useId, useMemo, type ReactNode } from 'react'
import { CircleAlert } from './icons.tsx'
import { cx } from './class-names.ts'
import { useUiTexts } from './ui-texts.ts'

interface FieldControl {
  id?: string
  'aria-describedby'?: string
  'aria-invalid'?: true
  'aria-labelledby'?: string
  required?: true
}

const FieldContext = createContext<FieldControl>({})

/** Attributes that connect a control with the label, hint and error of the Field around it. */
export function useFieldControl(): FieldControl {
  return use(FieldContext)
}

export interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  /** What is wrong and how to correct it. */
  error?: ReactNode
  isRequired?: boolean | undefined
  isOptional?: boolean | undefined
  /** The label stays for screen readers. */
  isLabelHidden?: boolean | undefined
  className?: string | undefined
  children: ReactNode
}

/** A control with its label, hint and error. */
export function Field({ label, hint, error, isRequired, isOptional, isLabelHidden, className, children }: FieldProps) {
  const id = useId()
  const texts = useUiTexts()
  const hasError = error !== undefined && error !== null && error !== false && error !== ''
  const hasHint = hint !== undefined && hint !== null
  const control = useMemo<FieldControl>(() => {
    const describedBy = cx(hasHint && `${id}-hint`, hasError && `${id}-error`)
    return {
      id,
      'aria-labelledby': `${id}-label`,
      ...(describedBy === '' ? {} : { 'aria-describedby': describedBy }),
      ...(hasError ? { 'aria-invalid': true } : {}),
      ...(isRequired === true ? { required: true } : {}),
    }
  }, [id, hasHint, hasError, isRequired])
  return (
    <div className={cx('flex min-w-0 flex-col gap-1.5', className)}>
      <label
        id={`${id}-label`}
        htmlFor={id}
        className={cx('text-sm font-medium text-ink', isLabelHidden === true && 'sr-only')}
      >
        {label}
        {isOptional === true && <span className="ml-1.5 font-normal text-faint">({texts.optional})</span>}
      </label>
      <FieldContext value={control}>{children}</FieldContext>
      {hasHint && (
        <p id={`${id}-hint`} className="text-sm text-muted">
          {hint}
        </p>
      )}
      <div aria-live="polite" className={cx(!hasError && 'hidden')}>
        {hasError && (
          <p id={`${id}-error`} className="flex items-start gap-1.5 text-sm text-danger-text">
            <CircleAlert size={14} aria-hidden="true" className="mt-[3px] shrink-0" />
            <span className="min-w-0">{error}</span>
          </p>
        )}
      </div>
    </div>
  )
}
