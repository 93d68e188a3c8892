import { ArrowDown, ArrowUp, Minus } from './icons.tsx'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { Skeleton } from './skeleton.tsx'
import { Sparkline } from './sparkline.tsx'
import { TEXT, type Tone } from './tone.ts'
import { UiLink } from './ui-link.tsx'

export interface StatDelta {
  direction: 'up' | 'down' | 'flat'
  /** "4.1 % more than the week before" in short: `4.1 %`. */
  text: string
  /** success if the change is good. */
  tone: Tone
}

export interface StatTileProps {
  label: string
  /** null: still loading; the tile keeps its size. */
  value: ReactNode | null
  delta?: StatDelta | undefined
  hint?: ReactNode
  trend?: readonly number[] | undefined
  trendTone?: Tone | undefined
  href?: string | undefined
}

const ARROWS = { up: ArrowUp, down: ArrowDown, flat: Minus }

/** One figure with its change and course. */
export function StatTile({ label, value, delta, hint, trend, trendTone, href }: StatTileProps) {
  const Arrow = ARROWS[delta?.direction ?? 'flat']
  return (
    <div className="relative flex min-w-0 flex-col rounded-lg border border-line bg-surface p-4 transition-colors has-[a:hover]:border-line-strong">
      <div className="truncate text-sm text-muted">
        {href === undefined ? (
          label
        ) : (
          <UiLink href={href} className="after:absolute after:inset-0 after:rounded-lg">
            {label}
          </UiLink>
        )}
      </div>
      <div className="mt-1 flex h-8 flex-wrap items-baseline gap-x-2 overflow-hidden">
        {value === null ? (
          <Skeleton className="mt-2 h-5 w-20" />
        ) : (
          <span className="text-2xl font-semibold tracking-tight text-ink">{value}</span>
        )}
        {value !== null && delta !== undefined && (
          <span className={cx('inline-flex items-center gap-0.5 text-sm tabular-nums', TEXT[delta.tone])}>
            <Arrow size={12} aria-hidden="true" />
            {delta.text}
          </span>
        )}
      </div>
      {hint !== undefined && <div className="mt-1 text-sm text-muted">{hint}</div>}
      {trend !== undefined && (
        <div className="mt-auto pt-3">
          <Sparkline values={trend} tone={trendTone} />
        </div>
      )}
    </div>
  )
}
