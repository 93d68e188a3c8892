import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { SOLID, type Tone } from './tone.ts'

interface BarProps {
  label: string
  /** The value as people read it: `12,400 of 50,000`. */
  text?: ReactNode
  isLabelHidden?: boolean | undefined
  tone?: Tone | undefined
}

function Track({ share, tone, isSmooth }: { share: number | null; tone: Tone; isSmooth: boolean }) {
  return (
    <span className="block h-1.5 w-full overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset">
      <span
        className={cx(
          'block h-full origin-left rounded-full',
          SOLID[tone],
          isSmooth && 'transition-[width] duration-500 ease-linear',
          share === null && 'animate-wait',
        )}
        style={{ width: `${((share ?? 1) * 100).toString()}%` }}
      />
    </span>
  )
}

function Caption({ label, text, isLabelHidden = false }: BarProps) {
  if (isLabelHidden && text === undefined) return null
  return (
    <span className="mb-1.5 flex justify-between gap-4 text-sm">
      <span className={cx('min-w-0 break-words text-ink', isLabelHidden && 'sr-only')}>{label}</span>
      {text !== undefined && <span className="shrink-0 text-muted tabular-nums">{text}</span>}
    </span>
  )
}

export interface MeterProps extends BarProps {
  value: number
  max: number
}

/** How much of a limit is used. */
export function Meter(props: MeterProps) {
  const { value, max, label, text, tone = 'accent' } = props
  const share = max > 0 ? Math.min(Math.max(value / max, 0), 1) : 0
  return (
    <div>
      <Caption {...props} />
      <div
        role="meter"
        aria-label={label}
        aria-valuenow={value}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuetext={typeof text === 'string' ? text : undefined}
      >
        <Track share={share} tone={tone} isSmooth={false} />
      </div>
    </div>
  )
}

export interface ProgressProps extends BarProps {
  /** 0 to 1; null: unknown. */
  share: number | null
}

/** How far long work is. It moves smoothly between two reports. */
export function Progress(props: ProgressProps) {
  const { share, label, text, tone = 'accent' } = props
  return (
    <div>
      <Caption {...props} />
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === null ? undefined : Math.round(share * 100)}
        aria-valuetext={typeof text === 'string' ? text : undefined}
      >
        <Track share={share} tone={tone} isSmooth />
      </div>
    </div>
  )
}
