import { cx } from './class-names.ts'
import { TEXT, type Tone } from './tone.ts'

export interface SparklineProps {
  values: readonly number[]
  /** What the line shows, for screen readers. Without it the line is decoration. */
  label?: string | undefined
  tone?: Tone | undefined
  height?: number | undefined
}

/** The course of a value, without axes. It starts at zero. */
export function Sparkline({ values, label, tone = 'accent', height = 32 }: SparklineProps) {
  const width = 100
  const top = Math.max(...values, 1e-9)
  const step = values.length > 1 ? width / (values.length - 1) : width
  const points = values.map((value, index) => [index * step, height - 1.5 - (value / top) * (height - 3)] as const)
  const line = points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`).join('')
  return (
    <svg
      viewBox={`0 0 ${width.toString()} ${height.toString()}`}
      preserveAspectRatio="none"
      height={height}
      className={cx('block w-full', TEXT[tone])}
      role={label === undefined ? undefined : 'img'}
      aria-label={label}
      aria-hidden={label === undefined ? true : undefined}
    >
      {values.length > 0 && (
        <>
          <path d={`${line}V${height.toString()}H0Z`} fill="currentColor" fillOpacity="0.1" />
          <path d={line} fill="none" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
        </>
      )}
    </svg>
  )
}
