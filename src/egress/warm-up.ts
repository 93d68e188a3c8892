/**
 * The step of the schedule (WARM_UP) on which a source is, for each receiver separately. It follows from the last day
 * on which mail went there, so no job has to advance the days, and every process computes the same step. Pure.
 */
import { WARM_UP_RULES, type WarmUpRules } from '#config/warm-up.ts'

/** YYYY-MM-DD, UTC. */
export type UtcDay = string

export interface WarmUpDay {
  readonly day: UtcDay
  /** From 0; equal to the number of steps = unlimited. */
  readonly step: number
  readonly sent: number
  readonly throttled: number
  readonly complaints: number
}

const DAY_MS = 24 * 3600 * 1000

export function dayOf(ms: number): UtcDay {
  return new Date(ms).toISOString().slice(0, 10)
}

export function nextDayMs(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS
}

/** Messages allowed on a step; null = unlimited. */
export function allowanceOf(step: number, schedule: readonly number[]): number | null {
  return schedule[step] ?? null
}

/** The step of `today`, from the last day before it; null: no mail went there yet. */
export function stepOf(
  today: UtcDay,
  last: WarmUpDay | null,
  schedule: readonly number[],
  rules: WarmUpRules = WARM_UP_RULES,
): number {
  if (last === null) return 0
  const idleDays = Math.round((Date.parse(today) - Date.parse(last.day)) / DAY_MS)
  const step = last.step + stepChange(last, schedule, rules) - Math.floor(idleDays / rules.forgetDays)
  return Math.min(Math.max(step, 0), schedule.length)
}

/** Change of step after a day: up, none, or down. */
function stepChange(
  { step, sent, throttled, complaints }: WarmUpDay,
  schedule: readonly number[],
  rules: WarmUpRules,
): 1 | 0 | -1 {
  const complaintRate = complaints >= rules.leastComplaints ? complaints / Math.max(sent, 1) : 0
  if (complaintRate >= rules.back.complaints) return -1
  if (sent < rules.leastSample) return 0
  const throttledRate = throttled / sent
  if (throttledRate >= rules.back.throttled) return -1
  if (throttledRate >= rules.hold.throttled || complaintRate >= rules.hold.complaints) return 0
  return sent >= (schedule[step] ?? 0) * rules.usedShare ? 1 : 0
}
