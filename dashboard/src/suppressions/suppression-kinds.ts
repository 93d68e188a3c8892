/** The causes of a suppression, and how serious each is. */
import type { Suppression } from '#dashboard/src/api/endpoints.ts'
import type { Tone } from '#dashboard/src/ui/tone.ts'

export type SuppressionKind = Suppression['kind']

export const KIND_TONES: Readonly<Record<SuppressionKind, Tone>> = {
  complaint: 'danger',
  hard_bounce: 'warning',
  unsubscribe: 'neutral',
  unsubscribe_bulk: 'neutral',
  manual: 'info',
  import: 'info',
}
export const KINDS = Object.keys(KIND_TONES) as readonly SuppressionKind[]

export function isKind(text: string | undefined): text is SuppressionKind {
  return KINDS.some((kind) => kind === text)
}

const DAY_MS = 24 * 3600 * 1000
export const PERIODS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30, year: 365 }

/** The beginning of the period, at midnight UTC, so that the list keeps its key for a day. Undefined: any time. */
export function startOf(period: string | undefined, now: number): string | undefined {
  const days = PERIODS[period ?? '']
  if (days === undefined) return undefined
  return new Date(Math.floor((now - days * DAY_MS) / DAY_MS) * DAY_MS).toISOString()
}

/** Addresses from a text: one a line, or separated by commas, semicolons or spaces. Each once. */
export function readAddresses(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((word) => word !== ''))]
}
