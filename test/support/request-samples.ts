/**
 * Valid requests for each route that takes an id or a name. Tests replace an id by one of another workspace, or mutate
 * the request. Every field that names an object must occur in a sample of its route, in each of its spellings;
 * tenants.test.ts checks this.
 */
import { DOMAIN_SAMPLES } from './dmarc-samples.ts'
import { INBOUND_SAMPLES } from './inbound-samples.ts'
import type { TenantIds } from './tenant-objects.ts'

export interface RequestSample {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** A text is a file of CSV. */
  readonly body?: object | string
  /** What is named only narrows: with another workspace's, nothing is found, and that is the answer. */
  readonly isFilter?: true
}

export type MakeSample = (own: TenantIds) => RequestSample

const byId =
  (kind: keyof TenantIds, rest: RequestSample = {}): MakeSample =>
  (own) => ({ ...rest, params: { id: own[kind] } })
const byQuery =
  (kind: keyof TenantIds, rest: RequestSample = {}): MakeSample =>
  (own) => ({ ...rest, query: { id: own[kind] } })

const MAIL = { subject: 'Hello', body: 'Hello' }
const SENDING: readonly MakeSample[] = [
  ({ sender, email }) => ({ body: { ...MAIL, from: sender, to: email } }),
  ({ sender, email, template }) => ({ body: { from: { email: sender }, to: [{ email }], template_id: template } }),
]
const completeMessage = (sender: string, email: string, fields = ''): string =>
  Buffer.from(`From: ${sender}\r\nTo: ${email}\r\nSubject: Hello\r\n${fields}\r\nHello\r\n`).toString('base64')
const later = new Date(Date.now() + 3_600_000).toISOString()
const SPELLINGS_OF_AUDIENCE = ['audience_id', 'audienceId'] as const
const SPELLINGS_OF_SEGMENT = ['segment_id', 'segmentId'] as const
const IN_AUDIENCE = SPELLINGS_OF_AUDIENCE.map((field): MakeSample => (own) => ({ query: { [field]: own.audience } }))
const IN_SEGMENT = SPELLINGS_OF_SEGMENT.map((field): MakeSample => (own) => ({ query: { [field]: own.segment } }))
const SPELLINGS_OF_AUDIENCES = ['audience_ids', 'audienceIds', ...SPELLINGS_OF_AUDIENCE] as const

const trigger = (audience: string): object => ({ type: 'contact_added_to_audience', config: { audience_id: audience } })
const steps = ({ sender, template, audience }: TenantIds): object[] => [
  { type: 'send_email', from: { email: sender }, template_id: template },
  { type: 'send_email', from_email: sender, templateId: template },
  { type: 'add_to_audience', audience_id: audience },
  { type: 'remove_from_audience', audienceId: audience },
]
const ADDED = { name: 'A', status: 'active', trigger_type: 'contact_added_to_audience' }
/** Active: what a draft names is judged when it is to run. */
const AUTOMATION: readonly MakeSample[] = [
  (own) => ({ body: { name: 'A', status: 'active', trigger: trigger(own.audience), steps: steps(own) } }),
  (own) => ({ body: { ...ADDED, trigger_config: { audience_id: own.audience }, steps: steps(own).slice(2) } }),
]
const CAMPAIGN: readonly MakeSample[] = [
  ...SPELLINGS_OF_AUDIENCES.map((field): MakeSample => ({ sender, audience }) => ({
    body: { ...MAIL, name: 'C', from: sender, [field]: audience },
  })),
  ...['template_id', 'templateId'].map((field): MakeSample => ({ sender, audience, template }) => ({
    body: { name: 'C', from: { email: sender }, audience_id: audience, [field]: template },
  })),
  ...SPELLINGS_OF_SEGMENT.map((field): MakeSample => ({ sender, audience, segment }) => ({
    body: { ...MAIL, name: 'C', from_email: sender, audience_id: audience, [field]: segment },
  })),
]
const SPELLINGS_OF_CONTACT = ['contact_id', 'contactId'] as const
const PREVIEWED: readonly MakeSample[] = [
  ...['id', 'template_id', 'templateId'].map((field): MakeSample => ({ template }) => ({
    body: { [field]: template },
  })),
  ...SPELLINGS_OF_CONTACT.map((field): MakeSample => ({ contact }) => ({ body: { ...MAIL, [field]: contact } })),
]
const withId = (makes: readonly MakeSample[], kind: keyof TenantIds): MakeSample[] =>
  makes.map((make) => (own) => ({ ...make(own), params: { id: own[kind] } }))
const SPELLINGS_OF_SUPPRESSED = ['email', 'address', 'emails', 'addresses', 'suppressions'] as const
const suppressionField = (field: string, value: string): object => ({
  [field]: field === 'email' || field === 'address' ? value : [value],
})

const inSegment =
  (field: string): MakeSample =>
  ({ audience, tag }) => ({ body: { name: 'S', filter: { tag, has: true }, [field]: audience } })
const inFilter: MakeSample = ({ audience }) => ({
  body: { name: 'S', filter: { status: 'subscribed', audienceId: audience } },
  isFilter: true,
})

export const REQUEST_SAMPLES: Readonly<Record<string, readonly MakeSample[]>> = {
  'send-instant': SENDING,
  'send-high': SENDING,
  'send-async': SENDING,
  'send-bulk': SENDING,
  'send-batch': SENDING.flatMap((make): MakeSample[] => [
    (own) => ({ body: { messages: [make(own).body] } }),
    (own) => ({ body: [make(own).body] }),
  ]),
  'send-raw': [
    ({ sender, email }) => ({ body: { raw: completeMessage(sender, email) } }),
    ({ sender, email, template }) => ({
      body: { raw: completeMessage(sender, email, `X-Template-Id: ${template}\r\n`), from: sender, to: [{ email }] },
    }),
  ],
  'schedule-email': [
    ...SENDING.map((make): MakeSample => (own) => ({
      ...make(own),
      body: { ...(make(own).body as object), scheduled_at: later },
    })),
    ...SENDING.map((make): MakeSample => (own) => ({ body: { email: make(own).body, scheduled_at: later } })),
  ],
  'cancel-scheduled': [byId('scheduled')],
  'change-scheduled': [
    byId('scheduled', { body: { scheduled_at: later, subject: 'Later' } }),
    ({ scheduled, template }) => ({ params: { id: scheduled }, body: { template_id: template } }),
    // an address that stays: the message is in lists of later tests
    ({ scheduled, sender }) => ({
      params: { id: scheduled },
      body: { from: { email: sender }, to: [{ email: 'anna@people.example' }], cc: 'bert@people.example' },
    }),
  ],
  'search-emails': [
    ({ message, setCampaign: id }) => ({ query: { cursor: message, campaign_id: id }, isFilter: true }),
    ({ tag }) => ({ query: { tag } }),
    ...['recipient', 'to'].map((field): MakeSample => ({ email }) => ({ query: { [field]: email } })),
    ...['sender', 'from'].map((field): MakeSample => ({ sender }) => ({ query: { [field]: sender }, isFilter: true })),
  ],
  'get-email': [byQuery('message'), byQuery('scheduled')],
  'get-email-by-path': [byId('message')],
  'list-events': [
    ...['after', 'cursor'].map((field): MakeSample => ({ event }) => ({ query: { [field]: event }, isFilter: true })),
    ...['email_id', 'message_id'].map((field): MakeSample => ({ message }) => ({
      query: { [field]: message },
      isFilter: true,
    })),
  ],
  'get-email-content': [byId('message')],
  'get-email-source': [byId('message')],
  'get-email-attempts': [byId('message')],
  'retry-email': [byId('message')],
  'cancel-email': [byId('message'), byId('scheduled')],
  'resend-email': [byId('message', { body: {} })],
  'get-captured-email': [byId('captured')],
  'get-captured-email-raw': [byId('captured')],
  'delete-captured-email': [byId('captured')],
  'explain-email': [byQuery('message'), byQuery('scheduled')],
  'explain-email-by-path': [byId('message')],
  'get-template': [byId('template')],
  'save-template': [({ template }) => ({ body: { ...MAIL, name: 'T', id: template } })],
  'delete-template': [byId('template')],
  'list-template-versions': [byId('template')],
  'compare-template-versions': [({ template }) => ({ params: { id: template, version: '1' }, query: { from: '1' } })],
  'get-template-version': [({ template }) => ({ params: { id: template, version: '1' } })],
  'get-partial': [({ partial }) => ({ params: { name: partial } })],
  'delete-partial': [({ partial }) => ({ params: { name: partial } })],
  'preview-template': PREVIEWED,
  'check-template': PREVIEWED,
  'test-template': SPELLINGS_OF_CONTACT.map((field): MakeSample => ({ template, contact, sender, email }) => ({
    params: { id: template },
    body: { from: { email: sender }, to: [{ email }], [field]: contact },
  })),
  'get-audience': [byQuery('audience')],
  'update-audience': [byQuery('audience', { body: { name: 'New' } })],
  'delete-audience': [byQuery('audience')],
  'get-contacts': IN_AUDIENCE,
  'get-contact': [
    byQuery('contact'),
    ({ email }) => ({ query: { email } }),
    ...SPELLINGS_OF_AUDIENCE.map((field): MakeSample => ({ contact, audience }) => ({
      query: { id: contact, [field]: audience },
    })),
  ],
  'get-contact-history': [byQuery('contact'), ({ email }) => ({ query: { email } })],
  'add-contact': SPELLINGS_OF_AUDIENCE.map((field) => (own) => ({ body: { email: own.email, [field]: own.audience } })),
  'update-contact': [
    ...SPELLINGS_OF_AUDIENCE.map((field): MakeSample => ({ contact, audience }) => ({
      query: { id: contact },
      body: { [field]: audience },
    })),
    ({ email }) => ({ query: { email }, body: { first_name: 'New' } }),
    ({ contact, email }) => ({ query: { id: contact }, body: { email } }),
  ],
  'delete-contact': [byQuery('contact'), ({ email }) => ({ query: { email } })],
  'create-automation': AUTOMATION,
  'get-automation': [byId('automation')],
  'show-automation': [byId('automation'), byId('draft')],
  'update-automation': [byId('automation', { body: { name: 'New' } }), ...withId(AUTOMATION, 'draft')],
  'delete-automation': [byId('draft')],
  'track-event': [({ email }) => ({ body: { email, event_name: 'bought' } })],
  'enroll-contact': [({ automation, email }) => ({ params: { id: automation }, body: { email } })],
  'unenroll-contact': [({ automation, email }) => ({ params: { id: automation }, body: { email } })],
  'get-automation-subscribers': [byId('automation')],
  'get-automation-subscriber': [({ automation: id, enrolment }) => ({ params: { id, subscriberId: enrolment } })],
  'get-automation-calls': [byId('automation')],
  'dry-run-automation': [({ automation, email }) => ({ params: { id: automation }, body: { email } })],
  'create-campaign': CAMPAIGN,
  'get-campaign': [byId('campaign')],
  'update-campaign': withId(CAMPAIGN, 'campaign'),
  'delete-campaign': [byId('campaign')],
  'preview-campaign': [byId('campaign')],
  'start-campaign': [byId('campaign', { body: { force: true } })],
  'schedule-campaign': [byId('campaign', { body: { scheduled_at: later, force: true } })],
  'recall-campaign': [byId('setCampaign')],
  'pause-campaign': [byId('sendingCampaign')],
  'resume-campaign': [byId('pausedCampaign')],
  'cancel-campaign': [byId('sendingCampaign')],
  'retry-campaign': [byId('doneCampaign')],
  'resend-campaign': [byId('doneCampaign')],
  'list-campaign-recipients': [byId('doneCampaign')],
  'export-campaign-recipients': [byId('doneCampaign')],
  ...DOMAIN_SAMPLES,
  'delete-domain': [byId('domain')],
  'rotate-dkim': [byId('domain')],
  'set-bimi': [byId('domain', { body: { logo_url: 'https://www.example.com/logo.svg' } })],
  'create-domain-key': [
    ...['custom_domain_id', 'domain_id'].map((field): MakeSample => ({ domain }) => ({
      body: { name: 'K', [field]: domain },
    })),
    ({ account }) => ({ body: { name: 'K', account_id: account } }),
  ],
  'get-api-key': [byId('key')],
  'change-api-key': [byId('key', { body: { name: 'New' } })],
  'rotate-api-key': [byId('key', { body: { overlap_seconds: 60 } })],
  'revoke-api-key': [byId('key')],
  'erase-person': [({ email }) => ({ body: { email } })],
  'get-erasure': [byQuery('erasure')],
  'export-person': [({ email }) => ({ body: { email } })],
  'import-suppressions': [
    ...['emails', 'addresses', 'suppressions'].map((field): MakeSample => ({ suppression }) => ({
      body: { [field]: [suppression, { email: suppression }, { address: suppression }] },
    })),
    ({ suppression }) => ({ body: `email\n${suppression}\n` }),
  ],
  'add-suppressions': SPELLINGS_OF_SUPPRESSED.map((field): MakeSample => ({ suppression }) => ({
    body: suppressionField(field, suppression),
  })),
  'list-suppressions': ['email', 'address', 'search', 'prefix'].map((field): MakeSample => ({ suppression }) => ({
    query: { [field]: suppression },
  })),
  'export-suppressions': ['search', 'prefix'].map((field): MakeSample => ({ suppression }) => ({
    query: { [field]: suppression },
  })),
  'get-suppression': [({ suppression }) => ({ params: { email: suppression } })],
  'delete-suppression': [({ suppression }) => ({ params: { email: suppression } })],
  'delete-suppressions': [
    ...SPELLINGS_OF_SUPPRESSED.map((field): MakeSample => ({ suppression }) => ({
      body: suppressionField(field, suppression),
    })),
    ...['email', 'address'].map((field): MakeSample => ({ suppression }) => ({ query: { [field]: suppression } })),
  ],
  'import-contacts': IN_AUDIENCE.map((make): MakeSample => (own) => ({ ...make(own), body: `email\n${own.email}\n` })),
  'export-contacts': [...IN_AUDIENCE, ...IN_SEGMENT],
  'search-contacts': [...IN_AUDIENCE, ...IN_SEGMENT],
  'get-contact-memberships': [byQuery('contact'), ({ email }) => ({ query: { email } })],
  'change-contacts': [
    ({ audience: audience_id, contact: id }) => ({ body: { ids: [id], audience_id, add_tags: ['a'] } }),
  ],
  'create-segment': [...SPELLINGS_OF_AUDIENCE.map(inSegment), inFilter],
  'preview-segment': [...SPELLINGS_OF_AUDIENCE.map(inSegment), inFilter],
  'get-segment': [byId('segment')],
  'list-segment-contacts': [byId('segment')],
  'update-segment': withId([...SPELLINGS_OF_AUDIENCE.map(inSegment), inFilter], 'segment'),
  'delete-segment': [byId('segment')],
  subscribe: [({ form, email }) => ({ params: { token: form }, body: { email } })],
  'subscribe-form': [({ form }) => ({ params: { token: form } })],
  'get-import': [byId('import')],
  'get-import-errors': [byId('import')],
  'cancel-import': [byId('import')],
  ...INBOUND_SAMPLES,
  'list-webhooks': [byQuery('webhook')],
  'get-webhook': [byId('webhook')],
  'update-webhook': [byId('webhook', { body: { description: 'New' } })],
  'update-webhook-by-query': [byQuery('webhook', { body: { description: 'New' } })],
  'delete-webhook': [byId('webhook')],
  'delete-webhook-by-query': [byQuery('webhook')],
  'create-account': [
    ({ email }) => ({ body: { host: 'smtp.example.com', username: 'me', password: 'p', addresses: email } }),
  ],
  'get-account': [byId('account')],
  'update-account': [
    byId('account', { body: { name: 'New' } }),
    ({ account, email }) => ({ params: { id: account }, body: { addresses: [email] } }),
  ],
  'delete-account': [byId('account')],
  'start-oauth': [
    ({ mailbox }) => ({ query: { account_id: mailbox } }),
    () => ({ query: { provider: 'corp', email: 'me@corp.example' } }),
  ],
  'resume-account': [byId('account')],
  'list-audit-log': [
    ({ audience }) => ({ query: { object_type: 'audience', object_id: audience }, isFilter: true }),
    ({ audience }) => ({ query: { cursor: audience }, isFilter: true }),
  ],
  'get-link-statistics': [
    ({ campaign }) => ({ query: { campaign_id: campaign }, isFilter: true }),
    ({ template }) => ({ query: { template_id: template }, isFilter: true }),
  ],
  'rotate-webhook-secret': [byId('webhook')],
  'list-webhook-deliveries': [({ webhook, event }) => ({ params: { id: webhook }, query: { event_id: event } })],
  'replay-webhook-delivery': [({ webhook, event }) => ({ params: { id: webhook, eventId: event } })],
  'test-webhook': [byId('webhook', { body: {} })],
}
