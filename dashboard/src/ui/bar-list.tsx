import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { type Tone } from './tone.ts'
import { UiLink } from './ui-link.tsx'

export interface BarListItem {
  key: string
  label: ReactNode
  value: number
  /** The value as people read it. */
  text: ReactNode
  href?: string | undefined
  tone?: Tone | undefined
}

export interface BarListProps {
  items: readonly BarListItem[]
  label: string
  /** Headings of the two columns. */
  headings?: readonly [string, string] | undefined
}

const BARS: Record<Tone, string> = {
  neutral: 'bg-sunken',
  accent: 'bg-accent-soft',
  success: 'bg-success-soft',
  warning: 'bg-warning-soft',
  danger: 'bg-danger-soft',
  info: 'bg-info-soft',
}

/** A ranking: each label lies on a bar as long as its share of the largest value. */
export function BarList({ items, label, headings }: BarListProps) {
  const top = Math.max(...items.map((item) => item.value), 1e-9)
  return (
    <div>
      {headings !== undefined && (
        <div aria-hidden="true" className="mb-1 flex justify-between text-xs font-medium text-faint">
          <span>{headings[0]}</span>
          <span>{headings[1]}</span>
        </div>
      )}
      <ul aria-label={label} className="flex flex-col gap-1">
        {items.map((item) => (
          <li key={item.key} className="flex h-8 items-center gap-3">
            <div className="relative h-full min-w-0 grow">
              <span
                aria-hidden="true"
                className={cx('absolute inset-y-0 left-0 rounded-sm', BARS[item.tone ?? 'accent'])}
                style={{ width: `${Math.max((item.value / top) * 100, 0.5).toString()}%` }}
              />
              <span className="relative flex h-full items-center px-2">
                {item.href === undefined ? (
                  <span className="truncate">{item.label}</span>
                ) : (
                  <UiLink href={item.href} className="truncate rounded-xs hover:underline">
                    {item.label}
                  </UiLink>
                )}
              </span>
            </div>
            <span className="shrink-0 text-right tabular-nums">{item.text}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
