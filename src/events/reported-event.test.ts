import { assert } from 'chai'
import { payloadOf, type ReportedEvent } from './reported-event.ts'

const EVENT: ReportedEvent = {
  id: '019a9a00-0000-7000-8000-0000000000aa',
  type: 'email.delivered',
  workspaceId: '019a9a00-0000-7000-8000-000000000001',
  messageId: '019a9a00-0000-7000-8000-0000000000bb',
  sequence: 3,
  recipient: 'anna@example.com',
  data: { code: 250, reply: '2.0.0 Ok' },
  createdAt: new Date('2031-01-02T03:04:05.678Z'),
  message: {
    to: [{ email: 'anna@example.com' }, { email: 'bob@example.com' }],
    subject: 'Grüße',
    metadata: { order: 7 },
    campaignId: null,
    createdAt: new Date('2031-01-02T03:04:00.000Z'),
  },
}
const COMMON = {
  id: 'evt_019a9a000000700080000000000000aa',
  type: 'email.delivered',
  event: 'email.delivered',
  timestamp: '2031-01-02T03:04:05.678Z',
  workspace_id: EVENT.workspaceId,
  email_id: 'em_019a9a000000700080000000000000bb',
  message_id: 'msg_1925089440000_019a9a000000700080000000000000bb',
  recipient: 'anna@example.com',
  to: ['anna@example.com', 'bob@example.com'],
  subject: 'Grüße',
  sequence: 3,
  metadata: { order: 7 },
}
const BOUNCE = {
  bounce_type: 'hard',
  bounce_code: '5.1.1',
  bounce_class: 'unknown-user',
  bounce_message: '5.1.1 No such user',
  bounce_scope: 'recipient',
}

const cases: readonly (readonly [string, Partial<ReportedEvent>, object])[] = [
  ['a delivery', {}, { ...COMMON, data: { code: 250, reply: '2.0.0 Ok' } }],
  [
    'a bounce has its fields at the top and in data',
    { type: 'email.bounced', data: BOUNCE },
    {
      ...COMMON,
      type: 'email.bounced',
      event: 'email.bounced',
      bounce_type: 'hard',
      bounce_code: '5.1.1',
      bounce_class: 'unknown-user',
      bounce_message: '5.1.1 No such user',
      data: BOUNCE,
    },
  ],
  [
    'a bounce that lacks some of them',
    { type: 'email.bounced', data: { bounce_type: 'soft' } },
    {
      ...COMMON,
      type: 'email.bounced',
      event: 'email.bounced',
      bounce_type: 'soft',
      bounce_code: null,
      bounce_class: null,
      bounce_message: null,
      data: { bounce_type: 'soft' },
    },
  ],
  [
    'a click',
    { type: 'email.clicked', data: { url: 'https://x.example/', machine: true } },
    {
      ...COMMON,
      type: 'email.clicked',
      event: 'email.clicked',
      url: 'https://x.example/',
      machine: true,
      data: { url: 'https://x.example/', machine: true },
    },
  ],
  [
    'an open',
    { type: 'email.opened', data: { machine: false } },
    { ...COMMON, type: 'email.opened', event: 'email.opened', machine: false, data: { machine: false } },
  ],
  [
    'no metadata and no data',
    { data: null, message: { ...EVENT.message!, metadata: null } },
    { ...COMMON, metadata: {}, data: {} },
  ],
  [
    'mail of a campaign',
    { data: { code: 250 }, message: { ...EVENT.message!, campaignId: EVENT.workspaceId } },
    { ...COMMON, data: { code: 250, campaign_id: EVENT.workspaceId } },
  ],
  [
    'a message that is no longer stored',
    { message: null, data: null },
    {
      ...COMMON,
      message_id: 'msg_1763520282624_019a9a000000700080000000000000bb',
      to: null,
      subject: null,
      metadata: {},
      data: {},
    },
  ],
  [
    'an event of no message',
    {
      type: 'domain.verified',
      messageId: null,
      message: null,
      sequence: null,
      recipient: null,
      data: { domain: 'example.com' },
    },
    {
      ...COMMON,
      type: 'domain.verified',
      event: 'domain.verified',
      email_id: null,
      message_id: null,
      recipient: null,
      to: null,
      subject: null,
      sequence: null,
      metadata: {},
      data: { domain: 'example.com' },
    },
  ],
  [
    'a type of a newer version',
    { type: 'email.teleported' },
    { ...COMMON, type: 'email.teleported', event: 'email.teleported', data: { code: 250, reply: '2.0.0 Ok' } },
  ],
]

describe('webhook bodies', () => {
  for (const [name, change, expected] of cases)
    it(name, () => assert.deepEqual(JSON.parse(payloadOf({ ...EVENT, ...change })), expected))

  it('have the fields of the API contract in a fixed order', () => {
    assert.deepEqual(Object.keys(JSON.parse(payloadOf(EVENT)) as object), [
      'id',
      'type',
      'event',
      'timestamp',
      'workspace_id',
      'email_id',
      'message_id',
      'recipient',
      'to',
      'subject',
      'sequence',
      'metadata',
      'data',
    ])
  })
})
