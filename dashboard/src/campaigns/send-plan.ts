/**
 * When a draft is to be sent. The API stores a time only with `schedule`, so until then the address of the page has it:
 * `when=later&at=2026-12-01T09:00&zone=Europe/Berlin&each=1`. Times are on the clocks of the zone.
 */
import type { ScheduleCampaignBody } from '#dashboard/src/api/endpoints.ts'

export interface SendPlan {
  readonly isLater: boolean
  /** `2026-12-01T09:00` on the clocks of `zone`; empty until it is chosen. */
  readonly at: string
  readonly zone: string
  /** At this time on each recipient's clock. */
  readonly isEachZone: boolean
}

export const READERS_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export function readPlan(search: Readonly<Record<string, string>>): SendPlan {
  const zone = search['zone'] ?? ''
  return {
    isLater: search['when'] === 'later',
    at: /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(search['at'] ?? '') ? (search['at'] ?? '') : '',
    zone: isZone(zone) ? zone : READERS_ZONE,
    isEachZone: search['each'] === '1',
  }
}

export function writePlan(plan: Partial<SendPlan>): Record<string, string | undefined> {
  return {
    ...(plan.isLater === undefined ? {} : { when: plan.isLater ? 'later' : undefined }),
    ...(plan.at === undefined ? {} : { at: plan.at }),
    ...(plan.zone === undefined ? {} : { zone: plan.zone }),
    ...(plan.isEachZone === undefined ? {} : { each: plan.isEachZone ? '1' : undefined }),
  }
}

export type PlanProblem = 'no-time' | 'past-time'

/** What prevents scheduling; null if nothing does. */
export function problemOf(plan: SendPlan, now: number): PlanProblem | null {
  if (!plan.isLater) return null
  if (plan.at === '') return 'no-time'
  const instant = instantOf(plan.at, plan.zone)
  // each recipient's clock may be a day away from that of the zone; the API decides
  return !plan.isEachZone && instant <= now ? 'past-time' : null
}

/** The instant of a local time in a zone; a time that does not exist there is that of the offset before it. */
export function instantOf(at: string, zone: string): number {
  const asUtc = Date.parse(`${at}:00Z`)
  const first = asUtc - offsetAt(asUtc, zone)
  return asUtc - offsetAt(first, zone)
}

export function toScheduleBody(plan: SendPlan, isForced: boolean): ScheduleCampaignBody {
  return {
    scheduled_at: `${plan.at}:00`,
    timezone: plan.zone,
    recipient_time: plan.isEachZone,
    ...(isForced ? { force: true } : {}),
  }
}

/** How far the clocks of a zone are ahead of UTC, in ms. */
function offsetAt(instant: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(instant)
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === type)?.value ?? '00'
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}Z`
  return Date.parse(local) - Math.floor(instant / 1000) * 1000
}

function isZone(name: string): boolean {
  if (name === '') return false
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}
