/**
 * Creates one of each object that a workspace can have, through the API, so that tests can try to access it from
 * another workspace. `MARKER` is in every text of these objects: when it appears in another workspace's response, data
 * leaked.
 */
import { assert } from 'chai'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { storeCapturedMail } from '#src/sandbox/inbox.ts'
import { sql } from '#src/stores/sql.ts'
import { createInboundMail, type InboundObjects } from './inbound-samples.ts'
import { listOf, textOf, type Json, type Tenant, type TestApi } from './api.ts'

export const MARKER = 'zzmarkzz'

/** What an id can be of. Each has all the spellings that a client may know. */
export interface TenantObjects extends InboundObjects {
  readonly audience: readonly string[]
  /** The token of its public form. */
  readonly form: readonly string[]
  readonly contact: readonly string[]
  readonly email: readonly string[]
  readonly template: readonly string[]
  /** The name of a partial. */
  readonly partial: readonly string[]
  readonly domain: readonly string[]
  /** Connected accounts: SMTP credentials, and a mailbox of the provider `corp`. */
  readonly account: readonly string[]
  readonly mailbox: readonly string[]
  /** An address of the domain. */
  readonly sender: readonly string[]
  readonly webhook: readonly string[]
  readonly event: readonly string[]
  readonly automation: readonly string[]
  readonly draft: readonly string[]
  readonly enrolment: readonly string[]
  readonly campaign: readonly string[]
  /** Campaigns that are SCHEDULED, SENDING, PAUSED and COMPLETED. */
  readonly setCampaign: readonly string[]
  readonly sendingCampaign: readonly string[]
  readonly pausedCampaign: readonly string[]
  readonly doneCampaign: readonly string[]
  readonly message: readonly string[]
  readonly scheduled: readonly string[]
  readonly captured: readonly string[]
  readonly import: readonly string[]
  readonly segment: readonly string[]
  readonly suppression: readonly string[]
  /** The id of an API key. */
  readonly key: readonly string[]
  readonly tag: readonly string[]
  /** The id of an erasure of a person. */
  readonly erasure: readonly string[]
}

export type TenantObjectKind = keyof TenantObjects

type CallApi = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Json>

/** `mark` is MARK, or another text where the tenant is not the one that is looked for. */
export async function createTenantObjects(api: TestApi, tenant: Tenant, marker: string): Promise<TenantObjects> {
  const as =
    (key: string): CallApi =>
    async (method, path, body, headers = {}) => {
      const answer = await api.call(method, path, { key, ...(body === undefined ? {} : { body }), headers })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body
    }
  const [admin, regular] = [as(tenant.admin), as(tenant.regular)]
  const list = await admin('POST', '/public/audiences/add-audience', { name: `List ${marker}` })
  const audience = dataId(list)
  const email = `person-${marker}@people.example`
  const contact = dataId(
    await admin('POST', '/public/contacts/add-contact', {
      email,
      audience_id: audience,
      first_name: marker,
      tags: `tag-${marker}`,
      custom_attributes: { note: marker },
    }),
  )
  const template = dataId(
    await admin('POST', '/templates/save', { name: `T ${marker}`, subject: `S ${marker}`, body: `B ${marker}` }),
  )
  const partial = textOf(
    (await admin('POST', '/templates/partials/save', { name: `part-${marker}`, body: `P ${marker}` }))['data']?.[
      'name'
    ],
  )
  const webhook = dataId(
    await admin('POST', '/public/webhooks', {
      url: `https://hooks.example/${marker}`,
      events: '*',
      description: marker,
    }),
  )
  const event = textOf((await admin('POST', `/public/webhooks/${webhook}/test`, {}))['data']?.['event_id'])
  const mail = {
    from: `me@${tenant.domain}`,
    to: email,
    subject: `S ${marker}`,
    body: `B ${marker}`,
    tags: [`tag-${marker}`],
  }
  const sent = await regular('POST', '/send-email/instant', mail, { 'idempotency-key': `once-${marker}` })
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  const scheduled = await regular('POST', '/send-email/schedule', { ...mail, scheduled_at: tomorrow })
  const segment = newId()
  await api.db.query(`INSERT INTO segments (id, workspace_id, name, filter) VALUES ($1, $2, $3, $4)`, [
    segment,
    tenant.workspaceId,
    `Seg ${marker}`,
    JSON.stringify({ tag: `tag-${marker}`, has: true }),
  ])
  const [captured = ''] = await storeCapturedMail(
    api.db,
    {
      mailFrom: '',
      headerFrom: mail.from,
      subject: mail.subject,
      messageId: messageIdOf(textOf(sent['id'])),
      tls: null,
      dkim: [],
      raw: Buffer.from(marker),
    },
    [email],
    new Date(),
  )
  const suppression = `never-${marker}@people.example`
  await admin('POST', '/public/suppressions', { email: suppression, reason: marker })
  const erasure = dataId(
    await admin('POST', '/public/privacy/erase-person', { email: `gone-${marker}@people.example` }),
  )
  const createdKey = await admin('POST', '/public/domains/api-keys/create', {
    name: `K ${marker}`,
    custom_domain_id: tenant.domainId,
  })
  const account = dataId(
    await admin('POST', '/public/accounts', {
      name: `A ${marker}`,
      host: 'smtp.example.com',
      username: `me-${marker}@example.com`,
      password: 'p',
    }),
  )
  const mailbox = newId()
  await api.db.query(
    sql`
      INSERT INTO connected_accounts
      SELECT $1, workspace_id, 'oauth', 'corp', name, host, port, security, username, addresses, secret, 1, NULL, NULL,
        NULL, NULL, 'active', NULL, NULL, 1, 1
      FROM connected_accounts
      WHERE id = $2
    `,
    [mailbox, account],
  )
  const csv = `email,first_name\nfile-${marker}@people.example,${marker}\n`
  const file = await admin('POST', `/public/contacts/import?audienceId=${audience}`, csv, {
    'content-type': 'text/csv',
  })
  return {
    audience: [audience],
    form: [textOf(list['data']?.['subscribeUrl']).replace(/^.*\//, '')],
    contact: [contact],
    email: [email],
    template: [template],
    partial: [partial],
    domain: [tenant.domainId, tenant.domain],
    account: [account],
    mailbox: [mailbox],
    sender: [mail.from],
    webhook: [webhook],
    event: [event],
    ...(await createInboundMail(api, admin, { domain: tenant.domain, workspaceId: tenant.workspaceId, marker })),
    message: spellingsOf(sent),
    scheduled: spellingsOf(scheduled),
    captured: [captured],
    import: [dataId(file)],
    segment: [segment],
    suppression: [suppression],
    key: ['id', 'key_id'].map((field) => textOf(createdKey['data']?.['api_key']?.[field])),
    tag: [`tag-${marker}`],
    erasure: [erasure],
    ...(await createAutomations(admin, { email, marker })),
    ...(await createCampaigns(api, admin, { audience, marker, domain: tenant.domain })),
  }
}

type CampaignObjects = Pick<
  TenantObjects,
  'campaign' | 'setCampaign' | 'sendingCampaign' | 'pausedCampaign' | 'doneCampaign'
>

/** A draft that could be sent, and such as no worker is there for. */
async function createCampaigns(
  api: TestApi,
  admin: CallApi,
  { audience, marker, domain }: Omit<CampaignFields, 'email'>,
): Promise<CampaignObjects> {
  const fields = {
    name: `C ${marker}`,
    subject: `S ${marker}`,
    body: `B ${marker} {{unsubscribeUrl}}`,
    from: `me@${domain}`,
    audience_ids: [audience],
  }
  const made = async (status: string): Promise<string[]> => {
    const id = dataId(await admin('POST', '/public/campaigns', fields))
    await api.db.query('UPDATE campaigns SET status = $2, scheduled_at = now() WHERE id = $1', [id, status])
    return [id]
  }
  return {
    campaign: await made('DRAFT'),
    setCampaign: await made('SCHEDULED'),
    sendingCampaign: await made('SENDING'),
    pausedCampaign: await made('PAUSED'),
    doneCampaign: await made('COMPLETED'),
  }
}

interface CampaignFields {
  readonly audience: string
  readonly email: string
  readonly marker: string
  readonly domain: string
}

type AutomationObjects = Pick<TenantObjects, 'automation' | 'draft' | 'enrolment'>

async function createAutomations(
  admin: CallApi,
  { email, marker }: Pick<CampaignFields, 'email' | 'marker'>,
): Promise<AutomationObjects> {
  const steps = [
    { type: 'add_tag', tag: `tag-${marker}` },
    { type: 'delay', seconds: 3600 },
  ]
  const fields = { name: `A ${marker}`, trigger_type: 'manual', steps }
  const automation = dataId(await admin('POST', '/public/automations/create', { ...fields, status: 'active' }))
  const draft = dataId(await admin('POST', '/public/automations/create', fields))
  await admin('POST', `/public/automations/add-automation/${automation}/enroll`, {
    email,
    properties: { note: marker },
  })
  const subscribers = await admin('GET', `/public/automations/get-automation/${automation}/subscribers`)
  const enrolment = textOf(listOf(subscribers['data']?.['subscribers'])[0]?.['id'])
  return { automation: [automation], draft: [draft], enrolment: [enrolment] }
}

function dataId(answer: Json): string {
  return textOf(answer['data']?.['id'])
}

/** `msg_…`, `em_…`, `scheduled_msg_…`, the bare suffix, and the UUID that it is. */
function spellingsOf(sent: Json): string[] {
  const id = textOf(sent['id'])
  const hex = id.slice(id.lastIndexOf('_') + 1)
  const time = /msg_(\d+)_/.exec(id)?.[1] ?? '0'
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return [id, `msg_${time}_${hex}`, `em_${hex}`, `scheduled_msg_${time}_${hex}`, hex, uuid]
}

/** The first spelling of each kind. */
export type TenantIds = Readonly<Record<keyof TenantObjects, string>>

/** The first spelling of each. */
export function firstIds(objects: TenantObjects): TenantIds {
  return Object.fromEntries(Object.entries(objects).map(([kind, [first]]) => [kind, first])) as TenantIds
}
