/** The drawing of TimeSeriesChart, in a module of its own because uPlot is large. */
import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import { buildData, buildOptions, seriesToken } from './chart-options.ts'
import { cx } from './class-names.ts'
import {
  formatBytes,
  formatDateTime,
  formatDuration,
  formatNumber,
  formatPercent,
  type TimePrecision,
} from './format.ts'
import { type TimeSeriesChartProps } from './time-series-chart.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useElementSize } from './use-element-size.ts'
import { useTheme } from './use-theme.ts'

const FORMATS = {
  number: (value: number, locale: string) => formatNumber(value, locale, true),
  percent: formatPercent,
  bytes: formatBytes,
  duration: formatDuration,
}

interface Cursor {
  index: number
  left: number
}

/** Of points that are days, their time is no more than midnight. */
function precisionOf(times: readonly string[]): TimePrecision {
  const isMidnight = (time: string): boolean => new Date(time).toTimeString().startsWith('00:00:00')
  return times.length > 1 && times.every(isMidnight) ? 'day' : 'minute'
}

interface PartProps extends TimeSeriesChartProps {
  formatValue: (value: number) => string
}

function Swatch({ position, color }: { position: number; color: number | undefined }) {
  return (
    <span
      aria-hidden="true"
      className="size-2 shrink-0 rounded-xs"
      style={{ background: `var(--${seriesToken(position, color)})` }}
    />
  )
}

function Tip({ cursor, width, ...props }: PartProps & { cursor: Cursor; width: number }) {
  const { locale } = useUiTexts()
  const isLeft = cursor.left > width / 2
  return (
    <div
      aria-hidden="true"
      className={cx(
        'pointer-events-none absolute top-1 z-10 min-w-36 rounded-md border border-line bg-raised px-3 py-2 text-sm shadow-lg',
        isLeft && '-translate-x-full',
      )}
      style={{ left: cursor.left + (isLeft ? -10 : 10) }}
    >
      <div className="mb-1 text-xs whitespace-nowrap text-muted">
        {formatDateTime(new Date(props.times[cursor.index] ?? 0), locale, precisionOf(props.times))}
      </div>
      {props.series.map((series, position) => {
        const value = series.values[cursor.index]
        return (
          <div key={series.key} className="flex items-center gap-2 whitespace-nowrap">
            <Swatch position={position} color={series.color} />
            <span className="text-muted">{series.label}</span>
            <span className="ml-auto pl-3 font-medium tabular-nums">
              {value === null || value === undefined ? '–' : props.formatValue(value)}
            </span>
          </div>
        )
      })}
    </div>
  )
}

/** The same figures for screen readers. */
function HiddenTable({ label, times, series, formatValue }: PartProps) {
  const texts = useUiTexts()
  const precision = precisionOf(times)
  return (
    <div className="sr-only">
      <table>
        <caption>{`${texts.chartData}: ${label}`}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            {series.map((one) => (
              <th key={one.key} scope="col">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, index) => (
            <tr key={time}>
              <th scope="row">{formatDateTime(new Date(time), texts.locale, precision)}</th>
              {series.map((one) => {
                const value = one.values[index]
                return <td key={one.key}>{value === null || value === undefined ? '–' : formatValue(value)}</td>
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function TimeSeriesPlot(props: TimeSeriesChartProps) {
  const { height = 220, format = 'number', series } = props
  const { locale } = useUiTexts()
  const { isDark } = useTheme()
  const [sizeRef, size] = useElementSize()
  const [cursor, setCursor] = useState<Cursor | null>(null)
  const target = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const width = Math.floor(size?.width ?? 0)
  const data = useMemo(() => buildData(props), [props.times, props.series, props.kind])
  const formatValue = useMemo(() => (value: number) => FORMATS[format](value, locale), [format, locale])
  const shape = `${props.kind ?? 'line'} ${props.times[0] ?? ''} ${series.map((one) => `${one.key}:${String(one.color)}`).join()}`
  const isMeasured = width > 0
  const latest = useRef({ data, props, width })
  useEffect(() => {
    latest.current = { data, props, width }
  })
  useEffect(() => {
    const element = target.current
    if (element === null || !isMeasured) return undefined
    const options = buildOptions(latest.current.props, {
      element,
      width: latest.current.width,
      height,
      locale,
      formatValue,
      onCursor: (index, left) => setCursor(index === null || left < 0 ? null : { index, left }),
    })
    const made = new uPlot(options, latest.current.data, element)
    plot.current = made
    return () => {
      plot.current = null
      made.destroy()
    }
  }, [shape, isDark, isMeasured, height, locale, formatValue])
  useEffect(() => plot.current?.setData(data), [data])
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height })
  }, [width, height])
  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 flex min-h-7 flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted">
        <span className="sr-only">{props.label}</span>
        {series.map((one, position) => (
          <span key={one.key} className="inline-flex items-center gap-1.5">
            <Swatch position={position} color={one.color} />
            {one.label}
          </span>
        ))}
      </figcaption>
      <div ref={sizeRef} className="relative min-w-0" style={{ height }} onMouseLeave={() => setCursor(null)}>
        <div ref={target} aria-hidden="true" className="absolute inset-0 overflow-hidden" />
        {cursor !== null && <Tip {...props} formatValue={formatValue} cursor={cursor} width={width} />}
      </div>
      <HiddenTable {...props} formatValue={formatValue} />
    </figure>
  )
}
