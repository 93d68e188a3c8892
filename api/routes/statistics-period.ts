/** The parts that requests for statistics share: the period, and the choice of CSV. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { parseTime } from '#src/platform/time-input.ts'
import type { ApiResponse } from '#api/http/route.ts'

const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 30

const timeText = z.string().max(40, 'is too long')
export const periodFields = {
  from: timeText.optional().meta({
    description: `in ISO 8601; local time in \`timezone\` without an offset. By default ${DEFAULT_DAYS} days ago`,
  }),
  to: timeText.optional().meta({ description: 'the end, which is not included. By default now' }),
  format: z.enum(['json', 'csv']).optional().meta({ description: '`csv`: as a file, also with `Accept: text/csv`' }),
}
/** Whose statistics, and the Accept header. */
export interface StatisticsRequest {
  readonly scope: string
  readonly accept: string | undefined
}

interface GivenPeriod {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Times without an offset are local time in `zone`. */
export function readPeriod(given: GivenPeriod, zone: string, nowMs: number): { from: Date; to: Date } | Refusal {
  const to = given.to === undefined ? new Date(nowMs) : parseTime(given.to, zone)
  if (to === null) return invalid([{ path: 'to', message: 'must be a time in ISO 8601' }])
  const from = given.from === undefined ? new Date(to.getTime() - DEFAULT_DAYS * DAY_MS) : parseTime(given.from, zone)
  if (from === null) return invalid([{ path: 'from', message: 'must be a time in ISO 8601' }])
  return from < to ? { from, to } : invalid([{ path: 'from', message: 'must be before to' }])
}

/** By the parameter, or else the Accept header. */
export function wantsCsv(format: 'json' | 'csv' | undefined, accept = ''): boolean {
  return format === undefined ? /^\s*text\/csv\b/i.test(accept) : format === 'csv'
}

/** A file of that name. */
export function csvResponse(name: string, text: string): ApiResponse {
  return {
    type: 'text/csv; charset=utf-8',
    body: Readable.from([text]),
    headers: { 'Content-Disposition': `attachment; filename="${name}.csv"` },
  }
}
