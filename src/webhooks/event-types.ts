/**
 * Every type of event that webhooks report, one row each: what it means, what its body carries beside the common fields, and what the
 * endpoint's "send a test event" puts there. Documentation, registration and payloads read this table; a new type is one row.
 */
export interface EventTypeRow {
  readonly meaning: string
  /** Fields of the event's data that also stand at the top of the body; null where the data lacks one. */
  readonly lifts: readonly string[]
  readonly sample: Readonly<Record<string, unknown>>
}

const MACHINE = { machine: false }
const ACCEPTED = { code: 250, reply: '2.0.0 Ok: queued' }

export const EVENT_TYPES = {
  'email.queued': { meaning: 'The message was stored and waits for its turn.', lifts: [], sample: {} },
  'email.scheduled': {
    meaning: 'The message was stored and waits for the time its sender set.',
    lifts: [],
    sample: {},
  },
  'email.sent': {
    meaning: 'The message was handed to the remote SMTP conversation, or to the provider.',
    lifts: [],
    sample: ACCEPTED,
  },
  'email.delivered': {
    meaning: "The remote server took the message: 250 on the final dot, or the provider's report.",
    lifts: [],
    sample: ACCEPTED,
  },
  'email.deferred': {
    meaning: 'The remote server, or the way to it, asked for a later try.',
    lifts: [],
    sample: { reason: 'mailbox-busy', message: '4.2.1 The mailbox is busy', code: '4.2.1', tries: 1 },
  },
  'email.bounced': {
    meaning: 'The message was refused: hard for good, soft for now and given up.',
    lifts: ['bounce_type', 'bounce_code', 'bounce_class', 'bounce_message'],
    sample: {
      bounce_type: 'hard',
      bounce_code: '5.1.1',
      bounce_class: 'no-such-user',
      bounce_message: '5.1.1 No such user here',
    },
  },
  'email.failed': {
    meaning: 'We gave up, or could not or may not send it.',
    lifts: [],
    sample: { reason: 'suppressed', cause: 'hard bounce' },
  },
  'email.opened': { meaning: 'The tracking pixel was loaded.', lifts: ['machine'], sample: MACHINE },
  'email.clicked': {
    meaning: 'A tracked link was followed.',
    lifts: ['url', 'machine'],
    sample: { url: 'https://example.com/offer', ...MACHINE },
  },
  'email.complained': {
    meaning: 'The recipient reported the message as spam.',
    lifts: [],
    sample: { feedback_type: 'abuse' },
  },
  'email.unsubscribed': {
    meaning: 'The recipient used the unsubscribe link or header of the message.',
    lifts: [],
    sample: {},
  },
  'email.cancelled': { meaning: 'The message was taken back before it left.', lifts: [], sample: {} },
  'contact.subscribed': {
    meaning: 'A contact joined an audience.',
    lifts: [],
    sample: { email: 'recipient@example.com' },
  },
  'contact.unsubscribed': {
    meaning: 'A contact left an audience.',
    lifts: [],
    sample: { email: 'recipient@example.com' },
  },
  'domain.verified': {
    meaning: 'The DNS records of a sending domain were found.',
    lifts: [],
    sample: {
      domain: 'example.com',
      domain_id: '01980000-0000-7000-8000-000000000000',
      verification_status: 'verified',
    },
  },
  'domain.degraded': {
    meaning: 'The DNS records of a verified domain are gone; it sends for 24 hours more.',
    lifts: [],
    sample: {
      domain: 'example.com',
      domain_id: '01980000-0000-7000-8000-000000000000',
      verification_status: 'degraded',
    },
  },
  'account.paused': {
    meaning: 'A connected account cannot sign in any more; its mail waits until it is connected again.',
    lifts: [],
    sample: {
      account_id: '01980000-0000-7000-8000-000000000000',
      name: 'Office',
      username: 'office@example.com',
      reason: '535 5.7.8 Username and password not accepted',
    },
  },
} as const satisfies Record<string, EventTypeRow>

export type EventType = keyof typeof EVENT_TYPES

/** Stands for all types, also those that come later. */
export const ALL_TYPES = '*'

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(EVENT_TYPES, name)
}

/** The row of a type, also of one that this version does not know (an event stored by a newer one). */
export function rowOf(type: string): EventTypeRow {
  return isEventType(type) ? EVENT_TYPES[type] : { meaning: '', lifts: [], sample: {} }
}
