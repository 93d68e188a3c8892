/**
 * Draws the board as a page of HTML with SVG, from the answers of a Prometheus: what is where, in which unit and with
 * which names, as the JSON of the board says. It is not Grafana, and imitates only positions and colours. Names of
 * series come from Prometheus and are escaped.
 */
import type { Panel } from './board.ts'

export interface Series {
  readonly name: string
  /** Seconds since 1970 and values, oldest first. */
  readonly points: readonly (readonly [seconds: number, value: number])[]
}
export interface DrawnPanel {
  readonly panel: Panel
  readonly series: readonly Series[]
}
/** Seconds since 1970. */
export interface Period {
  readonly from: number
  readonly to: number
}

export const COLUMN_PX = 60
const ROW_PX = 32
const GAP_PX = 8
const TITLE_PX = 28
const AXIS_PX = 58
const LEGEND_PX = 16
const MAX_NAMES = 4
const COLOURS = ['#56a64b', '#f2a900', '#3274d9', '#e02f44', '#a352cc', '#00a3a3', '#ff780a', '#6c757d', '#b877d9']

const UNITS: Readonly<Record<string, (value: number) => string>> = {
  none: (value) => scaled(value, 1000, ['', ' k', ' M', ' G']),
  cps: (value) => `${scaled(value, 1000, ['', ' k', ' M'])}/s`,
  reqps: (value) => `${scaled(value, 1000, ['', ' k', ' M'])}/s`,
  bytes: (value) => scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']),
  percentunit: (value) => `${round(value * 100)} %`,
  s: formatSeconds,
}

export function formatValue(value: number, unit: string): string {
  return Number.isNaN(value) ? '–' : (UNITS[unit] ?? String)(value)
}

function formatSeconds(value: number): string {
  if (value >= 172_800) return `${round(value / 86_400)} d`
  if (value >= 7200) return `${round(value / 3600)} h`
  if (value >= 120) return `${round(value / 60)} min`
  return value >= 1 || value === 0 ? `${round(value)} s` : `${round(value * 1000)} ms`
}

function scaled(value: number, step: number, names: readonly string[]): string {
  const power = Math.min(names.length - 1, Math.max(0, Math.floor(Math.log(Math.abs(value)) / Math.log(step))))
  return `${round(value / step ** power)}${names[power] ?? ''}`
}

const round = (value: number): string => String(Number(value.toPrecision(value >= 100 ? 4 : 3)))

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => ESCAPES[char] ?? char)

/** The page, and its height in pixels. */
export function drawBoard(drawn: readonly DrawnPanel[], period: Period): { html: string; height: number } {
  const top = Math.min(...drawn.map(({ panel }) => panel.gridPos.y))
  const bottom = Math.max(...drawn.map(({ panel }) => panel.gridPos.y + panel.gridPos.h))
  const boxes = drawn.map((one) => drawPanel(one, top, period))
  return { html: `${HEAD}${boxes.join('\n')}`, height: (bottom - top) * ROW_PX + GAP_PX }
}

const HEAD = `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #f4f5f5; font: 12px "DejaVu Sans", sans-serif; color: #24292e }
div { position: absolute; box-sizing: border-box }
.row { font-size: 15px; padding: 6px 4px }
.panel { background: #fff; border: 1px solid #e0e2e4; border-radius: 3px }
.panel b { display: block; padding: 7px 10px; font-weight: 600 }
.stat { font-size: 30px; text-align: center; color: #37872d; padding-top: 14px }
svg { position: absolute; left: 0; top: ${TITLE_PX}px } text { fill: #5a6169; font-size: 10px }
</style>
`

function drawPanel({ panel, series }: DrawnPanel, top: number, period: Period): string {
  const { x, y, w, h } = panel.gridPos
  const [width, height] = [w * COLUMN_PX - GAP_PX, h * ROW_PX - GAP_PX]
  const [left, upper] = [x * COLUMN_PX + GAP_PX, (y - top) * ROW_PX + GAP_PX]
  const place = `left:${left}px;top:${upper}px;width:${width}px;height:${height}px`
  if (panel.type === 'row') return `<div class="row" style="${place}">${escape(panel.title)}</div>`
  const content = panel.type === 'stat' ? drawStat(panel, series) : drawChart(panel, series, { width, height, period })
  return `<div class="panel" style="${place}"><b>${escape(panel.title)}</b>${content}</div>`
}

const unitOf = (panel: Panel): string => panel.fieldConfig?.defaults.unit ?? 'none'

function drawStat(panel: Panel, series: readonly Series[]): string {
  const last = series[0]?.points.at(-1)?.[1]
  const text = last === undefined ? 'No data' : formatValue(last, unitOf(panel))
  return `<p class="stat" style="margin:0">${text}</p>`
}

interface Space {
  readonly width: number
  readonly height: number
  readonly period: Period
}

function drawChart(panel: Panel, series: readonly Series[], { width, height, period }: Space): string {
  const named = series.filter(({ points }) => points.some(([, value]) => !Number.isNaN(value)))
  if (named.length === 0) return '<p style="text-align:center">No data</p>'
  const shown = named.toSorted((one, other) => lastOf(other) - lastOf(one)).slice(0, MAX_NAMES)
  const below = height - TITLE_PX - LEGEND_PX * shown.length - LEGEND_PX - 6
  const maximum = Math.max(...named.flatMap(({ points }) => points.map(([, value]) => value || 0))) * 1.08 || 1
  const atX = (seconds: number): number =>
    AXIS_PX + ((seconds - period.from) / (period.to - period.from)) * (width - AXIS_PX - 12)
  const atY = (value: number): number => below - (value / maximum) * (below - 8)
  const lines = named.map(({ points }, i) => drawLine(points, colour(i), atX, atY))
  const values = [0, 0.25, 0.5, 0.75, 1].map((part) => (maximum / 1.08) * part)
  const rules = values.map((value) => drawRule(formatValue(value, unitOf(panel)), atY(value), width))
  const times = [0.1, 0.5, 0.9].map((part) => {
    const seconds = period.from + (period.to - period.from) * part
    const text = new Date(seconds * 1000).toISOString().slice(11, 16)
    return `<text x="${atX(seconds)}" y="${below + 13}" text-anchor="middle">${text}</text>`
  })
  const names = shown.map((one, i) => {
    const at = below + LEGEND_PX * (i + 2)
    const name = escape(`${one.name}  ${formatValue(lastOf(one), unitOf(panel))}`)
    const more = i === MAX_NAMES - 1 && named.length > MAX_NAMES ? ` and ${named.length - MAX_NAMES} more` : ''
    return `<rect x="12" y="${at - 6}" width="12" height="3" fill="${colour(named.indexOf(one))}"/>
      <text x="30" y="${at}">${name}${more}</text>`
  })
  const parts = [...rules, ...lines, ...times, ...names]
  return `<svg width="${width}" height="${height - TITLE_PX}">${parts.join('')}</svg>`
}

const colour = (i: number): string => COLOURS[i % COLOURS.length] ?? '#000'
const lastOf = ({ points }: Series): number => points.at(-1)?.[1] ?? 0

function drawRule(text: string, y: number, width: number): string {
  return `<path d="M${AXIS_PX} ${y}H${width - 12}" stroke="#eceef0"/>
    <text x="${AXIS_PX - 5}" y="${y + 3}" text-anchor="end">${text}</text>`
}

/** Where there is no value, the line has a gap. */
function drawLine(
  points: Series['points'],
  stroke: string,
  atX: (seconds: number) => number,
  atY: (value: number) => number,
): string {
  let move = 'M'
  const path = points.map(([seconds, value]) => {
    if (Number.isNaN(value)) {
      move = 'M'
      return ''
    }
    const step = `${move}${atX(seconds).toFixed(1)} ${atY(value).toFixed(1)}`
    move = 'L'
    return step
  })
  return `<path d="${path.join('')}" fill="none" stroke="${stroke}" stroke-width="1.5"/>`
}
