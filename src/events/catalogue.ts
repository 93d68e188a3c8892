/**
 * The catalogue of events: every type that webhooks, the event feed and the OpenAPI document report, one row each.
 *
 * To add a type: add a row here, and raise it where `raisedBy` says. Registration, payloads, sample events, the OpenAPI
 * document and the generated page `docs/reference/events.md` read the row; the types of the functions that raise events
 * accept the new name. `test/spec/events.test.ts` lists the types that the specification names.
 */
export interface EventTypeRow {
  readonly meaning: string
  /**
   * The code that raises it: a transition of a recipient (`src/messages/state.ts`), the tracking of opens and clicks
   * (`src/tracking/hit-recorder.ts`), a report about a recipient (`src/messages/recipient-events.ts`), or a change of a
   * contact, domain or account, or mail that was received (`src/events/raise.ts`).
   */
  readonly raisedBy: 'transition' | 'tracking' | 'report' | 'change'
  /** Fields of the event's data that also stand at the top of the body; null where the data has no such field. */
  readonly fields: Readonly<Record<string, EventField>>
  /** The data of a sample event: in the OpenAPI document, and of "send a test event". */
  readonly sample: Readonly<Record<string, unknown>>
}

export interface EventField {
  readonly type: 'text' | 'boolean'
  /** All values that a text can have, where they are few. */
  readonly values?: readonly string[]
  readonly meaning: string
}

const MACHINE: EventField = { type: 'boolean', meaning: 'true: a scanner or a proxy, not the person' }
const BOUNCE = {
  bounce_type: { type: 'text', values: ['hard', 'soft'], meaning: 'hard: for good; soft: given up for now' },
  bounce_code: { type: 'text', meaning: 'the enhanced status code, such as 5.1.1' },
  bounce_class: { type: 'text', meaning: 'the class of the failure, such as no-such-user' },
  bounce_message: { type: 'text', meaning: 'the words of the remote server' },
} as const satisfies Record<string, EventField>
const ACCEPTED = { code: 250, reply: '2.0.0 Ok: queued' }

const RECEIVED = {
  received_email_id: '01980000-0000-7000-8000-000000000000',
  route_id: '01980000-0000-7000-8000-000000000001',
  received_at: '2031-01-02T03:04:05.000Z',
  mail_from: 'anna@example.org',
  tag: null,
  peer: '192.0.2.1',
  helo: 'mail.example.org',
  is_tls: true,
  size: 812,
  is_unreadable: false,
  from: { address: 'anna@example.org', name: 'Anna' },
  to: [{ address: 'support@example.com', name: null }],
  cc: [],
  reply_to: [],
  subject: 'A question',
  date: '2031-01-02T03:04:00.000Z',
  header_message_id: '<1@example.org>',
  in_reply_to: null,
  references: [],
  headers: [{ name: 'Subject', value: 'A question' }],
  text: 'Hello',
  html: null,
  is_truncated: false,
  is_automatic: false,
  attachments: [
    {
      n: 1,
      filename: 'note.txt',
      content_type: 'text/plain',
      content_id: null,
      disposition: 'attachment',
      size: 5,
      content_base64: 'SGVsbG8=',
      url: 'https://mail.example.com/inbound-files/AZgAAA…',
    },
  ],
  authentication: {
    spf: { result: 'pass', domain: 'example.org' },
    dkim: [{ result: 'pass', domain: 'example.org', selector: 's1', is_aligned: true }],
    dmarc: { result: 'pass', domain: 'example.org', policy: 'reject' },
    arc: { result: 'none', domain: null },
  },
  spam: { verdict: 'clean', score: 0, reasons: [], filter: null },
  source_url: 'https://mail.example.com/inbound-files/AZgAAA…',
  links_expire_at: '2031-02-01T03:04:05.000Z',
}

export const EVENT_TYPES = {
  'email.queued': {
    raisedBy: 'transition',
    meaning: 'The message is stored and waits for its turn.',
    fields: {},
    sample: {},
  },
  'email.scheduled': {
    raisedBy: 'transition',
    meaning: 'The message is stored and waits for the time its sender set.',
    fields: {},
    sample: {},
  },
  'email.sent': {
    raisedBy: 'transition',
    meaning: 'The message was handed to the remote SMTP conversation, or to the provider.',
    fields: {},
    sample: ACCEPTED,
  },
  'email.delivered': {
    raisedBy: 'transition',
    meaning: "The remote server accepted the message: 250 on the final dot, or the provider's report.",
    fields: {},
    sample: ACCEPTED,
  },
  'email.deferred': {
    raisedBy: 'transition',
    meaning: 'The message could not be delivered now, and is tried again later.',
    fields: {},
    sample: { reason: 'mailbox-busy', message: '4.2.1 The mailbox is busy', code: '4.2.1', tries: 1 },
  },
  'email.bounced': {
    raisedBy: 'transition',
    meaning:
      'The receiver refused the message permanently, or would: hard if the address is bad, soft if it may be good.',
    fields: BOUNCE,
    sample: {
      bounce_type: 'hard',
      bounce_code: '5.1.1',
      bounce_class: 'no-such-user',
      bounce_message: '5.1.1 No such user here',
    },
  },
  'email.failed': {
    raisedBy: 'transition',
    meaning: 'The message could not or must not be sent, or its attempts or time ran out.',
    fields: {},
    sample: { reason: 'suppressed', cause: 'hard bounce' },
  },
  'email.opened': {
    raisedBy: 'tracking',
    meaning: 'The tracking pixel was loaded.',
    fields: { machine: MACHINE },
    sample: { machine: false },
  },
  'email.clicked': {
    raisedBy: 'tracking',
    meaning: 'A tracked link was clicked.',
    fields: { url: { type: 'text', meaning: 'the link that was followed' }, machine: MACHINE },
    sample: { url: 'https://example.com/offer', machine: false },
  },
  'email.complained': {
    raisedBy: 'report',
    meaning: 'The recipient reported the message as spam.',
    fields: {},
    sample: { feedback_type: 'abuse' },
  },
  'email.unsubscribed': {
    raisedBy: 'report',
    meaning: 'The recipient used the unsubscribe link or header of the message.',
    fields: {},
    sample: {},
  },
  'email.cancelled': {
    raisedBy: 'transition',
    meaning: 'The message was cancelled before it left.',
    fields: {},
    sample: {},
  },
  'email.received': {
    raisedBy: 'change',
    meaning: 'An inbound route received a mail. A webhook has its content; the event feed has its id only.',
    fields: {},
    sample: RECEIVED,
  },
  'contact.subscribed': {
    raisedBy: 'change',
    meaning: 'A contact joined an audience.',
    fields: {},
    sample: { email: 'recipient@example.com' },
  },
  'contact.unsubscribed': {
    raisedBy: 'change',
    meaning: 'A contact left an audience.',
    fields: {},
    sample: { email: 'recipient@example.com' },
  },
  'domain.verified': {
    raisedBy: 'change',
    meaning: 'The DNS records of a sending domain were found.',
    fields: {},
    sample: {
      domain: 'example.com',
      domain_id: '01980000-0000-7000-8000-000000000000',
      verification_status: 'verified',
    },
  },
  'domain.degraded': {
    raisedBy: 'change',
    meaning: 'The DNS records of a verified domain are gone; it may send for 24 more hours.',
    fields: {},
    sample: {
      domain: 'example.com',
      domain_id: '01980000-0000-7000-8000-000000000000',
      verification_status: 'degraded',
    },
  },
  'domain.unaligned': {
    raisedBy: 'change',
    meaning:
      'DMARC reports name a source whose mail has the domain in From, and neither SPF nor DKIM is aligned with it. ' +
      'Once for each source in 90 days.',
    fields: {},
    sample: {
      domain: 'example.com',
      domain_id: '01980000-0000-7000-8000-000000000000',
      source_ip: '192.0.2.1',
      messages: 240,
    },
  },
  'account.paused': {
    raisedBy: 'change',
    meaning: 'A connected account can no longer sign in; its mail waits until it is connected again.',
    fields: {},
    sample: {
      account_id: '01980000-0000-7000-8000-000000000000',
      name: 'Office',
      username: 'office@example.com',
      reason: '535 5.7.8 Username and password not accepted',
    },
  },
} as const satisfies Record<string, EventTypeRow>

export type EventType = keyof typeof EVENT_TYPES

/** The types that this code may raise. */
export type EventTypeRaisedBy<Cause extends EventTypeRow['raisedBy']> = {
  [Type in EventType]: (typeof EVENT_TYPES)[Type]['raisedBy'] extends Cause ? Type : never
}[EventType]

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[]

/** Stands for all types, also those of later versions. */
export const ALL_TYPES = '*'

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(EVENT_TYPES, name)
}

/** The row of a type. An event that a newer version stored has a type that is not here: its row is empty. */
export function eventTypeRow(type: string): Omit<EventTypeRow, 'raisedBy'> {
  return isEventType(type) ? EVENT_TYPES[type] : { meaning: '', fields: {}, sample: {} }
}
