/** Options of uPlot for our look. Colours come from the tokens, resolved for the element's theme. */
import uPlot from 'uplot'
import { type TimeSeriesChartProps } from './time-series-chart.tsx'

/** The computed colour of a token: a canvas knows neither variables nor `light-dark()`. */
function readColor(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

export function seriesToken(position: number, color: number | undefined): string {
  return `chart-${(color ?? (position % 6) + 1).toString()}`
}

/** Bars that lie on each other: the last series is drawn first, as high as the sum of all. */
export function stackValues(props: Pick<TimeSeriesChartProps, 'series' | 'times'>): (number | null)[][] {
  const sums = props.times.map(() => 0)
  return props.series
    .map((series) =>
      props.times.map((_, index) => {
        sums[index] = (sums[index] ?? 0) + (series.values[index] ?? 0)
        return sums[index] ?? 0
      }),
    )
    .toReversed()
}

export function buildData(props: TimeSeriesChartProps): uPlot.AlignedData {
  const xs = props.times.map((time) => Date.parse(time) / 1000)
  const ys = props.kind === 'stacked-bars' ? stackValues(props) : props.series.map((series) => [...series.values])
  return [xs, ...ys]
}

interface ChartLook {
  element: HTMLElement
  width: number
  height: number
  locale: string
  formatValue: (value: number) => string
  onCursor: (index: number | null, left: number) => void
}

function buildSeries(props: TimeSeriesChartProps, element: HTMLElement): uPlot.Series[] {
  const isStacked = props.kind === 'stacked-bars'
  const bars = uPlot.paths.bars?.({ size: [0.72, 36], align: 0 })
  const series = props.series.map((one, index): uPlot.Series => {
    const color = readColor(element, seriesToken(index, one.color))
    const base: uPlot.Series = { label: one.label, stroke: color, width: 1.5, points: { show: props.times.length < 2 } }
    if (!isStacked) return base
    return { ...base, fill: color, width: 0, points: { show: false }, ...(bars === undefined ? {} : { paths: bars }) }
  })
  return [{}, ...(isStacked ? series.toReversed() : series)]
}

/** Between two labels of points that are days or longer: no label is a time of day. */
const DAY_SECONDS = 86_400
const DAY_STEPS = [1, 2, 3, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_SECONDS)

function buildAxes({ element, locale, formatValue }: ChartLook, step: number): uPlot.Axis[] {
  const text = readColor(element, 'text-faint')
  const line = readColor(element, 'border')
  const font = `12px ${getComputedStyle(element).fontFamily}`
  const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })
  const clock = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' })
  return [
    {
      stroke: text,
      font,
      grid: { show: false },
      ticks: { show: false },
      size: 28,
      space: 70,
      // with a change of the clocks
      ...(step >= DAY_SECONDS - 3600 ? { incrs: DAY_STEPS } : {}),
      values: (_, splits) =>
        splits.map((seconds) => {
          const date = new Date(seconds * 1000)
          return (date.getHours() === 0 && date.getMinutes() === 0 ? day : clock).format(date)
        }),
    },
    {
      stroke: text,
      font,
      size: 52,
      space: 44,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      values: (_, splits) => splits.map((value) => formatValue(value)),
    },
  ]
}

export function buildOptions(props: TimeSeriesChartProps, look: ChartLook): uPlot.Options {
  const line = readColor(look.element, 'border-strong')
  const [first, second] = props.times.map((time) => Date.parse(time) / 1000)
  const step = first === undefined || second === undefined ? 3600 : second - first
  const isStacked = props.kind === 'stacked-bars'
  return {
    width: look.width,
    height: look.height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7, fill: line } },
    scales: {
      x: { time: true, range: (_, min, max) => (isStacked ? [min - step / 2, max + step / 2] : [min, max]) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: buildAxes(look, step),
    series: buildSeries(props, look.element),
    hooks: {
      setCursor: [
        (plot) => {
          const index = plot.cursor.idx ?? null
          look.onCursor(index, plot.over.offsetLeft + (plot.cursor.left ?? 0))
        },
      ],
    },
  }
}
