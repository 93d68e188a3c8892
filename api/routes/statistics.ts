/**
 * Statistics of the mail of a workspace, and for the operator of all: counts by intervals and one dimension, and the
 * click map, as JSON or CSV. A response has at most MAX_REPORT_ROWS rows, so a request cannot read without limit; the
 * refusal says what to change.
 */
import { z } from 'zod'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { isTimeZone } from '#src/platform/time-input.ts'
import {
  COUNTER_NAMES,
  COUNTERS,
  type CounterName,
  type DimensionName,
  INSTALLATION,
  INSTALLATION_DIMENSIONS,
  RESOLUTIONS,
  WORKSPACE_DIMENSIONS,
} from '#src/statistics/dimensions.ts'
import {
  createLocalText,
  divide,
  INTERVAL_NAMES,
  INTERVALS,
  MAX_INTERVALS,
  storedSince,
} from '#src/statistics/intervals.ts'
import {
  MAX_REPORT_NUMBERS,
  MAX_REPORT_ROWS,
  maxValues,
  readReport,
  type Report,
  type ReportQuery,
} from '#src/statistics/report.ts'
import { reportCsv } from '#src/statistics/report-csv.ts'
import type { ApiContext } from '#api/http/context.ts'
import { type ApiResponse, route, type AnyRoute } from '#api/http/route.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { ADMIN_LINK_STATISTICS_ROUTES, LINK_STATISTICS_ROUTES } from './link-statistics.ts'
import { csvResponse, periodFields, readPeriod, type StatisticsRequest, wantsCsv } from './statistics-period.ts'

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20

const countersField = z
  .string()
  .max(500, 'is too long')
  .transform((text, sink): CounterName[] => {
    const names = text.split(',').map((name) => name.trim())
    const unknown = names.find((name) => !Object.hasOwn(COUNTERS, name))
    if (unknown !== undefined)
      sink.addIssue({
        code: 'custom',
        message: `has no counter ${JSON.stringify(unknown)}; use ${COUNTER_NAMES.join(', ')}`,
      })
    return COUNTER_NAMES.filter((name) => names.includes(name))
  })
const reportFields = {
  ...periodFields,
  interval: z.enum(INTERVAL_NAMES).default('day').meta({
    description: 'minutes are stored for 24 hours, hours for 31 days; days, weeks and months for years',
  }),
  timezone: z.string().refine(isTimeZone, 'must be the IANA name of a time zone, such as Europe/Berlin').default('UTC'),
  value: z.string().max(300, 'is too long').optional().meta({
    description: 'only this value of `group_by`, such as a tag or the id of a campaign',
  }),
  counters: countersField
    .optional()
    .meta({ description: 'the counters to return, separated by commas. By default all' }),
  limit: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'at least 1')
    .max(MAX_LIMIT, `at most ${MAX_LIMIT}`)
    .optional()
    .meta({
      description:
        'the number of values that are returned by themselves, the largest; the rest are one with `value: null`. By ' +
        `default ${DEFAULT_LIMIT}, or as many as a response may have: ${MAX_REPORT_ROWS} rows, and ` +
        `${MAX_REPORT_NUMBERS} numbers`,
    }),
}
const groupField = (names: readonly DimensionName[]): z.ZodType<DimensionName, string | undefined> =>
  z
    .enum(names as [DimensionName, ...DimensionName[]])
    .default('all')
    .meta({ description: 'what the counts are grouped by' })

const workspaceQuery = z.object({ ...reportFields, group_by: groupField(WORKSPACE_DIMENSIONS) })
const operatorQuery = z.object({
  ...reportFields,
  group_by: groupField([...new Set([...INSTALLATION_DIMENSIONS, ...WORKSPACE_DIMENSIONS])]),
  workspace_id: z.string().optional().meta({ description: 'only this workspace' }),
})
type ReportFields = z.output<typeof workspaceQuery>

const count = z.int().min(0)
const counts = z
  .object(
    Object.fromEntries(COUNTER_NAMES.map((name) => [name, count.optional().meta({ description: COUNTERS[name] })])),
  )
  .meta({ id: 'StatisticsCounts', description: 'the counters that were requested' })
const valueField = z.string().nullable().meta({ description: 'null: everything, or the values beyond the limit' })
const reportSchema = envelope(
  z.object({
    from: timestamp.meta({ description: 'the start of the first interval' }),
    to: timestamp.meta({ description: 'the end of the last interval' }),
    interval: z.enum(INTERVAL_NAMES).meta({ description: 'the length of the intervals' }),
    timezone: z.string(),
    group_by: z.string().meta({ description: 'what the counts are grouped by' }),
    is_complete: z.boolean().meta({ description: 'false while mail of before an upgrade is still being counted' }),
    totals: z.array(z.object({ value: valueField, counts })).meta({ description: 'over the whole time' }),
    rows: z
      .array(
        z.object({
          start: timestamp.meta({ description: 'the start of the interval' }),
          local: z.string().meta({ description: 'the start in `timezone`' }),
          value: valueField,
          counts,
        }),
      )
      .meta({ description: 'one for each interval and value with events' }),
  }),
)

const DESCRIPTION =
  'Counts of events, by when they happened. New events are counted within seconds. A recipient whose delivery is ' +
  'retried may be deferred several times, and one that bounces late was delivered before. Intervals without events ' +
  'are left out. Days older than 31 days are those of UTC in any time zone.'

const read = route({
  name: 'get-statistics',
  summary: 'Count mail by time, and by tier, receiver, domain, source, class, tag, campaign or template',
  description: DESCRIPTION,
  method: 'GET',
  paths: ['/public/statistics'],
  access: { admin: 'statistics:read' },
  query: workspaceQuery,
  status: 200,
  produces: ['text/csv'],
  response: reportSchema,
  errors: ['VALIDATION_ERROR'],
  handle: (ctx, { caller, query, headers }) =>
    respond(ctx, query, { scope: caller.workspaceId, accept: headers.accept }),
})

const readAll = route({
  name: 'admin-get-statistics',
  summary: 'Count the mail of all workspaces by time, and by workspace, tier, receiver, domain, source or class',
  description: `${DESCRIPTION} By tag, campaign and template only with \`workspace_id\`.`,
  method: 'GET',
  paths: ['/admin/statistics'],
  access: 'operator',
  query: operatorQuery,
  status: 200,
  produces: ['text/csv'],
  response: reportSchema,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query, headers }) => {
    const { workspace_id: workspaceId } = query
    const problem = problemWithScope(query.group_by, workspaceId)
    return problem ?? respond(ctx, query, { scope: workspaceId ?? INSTALLATION, accept: headers.accept })
  },
})

function problemWithScope(group: DimensionName, workspaceId: string | undefined): Refusal | null {
  if (workspaceId !== undefined && !isUuid(workspaceId))
    return invalid([{ path: 'workspace_id', message: 'must be a UUID' }])
  const names = workspaceId === undefined ? INSTALLATION_DIMENSIONS : WORKSPACE_DIMENSIONS
  if (names.includes(group)) return null
  const message = workspaceId === undefined ? 'needs workspace_id' : 'is for all workspaces: leave out workspace_id'
  return invalid([{ path: 'group_by', message: `${group} ${message}` }])
}

async function respond(
  ctx: ApiContext,
  query: ReportFields,
  { scope, accept }: StatisticsRequest,
): Promise<ApiResponse | Refusal> {
  const given = readQuery(query, scope, ctx.clock.now())
  if (isRefusal(given)) return given
  const report = await readReport(ctx.db, given)
  const { timezone: zone, group_by: dimension, format } = query
  const { counters, division } = given
  if (wantsCsv(format, accept))
    return csvResponse(
      'statistics',
      reportCsv(report, { dimension: dimension === 'all' ? null : dimension, counters, zone }),
    )
  const data = {
    from: (division.starts[0] ?? division.end).toISOString(),
    to: division.end.toISOString(),
    interval: query.interval,
    timezone: zone,
    group_by: dimension,
    is_complete: report.isComplete,
    totals: report.totals,
    rows: rowsOf(report, zone),
  }
  return { body: { success: true, message: `${countText(report.rows.length, 'row')}.`, data } }
}

/** Rows of one interval follow each other, and its times are written once. */
function rowsOf({ rows }: Report, zone: string): object[] {
  const localText = createLocalText(zone)
  let last: { at: Date; start: string; local: string } | null = null
  return rows.map(({ at, value, counts: of }) => {
    if (last?.at !== at) last = { at, start: at.toISOString(), local: localText(at) }
    return { start: last.start, local: last.local, value, counts: of }
  })
}

function readQuery(query: ReportFields, scope: string, nowMs: number): ReportQuery | Refusal {
  const times = readPeriod(query, query.timezone, nowMs)
  if (isRefusal(times)) return times
  const { interval, group_by: dimension, value = null, counters = COUNTER_NAMES } = query
  const { needs } = INTERVALS[interval]
  if (times.from.getTime() < storedSince(needs, nowMs) - RESOLUTIONS[needs].ms)
    return invalid([{ path: 'interval', message: `${interval}s are not stored for so long: use a longer interval` }])
  if (value !== null && dimension === 'all') return invalid([{ path: 'value', message: 'needs group_by' }])
  const division = divide(times.from, times.to, interval, query.timezone)
  if (division === null)
    return invalid([{ path: 'interval', message: `gives more than ${MAX_INTERVALS} intervals: use a longer one` }])
  const most = dimension === 'all' || value !== null ? MAX_LIMIT : maxValues(division.starts.length, counters.length)
  if ((query.limit ?? 1) > most)
    return invalid([
      {
        path: 'limit',
        message: `is at most ${most} for so many intervals and counters: reduce it, or use a longer interval`,
      },
    ])
  const limit = query.limit ?? Math.min(DEFAULT_LIMIT, most)
  return { scope, dimension, value, interval, division, counters, limit }
}

export const STATISTICS_ROUTES: readonly AnyRoute[] = [read, ...LINK_STATISTICS_ROUTES]
export const ADMIN_STATISTICS_ROUTES: readonly AnyRoute[] = [readAll, ...ADMIN_LINK_STATISTICS_ROUTES]
