/**
 * The types of events in groups, as a person chooses them. The server has the list; test/dashboard/event-types.test.ts
 * compares the two.
 */

export const EVENT_GROUPS = {
  delivery: [
    'email.queued',
    'email.scheduled',
    'email.sent',
    'email.delivered',
    'email.deferred',
    'email.bounced',
    'email.failed',
    'email.cancelled',
  ],
  engagement: ['email.opened', 'email.clicked', 'email.complained', 'email.unsubscribed'],
  inbound: ['email.received'],
  contacts: ['contact.subscribed', 'contact.unsubscribed'],
  senders: ['domain.verified', 'domain.degraded', 'domain.unaligned', 'account.paused'],
} as const

export type EventGroup = keyof typeof EVENT_GROUPS
export type EventType = (typeof EVENT_GROUPS)[EventGroup][number]

export const EVENT_TYPES: readonly EventType[] = Object.values(EVENT_GROUPS).flat()

/** The chosen types of an endpoint; `*` and nothing stand for all. */
export function chosenTypes(events: readonly string[]): readonly EventType[] {
  return events.length === 0 || events.includes('*') ? EVENT_TYPES : EVENT_TYPES.filter((type) => events.includes(type))
}

/** What the API wants: `*` keeps an endpoint at all types, also at those that come later. */
export function toEvents(chosen: readonly EventType[]): '*' | readonly EventType[] {
  return chosen.length === EVENT_TYPES.length ? '*' : chosen
}
