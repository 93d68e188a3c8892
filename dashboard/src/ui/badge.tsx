import type { IconComponent } from './icon.tsx'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { SOFT, SOLID, type Tone } from './tone.ts'

export interface BadgeProps {
  tone?: Tone | undefined
  icon?: IconComponent | undefined
  children: ReactNode
}

/** A short attribute: a tag, a plan, a count. */
export function Badge({ tone = 'neutral', icon: Icon, children }: BadgeProps) {
  return (
    <span
      className={cx(
        'inline-flex h-5 max-w-full items-center gap-1 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        SOFT[tone],
      )}
    >
      {Icon !== undefined && <Icon size={12} aria-hidden="true" className="shrink-0" />}
      <span className="truncate">{children}</span>
    </span>
  )
}

export interface StatusBadgeProps {
  tone: Tone
  /** The state changes by itself soon. */
  isLive?: boolean | undefined
  children: ReactNode
}

/** The state of a thing: a dot and a word, so that colour never says it alone. */
export function StatusBadge({ tone, isLive = false, children }: StatusBadgeProps) {
  return (
    <span className="inline-flex max-w-full items-center gap-1.5 whitespace-nowrap text-ink">
      <span aria-hidden="true" className={cx('size-2 shrink-0 rounded-full', SOLID[tone], isLive && 'animate-wait')} />
      <span className="truncate">{children}</span>
    </span>
  )
}
