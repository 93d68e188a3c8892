/** A colour of a small palette, or any other. It warns where text would be hard to read. */
import { TriangleAlert } from '#dashboard/src/ui/icons.tsx'
import { useId, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { contrastOf, MIN_CONTRAST } from './contrast.ts'

const PALETTE = [
  '#ffffff',
  '#f3f4f6',
  '#6b7280',
  '#1f2937',
  '#1f4fd8',
  '#0b7285',
  '#16794a',
  '#b8650b',
  '#c62a36',
  '#7c3aed',
] as const

interface ColorFieldProps {
  readonly label: string
  /** Null: `otherwise`. */
  readonly value: string | null
  readonly otherwise: string
  /** The colour behind or before it; null: contrast does not matter. */
  readonly against: string | null
  readonly onChange: (color: string | null) => void
}

export function ColorField({ label, value, otherwise, against, onChange }: ColorFieldProps): ReactNode {
  const { templates } = useTexts()
  const id = useId()
  const shown = value ?? otherwise
  const contrast = against === null ? null : contrastOf(shown, against)
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="mb-1.5 text-sm font-medium text-ink">{label}</legend>
      <div className="flex flex-wrap items-center gap-1.5">
        {PALETTE.map((color) => (
          <button
            key={color}
            type="button"
            aria-label={color}
            title={color}
            aria-pressed={value === color}
            onClick={() => onChange(color)}
            className={cx(
              'size-6 rounded-sm border border-control pointer-coarse:size-9',
              value === color && 'outline-2 outline-offset-2 outline-accent',
            )}
            style={{ background: color }}
          />
        ))}
        <label htmlFor={id} className="sr-only">
          {templates.otherColor(label)}
        </label>
        <input
          id={id}
          type="color"
          value={shown}
          onChange={(event) => onChange(event.target.value)}
          className="h-7 w-10 rounded-sm border border-control bg-surface p-0.5"
        />
        {value !== null && (
          <button
            type="button"
            onClick={() => onChange(null)}
            className="rounded-sm px-1.5 py-1 text-sm text-accent-text hover:bg-hover"
          >
            {templates.defaultColor}
          </button>
        )}
      </div>
      {contrast !== null && contrast < MIN_CONTRAST && (
        <p role="status" className="flex items-start gap-1.5 text-sm text-warning-text">
          <TriangleAlert size={14} aria-hidden="true" className="mt-[3px] shrink-0" />
          {templates.lowContrast(contrast.toFixed(1))}
        </p>
      )}
    </fieldset>
  )
}
