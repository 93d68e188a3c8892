/** "Resources and their fields": each field of each table in the specification is checked in a real response. */
import { assert } from 'chai'
import { startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const texts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === 'string')
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The types that the tables name. */
const TYPES = {
  uuid: (value) => UUID.test(String(value)),
  string: (value) => typeof value === 'string',
  'string[]': texts,
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === 'number' && value >= 0 && value <= 1,
  boolean: (value) => typeof value === 'boolean',
  datetime: (value) => MOMENT.test(String(value)),
  object: isObject,
  url: (value) => URL.canParse(String(value)),
  array: Array.isArray,
} satisfies Record<string, (value: unknown) => boolean>

/** A type; with `?` after it, null where the value is not known yet. `=` begins the value itself. */
type Row = readonly [field: string, type: `${keyof typeof TYPES}${'' | '?'}` | `=${string}` | RegExp]

function checkField(found: Json, [field, type]: Row): void {
  const value: unknown = field.split('.').reduce<Json | undefined>((at, key) => at?.[key], found)
  const message = `${field}: ${JSON.stringify(value)}`
  assert.ok(value !== undefined, message)
  if (type instanceof RegExp) assert.match(textOf(value), type, message)
  else if (type.startsWith('='))
    assert.strictEqual(typeof value === 'string' ? value : JSON.stringify(value), type.slice(1), message)
  else
    assert.ok(
      (type.endsWith('?') && value === null) || TYPES[type.replace('?', '') as keyof typeof TYPES](value),
      message,
    )
}

const HEAD: readonly Row[] = [
  ['from', 'string'],
  ['to', 'string[]'],
  ['subject', 'string'],
  ['created_at', 'datetime'],
  ['metadata.priority', 'string'],
  ['metadata.estimated_delivery', 'string'],
  ['metadata.recipients_count', 'integer'],
]
const SHAPE_A: readonly Row[] = [['id', /^msg_\d+_[0-9a-f]+$/], ['object', '=email'], ['status', '=queued'], ...HEAD]
const SHAPE_B: readonly Row[] = [
  ['success', '=true'],
  ['message', 'string'],
  ['email_id', /^em_[0-9a-f]+$/],
  ['queue', '=async'],
  ['estimated_delivery', 'string'],
]
const SUPERSET: readonly Row[] = [
  ['data.id', /^msg_/],
  ['data.job_id', 'string'],
  ['data.status', '=queued'],
  ['data.priority', '=normal'],
  ['data.recipients', '=1'],
]
const SCHEDULED: readonly Row[] = [
  ['id', /^scheduled_msg_\d+_[0-9a-f]+$/],
  ['object', '=scheduled_email'],
  ['status', '=scheduled'],
  ['scheduled_at', 'datetime'],
  ['timezone', '=Europe/Berlin'],
  ...HEAD,
]
const AUDIENCE_A: readonly Row[] = [
  ['id', 'uuid'],
  ['name', '=News'],
  ['contactCount', 'integer'],
  ['subscribeUrl', /\/s\/[\w-]+$/],
  ['createdAt', 'datetime'],
]
const AUDIENCE_B: readonly Row[] = [
  ['id', 'uuid'],
  ['name', '=News'],
  ['description', 'string?'],
  ['contact_count', 'integer'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
]
const SLIM_CONTACT: readonly Row[] = [
  ['id', 'uuid'],
  ['email', '=anna@b.example'],
  ['firstName', '=Anna'],
  ['lastName', '=Berg'],
  ['companyName', '=Acme'],
  ['jobTitle', '=Baker'],
  ['phoneNumber', 'string'],
  ['status', '=subscribed'],
  ['tags', 'string[]'],
]
const FULL_CONTACT: readonly Row[] = [
  ...SLIM_CONTACT,
  ['linkedin', 'url'],
  ['timezone', '=Europe/Berlin'],
  ['deliverabilityScore', 'number?'],
  ['emailVerificationDate', 'datetime?'],
  ['customHeaders', 'object?'],
  ['customAttributes', 'object'],
  ['createdAt', 'datetime'],
  ['updatedAt', 'datetime'],
  ['globalStatus', '=subscribed'],
  ['first_name', '=Anna'],
  ['custom_attributes.cake', '=yes'],
]
const DOMAIN: readonly Row[] = [
  ['id', 'uuid'],
  ['domain', '=spec.example'],
  ['verification_status', '=pending'],
  ['mail_from_status', 'string'],
  ['region', '=us-east-1'],
  ['dns_records', 'array'],
  ['registrar', 'string?'],
  ['dns_provider', 'string?'],
  ['verified_at', 'datetime?'],
]
const LISTED_DOMAIN: readonly Row[] = [
  ...DOMAIN,
  ['registrar_name', 'string?'],
  ['registrar_iana_id', 'string?'],
  ['registrar_last_checked_at', 'datetime?'],
]
const DNS_RECORD: readonly Row[] = [
  ['type', '=TXT'],
  ['name', 'string'],
  ['value', 'string'],
  ['priority', 'integer?'],
]
const CHECKED_DOMAIN: readonly Row[] = [
  ['id', 'uuid'],
  ['domain', '=spec.example'],
  ['status', '=pending'],
  ['message', 'string'],
  ['verified_at', 'datetime?'],
  ['checks', 'object'],
]
const DOMAIN_KEY: readonly Row[] = [
  ['api_key.id', 'uuid'],
  ['api_key.key_id', 'string'],
  ['api_key.name', '=shop'],
  ['api_key.is_active', '=true'],
  ['api_key.expires_at', 'datetime'],
  ['api_key.created_at', 'datetime'],
  ['secret_key', /^[a-z]+_[a-f0-9]+\.live_[a-f0-9]+$/],
]
const AUTOMATION: readonly Row[] = [
  ['id', 'uuid'],
  ['name', '=Welcome'],
  ['status', '=active'],
  ['trigger_type', '=contact_event'],
  ['trigger_config.event_name', '=signup'],
  ['enrolled_count', 'integer'],
  ['completed_count', 'integer'],
  ['created_at', 'datetime'],
  ['updated_at', 'datetime'],
]
const ENVELOPE: readonly Row[] = [
  ['success', '=true'],
  ['message', 'string'],
  ['data', 'object'],
]

describe('specification: resources and their fields', () => {
  let api: TestApi
  let dns: TestDns
  const found: Record<string, Json> = {}

  const get = async (path: string, key = api.admin): Promise<Json> => (await api.call('GET', path, { key })).body
  const post = async (path: string, body: object, key = api.admin): Promise<Json> =>
    (await api.call('POST', path, { key, body })).body
  const dataOf = (answer: Json): Json => answer['data'] ?? assert.fail(JSON.stringify(answer))
  const first = (list: Json | undefined): Json => list?.['0'] ?? assert.fail('the list is empty')

  before(async () => {
    dns = await startDns({})
    api = await startApi({ DNS_SERVERS: dns.server, MAILSTEAD_HOSTNAME: 'mail.operator.example' })
    await readSending()
    await readContacts()
    await readDomains()
    await readAutomations()
  })
  after(async () => {
    await api.stop()
    await dns.stop()
  })

  async function readSending(): Promise<void> {
    const message = { from: `me@${api.domain}`, to: ['a@b.example'], subject: 's', body: 'x' }
    found['queued email'] = await post('/send-email/async', message, api.regular)
    const at = new Date(Date.now() + 86_400_000).toISOString()
    found['scheduled email'] = await post(
      '/send-email/schedule',
      { ...message, scheduled_at: at, timezone: 'Europe/Berlin' },
      api.regular,
    )
  }

  async function readContacts(): Promise<void> {
    found['envelope'] = await post('/public/audiences/add-audience', { name: 'News' })
    const { id } = dataOf(found['envelope'])
    await post('/public/contacts/add-contact', {
      email: 'anna@b.example',
      audience_id: id,
      first_name: 'Anna',
      last_name: 'Berg',
      company_name: 'Acme',
      job_title: 'Baker',
      phone_number: '+49 30 1234',
      linkedin: 'https://www.linkedin.com/in/anna',
      timezone: 'Europe/Berlin',
      tags: 'a|b',
      custom_attributes: { cake: 'yes' },
    })
    const audience = textOf(id)
    found['audience'] = dataOf(await get(`/public/audiences/get-audience?id=${audience}`))
    found['listed audience'] = first(dataOf(await get('/public/audiences/get-audiences'))['audiences'])
    found['slim contact'] = first(dataOf(await get(`/public/contacts/get-contacts?audienceId=${audience}`))['contacts'])
    found['full contact'] = dataOf(await get('/public/contacts/get-contact?email=anna%40b.example'))
  }

  async function readDomains(): Promise<void> {
    found['domain'] = dataOf(await post('/public/domains/add-domain', { domain: 'spec.example' }))
    const id = textOf(found['domain']['id'])
    found['DNS record'] = first(found['domain']['dns_records'])
    found['domain status'] = dataOf(await get(`/public/domains/domain-status/${id}`))
    found['checked domain'] = dataOf(await post(`/public/domains/verify-domain/${id}`, {}))
    const listed = dataOf(await get('/public/domains/get-domains')) as unknown as Json[]
    found['listed domain'] = listed.find((one) => textOf(one['id']) === id) ?? assert.fail('it is not in the list')
    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const order = { name: 'shop', custom_domain_id: api.domainId, expires_at: expires }
    found['domain key'] = dataOf(await post('/public/domains/api-keys/create', order))
  }

  async function readAutomations(): Promise<void> {
    const made = dataOf(
      await post('/public/automations/create', {
        name: 'Welcome',
        trigger_type: 'contact_event',
        trigger_config: { event_name: 'signup' },
        steps: [{ type: 'exit' }],
        status: 'active',
      }),
    )
    found['automation'] = dataOf(await get(`/public/automations/get-automation/${textOf(made['id'])}`))
  }

  const TABLES: readonly (readonly [table: string, seen: string, rows: readonly Row[]])[] = [
    ['Queued email, shape A', 'queued email', SHAPE_A],
    ['Queued email, shape B', 'queued email', SHAPE_B],
    ['Queued email, the superset of the contract', 'queued email', SUPERSET],
    ['Scheduled email', 'scheduled email', SCHEDULED],
    ['Audience, variant A', 'audience', AUDIENCE_A],
    ['Audience, variant B', 'audience', AUDIENCE_B],
    ['Audience in a list, variant A', 'listed audience', AUDIENCE_A],
    ['Audience in a list, variant B', 'listed audience', AUDIENCE_B],
    ['Full contact', 'full contact', FULL_CONTACT],
    ['Slim contact', 'slim contact', SLIM_CONTACT],
    ['Domain, from add-domain', 'domain', DOMAIN],
    ['Domain, from domain-status', 'domain status', DOMAIN],
    ['Domain, from verify-domain', 'checked domain', CHECKED_DOMAIN],
    ['Domain, from get-domains', 'listed domain', LISTED_DOMAIN],
    ['DNS record', 'DNS record', DNS_RECORD],
    ['Domain API key', 'domain key', DOMAIN_KEY],
    ['Automation', 'automation', AUTOMATION],
    ['Response envelope', 'envelope', ENVELOPE],
  ]
  for (const [table, seen, rows] of TABLES)
    describe(table, () => {
      for (const row of rows)
        it(`${row[0]}: ${String(row[1])}`, () => {
          const value = found[seen]
          assert.ok(value !== undefined)
          checkField(value, row)
        })
    })

  it('names one message in all its forms of an id', async () => {
    const { id, email_id: email } = found['queued email'] ?? assert.fail()
    const suffix = textOf(email).slice('em_'.length)
    for (const name of [textOf(id), textOf(email), `scheduled_msg_1_${suffix}`]) {
      const answer = await get(`/public/emails/get-email?id=${name}`, api.regular)
      assert.strictEqual(textOf(dataOf(answer)['email_id']), email, name)
    }
  })
})
