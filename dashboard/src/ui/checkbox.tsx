import { useEffect, useId, useRef, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { useFieldControl } from './field.tsx'

export interface CheckboxProps {
  isChecked: boolean
  /** Some, not all, of what it stands for. */
  isMixed?: boolean | undefined
  onChange: (isChecked: boolean) => void
  label: ReactNode
  hint?: ReactNode
  /** The label stays for screen readers. */
  isLabelHidden?: boolean | undefined
  isDisabled?: boolean | undefined
  tabIndex?: number | undefined
}

/** Drawn in the colours of the theme: browsers draw theirs grey in the dark. With forced colours it is theirs. */
const BOX =
  'm-0.5 grid size-4 shrink-0 appearance-none place-content-center rounded-xs border border-control bg-surface ' +
  'before:size-2.5 before:scale-0 before:bg-accent-contrast checked:border-accent checked:bg-accent ' +
  'checked:before:scale-100 checked:before:[clip-path:polygon(14%_44%,0_65%,45%_100%,100%_16%,80%_0,43%_62%)] ' +
  'indeterminate:border-accent indeterminate:bg-accent indeterminate:before:scale-100 ' +
  'indeterminate:before:[clip-path:inset(38%_0)] disabled:opacity-50 pointer-coarse:size-5 ' +
  'forced-colors:appearance-auto forced-colors:before:hidden'

/** A native checkbox with its label. */
export function Checkbox(props: CheckboxProps) {
  const { isChecked, isMixed = false, onChange, label, hint, isLabelHidden = false, isDisabled = false } = props
  const id = useId()
  const field = useFieldControl()
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = isMixed
  }, [isMixed])
  return (
    <div className={cx('flex items-start', !isLabelHidden && 'gap-2 pointer-coarse:py-2')}>
      <input
        ref={box}
        id={id}
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        tabIndex={props.tabIndex}
        aria-describedby={hint === undefined ? field['aria-describedby'] : `${id}-hint`}
        aria-invalid={field['aria-invalid']}
        onChange={(event) => onChange(event.target.checked)}
        className={BOX}
      />
      <div className="min-w-0">
        <label htmlFor={id} className={cx('cursor-pointer', isLabelHidden ? 'sr-only' : 'text-base text-ink')}>
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}
