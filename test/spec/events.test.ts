/**
 * "Events": the event types, and the fields of the webhook body, as in the specification. test/flows covers their
 * delivery.
 */
import { assert } from 'chai'
import { buildOpenApi as describeApi } from '#api/openapi/openapi.ts'
import { ROUTES } from '#api/table.ts'
import { EVENT_TYPES } from '#src/events/catalogue.ts'
import { startApi, type TestApi } from '#test/support/api.ts'

const TYPES = [
  'email.queued',
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.deferred',
  'email.bounced',
  'email.failed',
  'email.opened',
  'email.clicked',
  'email.complained',
  'email.unsubscribed',
  'email.cancelled',
  'contact.subscribed',
  'contact.unsubscribed',
  'domain.verified',
  'domain.degraded',
]
const FIELDS = [
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
]
const MORE: Readonly<Record<string, readonly string[]>> = {
  'email.bounced': ['bounce_type', 'bounce_code', 'bounce_class', 'bounce_message'],
  'email.clicked': ['url', 'machine'],
  'email.opened': ['machine'],
}

interface DocumentedEvent {
  readonly webhooks: Readonly<
    Record<string, { readonly post: { readonly parameters: readonly { readonly name: string }[] } }>
  >
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties: object; readonly required: readonly string[] }>>
  }
}

describe('specification: events', () => {
  const { webhooks, components } = describeApi(ROUTES, 'http://localhost') as unknown as DocumentedEvent
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  it('has these types, those for connected accounts and received mail, and no others', () =>
    assert.sameMembers(Object.keys(EVENT_TYPES), [...TYPES, 'account.paused', 'domain.unaligned', 'email.received']))
  for (const type of TYPES) {
    const name = `${type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`
    it(`${type}: the fields of its body, all of them always there`, () => {
      const expected = [...FIELDS, ...(MORE[type] ?? [])].toSorted()
      assert.deepEqual(Object.keys(components.schemas[name]?.properties ?? {}).toSorted(), expected)
      assert.deepEqual([...(components.schemas[name]?.required ?? [])].toSorted(), expected)
    })
    it(`${type}: can be registered for, signed as Standard Webhooks say and simply`, async () => {
      const order = { url: 'https://hooks.example/', events: [type] }
      const { status, body } = await api.call('POST', '/public/webhooks', { key: api.admin, body: order })
      assert.deepEqual([status, body['data']?.['events']], [201, [type]])
      assert.deepEqual(
        webhooks[type]?.post.parameters.map((header) => header.name),
        ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'X-Webhook-Signature'],
      )
    })
  }
})
