/** The board for Grafana as data: its panels, and their queries as Prometheus takes them. */
import { readFileSync } from 'node:fs'

export interface Panel {
  readonly id: number
  readonly type: 'row' | 'stat' | 'timeseries'
  readonly title: string
  /** In cells of a grid with 24 columns. */
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const { panels } = JSON.parse(readFileSync(new URL('grafana-dashboard.json', import.meta.url), 'utf8')) as {
  panels: Panel[]
}
export const PANELS: readonly Panel[] = panels

/** A query with the period of its rates, which Grafana chooses: at least four intervals of scrapes. */
export function queryOf(expr: string, interval: string): string {
  return expr.replaceAll('$__rate_interval', interval)
}
