/**
 * The time of reports over a year of ten million recipients, as the routes of the API make them: the statements and the
 * text of the response. The rows are those that counting and rolling up leave (year.ts).
 */
import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import type pg from 'pg'
import { percentile } from '#bench/harness/stats.ts'
import { formatTable } from '#bench/table.ts'
import type { ApiContext } from '#api/http/context.ts'
import { ADMIN_STATISTICS_ROUTES, STATISTICS_ROUTES } from '#api/routes/statistics.ts'
import { RESOLUTION_NAMES, type ResolutionName, RESOLUTIONS, SPARE_MS } from '#src/statistics/dimensions.ts'
import { periodOf } from '#src/statistics/periods.ts'
import type { Db } from '#src/stores/db.ts'
import { childrenOf, cpuMsOf, ownCpuMs, titleOf } from '#bench/harness/process-cpu.ts'
import { CREATE_SHAPES, FILL_LINKS, FILL_YEAR } from './year.ts'

const YEAR_RECIPIENTS = 10_000_000
const TARGET_MS = 100
const REPEATS = 5
const DAY_MS = RESOLUTIONS.day.ms

/** Fills the year until now, instead of what was counted. */
export async function fillYear(client: pg.Client, workspaces: readonly string[], nowMs: number): Promise<void> {
  await client.query('TRUNCATE statistics, link_clicks')
  await client.query(CREATE_SHAPES, [workspaces])
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  const rolledMs = periodOf('hour', nowMs)
  const ends: Partial<Record<ResolutionName, number>> = { minute: nowMs, hour: rolledMs }
  for (const name of RESOLUTION_NAMES.toReversed()) {
    const { code, ms, keptMs, values } = RESOLUTIONS[name]
    const from = periodOf(name, Math.max(today - 365 * DAY_MS, nowMs - keptMs - SPARE_MS))
    const step = name === 'month' ? '1 month' : `${ms / 1000} seconds`
    const end = new Date(ends[name] ?? today + DAY_MS)
    await client.query(FILL_YEAR, [code, new Date(from), end, step, YEAR_RECIPIENTS, values])
  }
  await client.query(FILL_LINKS, [workspaces])
  await client.query(`UPDATE statistics_cursors SET rolled_until = $1 WHERE name = 'new'`, [new Date(rolledMs)])
  await client.query(`DELETE FROM statistics_cursors WHERE name = 'stored'`)
  await client.query('VACUUM ANALYZE statistics')
  await client.query('VACUUM ANALYZE link_clicks')
}

interface ReportCase {
  readonly path: '/public/statistics' | '/admin/statistics' | '/public/statistics/links'
  readonly query: Readonly<Record<string, unknown>>
  readonly days: number
}

/** The campaign and the template of FILL_LINKS that are clicked most. */
const BUSIEST = '00000000-0000-7000-8000-000000000001'
const FEW = 'accepted,delivered,bounced_hard,opened_unique,clicked_unique'
const DAYS = { interval: 'day' }

/** Of the largest workspace, and of all; with as many values as the API allows. */
function listCases(): ReportCase[] {
  const year: readonly Readonly<Record<string, string>>[] = [
    { ...DAYS, limit: '9' },
    { ...DAYS, limit: '21', counters: FEW },
    { ...DAYS, limit: '9', timezone: 'America/New_York' },
    { ...DAYS, limit: '9', format: 'csv' },
    { interval: 'week', limit: '66' },
    { interval: 'month', limit: '100' },
    { interval: 'month', limit: '100', timezone: 'Asia/Kolkata', format: 'csv' },
  ]
  const of = (path: ReportCase['path'], groups: readonly string[]): ReportCase[] =>
    groups.flatMap((group) => [
      ...year.map((query) => ({ path, query: { ...query, group_by: group }, days: 364 })),
      ...[0, 1].map((n) => ({
        path,
        query: { ...DAYS, group_by: group, value: `${group}-${n + 1}`, timezone: n === 0 ? 'UTC' : 'Europe/Berlin' },
        days: 364,
      })),
      { path, query: { interval: 'hour', group_by: group, limit: '4' }, days: 30 },
      { path, query: { interval: 'minute', group_by: group, limit: '2' }, days: 0.99 },
    ])
  const all = (path: ReportCase['path']): ReportCase[] =>
    ['day', 'week', 'month'].map((interval) => ({ path, query: { interval, timezone: 'Europe/Berlin' }, days: 364 }))
  return [
    ...all('/public/statistics'),
    ...of('/public/statistics', ['tier', 'receiver', 'domain', 'source', 'class', 'tag', 'campaign', 'template']),
    ...all('/admin/statistics'),
    ...of('/admin/statistics', ['tier', 'receiver', 'domain', 'source', 'class', 'workspace']),
    ...['', 'campaign', 'template'].flatMap((kind) =>
      ['json', 'csv'].map((format) => ({
        path: '/public/statistics/links' as const,
        query: { limit: '1000', format, ...(kind === '' ? {} : { [`${kind}_id`]: BUSIEST }) },
        days: 364,
      })),
    ),
  ]
}

export interface ReportTargets {
  readonly db: Db
  readonly postmaster: number
  readonly workspaceId: string
}

/** One line for the slowest case of each group and interval; all of them with `--all`. */
export async function measureReports(
  { db, postmaster, workspaceId }: ReportTargets,
  showsAll: boolean,
): Promise<string> {
  const head = ['report', 'days', 'rows', 'KB', 'CPU ms: PostgreSQL', 'Node', 'both', 'wall ms: median', '']
  const lines: { readonly cells: string[]; readonly cpuMs: number }[] = []
  for (const one of listCases()) {
    const made: { pgMs: number; nodeMs: number; wallMs: number }[] = []
    let [bytes, rows] = [0, 0]
    // to vacuum what was just filled in is no part of a report
    const backends = childrenOf(postmaster).filter((pid) => !titleOf(pid).startsWith('postgres: autovacuum'))
    for (let n = 0; n < REPEATS; n++) {
      const [pgBefore, nodeBefore, began] = [cpuMsOf(backends), ownCpuMs(), performance.now()]
      const body = await respond(db, one, workspaceId)
      const wallMs = performance.now() - began
      // after its response, a backend only waits
      const nodeMs = ownCpuMs() - nodeBefore
      made.push({ pgMs: cpuMsOf(backends) - pgBefore, nodeMs, wallMs })
      bytes = body.length
      rows = body.split(/"start":|"position":|\r\n/).length - 1
    }
    const pgMs = percentile(
      made.map((m) => m.pgMs),
      50,
    )
    const nodeMs = percentile(
      made.map((m) => m.nodeMs),
      50,
    )
    const cpuMs = pgMs + nodeMs
    const name = `${one.path.slice(1)} ${new URLSearchParams(one.query as Record<string, string>).toString()}`
    const times = [
      pgMs,
      nodeMs,
      cpuMs,
      percentile(
        made.map((m) => m.wallMs),
        50,
      ),
    ].map((ms) => ms.toFixed(1))
    const size = [String(one.days), String(rows), (bytes / 1000).toFixed(0)]
    lines.push({ cells: [name, ...size, ...times, cpuMs <= TARGET_MS ? '' : 'missed'], cpuMs })
  }
  const slowest = lines.toSorted((a, b) => b.cpuMs - a.cpuMs)
  const missed = lines.filter(({ cpuMs }) => cpuMs > TARGET_MS).length
  const shown = (showsAll ? lines : slowest.slice(0, 15)).map(({ cells }) => cells)
  return `${formatTable([head, ...shown])}\n${lines.length} reports, ${missed} of them above ${TARGET_MS} ms.`
}

/** The text of the response. */
async function respond(db: Db, { path, query, days }: ReportCase, workspaceId: string): Promise<string> {
  const route = [...STATISTICS_ROUTES, ...ADMIN_STATISTICS_ROUTES].find(({ paths }) => paths.includes(path))
  const from = new Date(Date.now() - days * DAY_MS).toISOString()
  const given = route?.query?.parse({ ...query, from })
  const ctx = { db, clock: { now: () => Date.now() } } as unknown as ApiContext
  const request = { caller: { workspaceId }, query: given, headers: {} }
  const response = (await route?.handle(ctx, request as never)) as { body?: object; error?: object }
  if (response.body === undefined) throw new Error(`${path}: ${JSON.stringify(response)}`)
  return 'pipe' in response.body ? text(response.body as Readable) : JSON.stringify(response.body)
}
