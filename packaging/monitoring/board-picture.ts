/**
 * Draws the board without Grafana: asks a Prometheus all queries of grafana-dashboard.json, draws the panels as a page
 * (board-page.ts) and takes a picture of it with Chromium. The pictures in docs/guides/monitoring.md were made so.
 * A query that Prometheus refuses ends it with the answer. Needs `chromium` on PATH.
 * Usage: node packaging/monitoring/board-picture.ts PROMETHEUS_URL MINUTES FILE.png FIRST_ROW [LAST_ROW]
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Panel, PANELS, queryOf } from './board.ts'
import { COLUMN_PX, type DrawnPanel, drawBoard, type Period, type Series } from './board-page.ts'

const POINTS = 120
const COLUMNS = 24
/** Of rates; Prometheus scrapes more often. */
const INTERVAL = '1m'

interface Answer {
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly values: readonly (readonly [number, string])[]
    }[]
  }
  readonly error?: string
}

const [url = '', minutes = '', file = '', firstRow = '', lastRow = firstRow] = process.argv.slice(2)
if (firstRow === '') {
  process.stderr.write('usage: board-picture.ts PROMETHEUS_URL MINUTES FILE.png FIRST_ROW [LAST_ROW]\n')
  process.exit(2)
}
const to = Math.floor(Date.now() / 1000)
const period: Period = { from: to - Number(minutes) * 60, to }
const drawn: DrawnPanel[] = []
for (const panel of selectPanels()) drawn.push({ panel, series: await readSeries(panel) })
takePicture(drawBoard(drawn, period))

/** The rows with these titles, and all between them. */
function selectPanels(): readonly Panel[] {
  const rows = PANELS.filter(({ type }) => type === 'row')
  const [first, last] = [firstRow, lastRow].map((title) => rows.findIndex((row) => row.title === title))
  const [begin, end] = [rows[first ?? -1], rows[(last ?? -1) + 1]]
  if (begin === undefined || last === -1) throw new Error(`the rows are ${rows.map(({ title }) => title).join(', ')}`)
  const [top, bottom] = [begin.gridPos.y, end?.gridPos.y ?? Infinity]
  return PANELS.filter(({ gridPos: { y } }) => y >= top && y < bottom)
}

async function readSeries({ targets = [] }: Panel): Promise<Series[]> {
  const answers = targets.map(async ({ expr, legendFormat }) => {
    const query = queryOf(expr, INTERVAL)
    const step = (period.to - period.from) / POINTS
    const parameters = { query, start: period.from, end: period.to, step }
    const words = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    const response = await fetch(`${url}/api/v1/query_range?${words.join('&')}`)
    const { data, error } = (await response.json()) as Answer
    if (data === undefined) throw new Error(`${query}: ${error}`)
    return data.result.map(({ metric, values }) => ({
      name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
      points: values.map(([seconds, value]): [number, number] => [seconds, Number(value)]),
    }))
  })
  return (await Promise.all(answers)).flat()
}

function takePicture({ html, height }: { html: string; height: number }): void {
  const folder = mkdtempSync(join(tmpdir(), 'mailstead-board-'))
  try {
    const page = join(folder, 'board.html')
    writeFileSync(page, html)
    const size = `${COLUMNS * COLUMN_PX + 8},${height + 8}`
    const options = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', `--user-data-dir=${folder}/c`]
    const output = [`--window-size=${size}`, `--screenshot=${resolve(file)}`, `file://${page}`]
    execFileSync('chromium', [...options, ...output], { stdio: ['ignore', 'ignore', 'pipe'] })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
