/**
 * Parses the scheduled time of a campaign: an instant, or a local time that each recipient's time zone reaches at its
 * own instant.
 */
import { isTimeZone, parseTime } from '#src/platform/time-input.ts'
import { earliestInstant } from './send-times.ts'

const DAY_MS = 24 * 3600 * 1000
const OFFSET = /[T_ ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i

interface ScheduleInput {
  readonly text: string
  readonly timezone: string
  readonly isRecipientTime: boolean
  readonly nowMs: number
}

export interface PlannedStart {
  readonly kind: 'planned'
  readonly timezone: string
  /** The instant of the given time in `timezone`. */
  readonly scheduledAt: Date
  /** When the first recipients are due. */
  readonly startsAt: Date
  /** Null: the same instant for all recipients. */
  readonly localTime: string | null
}

export type PlanStartResult =
  | PlannedStart
  | { readonly kind: 'invalid'; readonly path: string; readonly message: string }

export function planStart({ text, timezone, isRecipientTime, nowMs }: ScheduleInput): PlanStartResult {
  if (!isTimeZone(timezone)) return { kind: 'invalid', path: 'timezone', message: 'must be an IANA time zone' }
  const scheduledAt = parseTime(text, timezone)
  if (scheduledAt === null)
    return { kind: 'invalid', path: 'scheduled_at', message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' }
  if (isRecipientTime && OFFSET.test(text))
    return {
      kind: 'invalid',
      path: 'scheduled_at',
      message: "must have no offset: it is the time on each recipient's own clock",
    }
  if (scheduledAt.getTime() <= nowMs) return { kind: 'invalid', path: 'scheduled_at', message: 'must be in the future' }
  if (scheduledAt.getTime() - nowMs > 365 * DAY_MS)
    return { kind: 'invalid', path: 'scheduled_at', message: 'must be at most 365 days ahead' }
  return {
    kind: 'planned',
    timezone,
    scheduledAt,
    startsAt: isRecipientTime ? earliestInstant(text) : scheduledAt,
    localTime: isRecipientTime ? text : null,
  }
}
