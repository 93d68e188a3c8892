import { lazy, Suspense } from 'react'
import { Skeleton } from './skeleton.tsx'

export interface ChartSeries {
  key: string
  label: string
  /** One value per time; null: unknown. */
  values: readonly (number | null)[]
  /** 1 to 6: a colour of the chart palette. Default: its position. */
  color?: 1 | 2 | 3 | 4 | 5 | 6 | undefined
}

export interface TimeSeriesChartProps {
  /** What the chart shows. */
  label: string
  /** ISO 8601, ascending. */
  times: readonly string[]
  series: readonly ChartSeries[]
  kind?: 'line' | 'stacked-bars' | undefined
  height?: number | undefined
  /** Percent: values of 0 to 1. */
  format?: 'number' | 'percent' | 'bytes' | 'duration' | undefined
}

const Plot = lazy(async () => ({ default: (await import('./time-series-plot.tsx')).TimeSeriesPlot }))

/** The course of one or several values. The drawing library loads with the first chart, in a box of the same size. */
export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { height = 220 } = props
  return (
    <Suspense
      fallback={
        <div style={{ height: height + 36 }}>
          <Skeleton className="h-full w-full" />
        </div>
      }
    >
      <Plot {...props} />
    </Suspense>
  )
}
