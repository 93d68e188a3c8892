/** The time that a campaign is set to: an instant, or a wall-clock time that each recipient's own zone reaches at its own instant. */
import { isZone, readMoment } from '#src/platform/time-input.ts'
import { firstMoment } from './send-times.ts'

const DAY_MS = 24 * 3600 * 1000
const OFFSET = /[T_ ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i

interface WrittenTime {
  readonly text: string
  readonly timezone: string
  readonly isRecipientTime: boolean
  readonly nowMs: number
}

export interface PlannedStart {
  readonly kind: 'planned'
  readonly timezone: string
  /** In `timezone`. */
  readonly scheduledAt: Date
  /** When the first recipients are due. */
  readonly startsAt: Date
  /** Null: the same instant for all. */
  readonly localTime: string | null
}

export type Planned = PlannedStart | { readonly kind: 'wrong'; readonly path: string; readonly message: string }

export function planStart({ text, timezone, isRecipientTime, nowMs }: WrittenTime): Planned {
  if (!isZone(timezone)) return { kind: 'wrong', path: 'timezone', message: 'must be an IANA time zone' }
  const scheduledAt = readMoment(text, timezone)
  if (scheduledAt === null)
    return { kind: 'wrong', path: 'scheduled_at', message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' }
  if (isRecipientTime && OFFSET.test(text))
    return {
      kind: 'wrong',
      path: 'scheduled_at',
      message: "must have no offset: it is the time on each recipient's own clock",
    }
  if (scheduledAt.getTime() <= nowMs) return { kind: 'wrong', path: 'scheduled_at', message: 'must be in the future' }
  if (scheduledAt.getTime() - nowMs > 365 * DAY_MS)
    return { kind: 'wrong', path: 'scheduled_at', message: 'must be at most 365 days ahead' }
  return {
    kind: 'planned',
    timezone,
    scheduledAt,
    startsAt: isRecipientTime ? firstMoment(text) : scheduledAt,
    localTime: isRecipientTime ? text : null,
  }
}
