/** How far a message with one recipient is: accepted, handed over, delivered; or where it ended. */
import type { Email } from '#dashboard/src/api/endpoints.ts'

export type SentMessage = Pick<Email['data'], 'status' | 'events' | 'created_at'>

export const STEPS = ['queued', 'sent', 'delivered'] as const
export type StepName = (typeof STEPS)[number]

export interface DeliveryStep {
  readonly name: StepName
  /** current: it happens now. waiting: an earlier step comes first. */
  readonly state: 'done' | 'current' | 'failed' | 'waiting'
  /** Null until it is done. */
  readonly at: string | null
}

const ENDS: ReadonlySet<string> = new Set(['bounced', 'failed', 'suppressed', 'cancelled'])
/** How many steps are done for certain, whichever events were read. */
const DONE: Readonly<Record<string, number>> = { sent: 2, delivered: 3, captured: 3 }

export function isOver(status: SentMessage['status']): boolean {
  return ENDS.has(status) || DONE[status] === STEPS.length
}

export function deliverySteps({ status, events, created_at: createdAt }: SentMessage): DeliveryStep[] {
  const isFailed = ENDS.has(status)
  const times: Readonly<Record<StepName, string | null>> = {
    queued: createdAt,
    sent: timeOf(events, 'email.sent'),
    delivered: timeOf(events, 'email.delivered'),
  }
  const seen = times.delivered !== null ? 3 : times.sent !== null ? 2 : 1
  const done = isFailed ? Math.min(seen, 2) : Math.max(seen, DONE[status] ?? 1)
  return STEPS.map((name, index) => {
    if (index < done) return { name, state: 'done', at: times[name] ?? times.delivered }
    if (index > done) return { name, state: 'waiting', at: null }
    return { name, state: isFailed ? 'failed' : 'current', at: null }
  })
}

function timeOf(events: SentMessage['events'], type: string): string | null {
  return events.find((event) => event.type === type)?.timestamp ?? null
}

const REPLY_FIELDS = ['reply', 'bounce_message', 'message', 'reason'] as const

/** What the receiver, or this service, said last about a message that waits or failed. Only ever shown as text. */
export function lastReply({ status, events }: SentMessage): string | null {
  if (status !== 'deferred' && !ENDS.has(status)) return null
  for (const { data } of events.toReversed())
    for (const field of REPLY_FIELDS) {
      const value = data?.[field]
      if (typeof value === 'string' && value.trim() !== '') return value.trim()
    }
  return null
}
