/**
 * The warm-up of a source, for each receiver apart: on which step of the schedule (WARM_UP) it is on a day. It follows from the last day on
 * which mail went there, so nobody has to turn the days, and any process comes to the same. Pure.
 */
import { WARM_UP_RULES, type WarmUpRules } from '#config/warm-up.ts'

/** YYYY-MM-DD, UTC. */
export type Day = string

export interface DayRecord {
  readonly day: Day
  /** From 0; the number of steps there are = free. */
  readonly step: number
  readonly sent: number
  readonly throttled: number
  readonly complaints: number
}

const DAY_MS = 24 * 3600 * 1000

export function dayOf(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10)
}

export function nextDayMs(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS
}

/** What may go on a step; null = any number. */
export function amountOf(step: number, schedule: readonly number[]): number | null {
  return schedule[step] ?? null
}

/** The step of `today`, by the last day before it; null: mail never went there. */
export function stepOf(
  today: Day,
  last: DayRecord | null,
  schedule: readonly number[],
  rules: WarmUpRules = WARM_UP_RULES,
): number {
  if (last === null) return 0
  const idleDays = Math.round((Date.parse(today) - Date.parse(last.day)) / DAY_MS)
  const step = last.step + judgeDay(last, schedule, rules) - Math.floor(idleDays / rules.forgetDays)
  return Math.min(Math.max(step, 0), schedule.length)
}

/** One step up, none, or one down. */
function judgeDay(
  { step, sent, throttled, complaints }: DayRecord,
  schedule: readonly number[],
  rules: WarmUpRules,
): 1 | 0 | -1 {
  const complained = complaints >= rules.leastComplaints ? complaints / Math.max(sent, 1) : 0
  if (complained >= rules.back.complaints) return -1
  if (sent < rules.leastSample) return 0
  const putOff = throttled / sent
  if (putOff >= rules.back.throttled) return -1
  if (putOff >= rules.hold.throttled || complained >= rules.hold.complaints) return 0
  return sent >= (schedule[step] ?? 0) * rules.usedShare ? 1 : 0
}
