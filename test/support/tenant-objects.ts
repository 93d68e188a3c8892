/**
 * One of everything that a workspace can have, made through the API, so that a test can try to reach it from another one. `MARK` stands in
 * every text of it: where that shows up in somebody else's answer, something came through.
 */
import { assert } from 'chai'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { storeCapturedMail } from '#src/sandbox/inbox.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, textOf, type Json, type Tenant, type TestApi } from './api.ts'

export const MARK = 'zzmarkzz'

/** What an id can be of. Each has all the spellings that a client may know. */
export interface Belongings {
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
}

export type Kind = keyof Belongings

type Ask = (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Json>

/** `mark` is MARK, or another text where the tenant is not the one that is looked for. */
export async function fillTenant(api: TestApi, tenant: Tenant, mark: string): Promise<Belongings> {
  const as =
    (key: string): Ask =>
    async (method, path, body, headers = {}) => {
      const answer = await api.call(method, path, { key, ...(body === undefined ? {} : { body }), headers })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body
    }
  const [admin, regular] = [as(tenant.admin), as(tenant.regular)]
  const list = await admin('POST', '/public/audiences/add-audience', { name: `List ${mark}` })
  const audience = dataId(list)
  const email = `person-${mark}@people.example`
  const contact = dataId(
    await admin('POST', '/public/contacts/add-contact', {
      email,
      audience_id: audience,
      first_name: mark,
      tags: `tag-${mark}`,
      custom_attributes: { note: mark },
    }),
  )
  const template = dataId(
    await admin('POST', '/templates/save', { name: `T ${mark}`, subject: `S ${mark}`, body: `B ${mark}` }),
  )
  const partial = textOf(
    (await admin('POST', '/templates/partials/save', { name: `part-${mark}`, body: `P ${mark}` }))['data']?.['name'],
  )
  const webhook = dataId(
    await admin('POST', '/public/webhooks', { url: `https://hooks.example/${mark}`, events: '*', description: mark }),
  )
  const event = textOf((await admin('POST', `/public/webhooks/${webhook}/test`, {}))['data']?.['event_id'])
  const mail = {
    from: `me@${tenant.domain}`,
    to: email,
    subject: `S ${mark}`,
    body: `B ${mark}`,
    tags: [`tag-${mark}`],
  }
  const sent = await regular('POST', '/send-email/instant', mail, { 'idempotency-key': `once-${mark}` })
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  const scheduled = await regular('POST', '/send-email/schedule', { ...mail, scheduled_at: tomorrow })
  const segment = newId()
  await api.db.query(`INSERT INTO segments (id, workspace_id, name, filter) VALUES ($1, $2, $3, $4)`, [
    segment,
    tenant.workspaceId,
    `Seg ${mark}`,
    JSON.stringify({ tag: `tag-${mark}`, has: true }),
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
      raw: Buffer.from(mark),
    },
    [email],
    new Date(),
  )
  const suppression = `never-${mark}@people.example`
  await admin('POST', '/public/suppressions', { email: suppression, reason: mark })
  const minted = await admin('POST', '/public/domains/api-keys/create', {
    name: `K ${mark}`,
    custom_domain_id: tenant.domainId,
  })
  const account = dataId(
    await admin('POST', '/public/accounts', {
      name: `A ${mark}`,
      host: 'smtp.example.com',
      username: `me-${mark}@example.com`,
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
  const csv = `email,first_name\nfile-${mark}@people.example,${mark}\n`
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
    message: spellingsOf(sent),
    scheduled: spellingsOf(scheduled),
    captured: [captured],
    import: [dataId(file)],
    segment: [segment],
    suppression: [suppression],
    key: [textOf(minted['data']?.['api_key']?.['id'])],
    tag: [`tag-${mark}`],
    ...(await fillPlans(admin, { email, mark })),
    ...(await fillCampaigns(api, admin, { audience, mark, domain: tenant.domain })),
  }
}

type Sent = Pick<Belongings, 'campaign' | 'setCampaign' | 'sendingCampaign' | 'pausedCampaign' | 'doneCampaign'>

/** A draft that could be sent, and such as no worker is there for. */
async function fillCampaigns(
  api: TestApi,
  admin: Ask,
  { audience, mark, domain }: Omit<Plans, 'email'>,
): Promise<Sent> {
  const fields = {
    name: `C ${mark}`,
    subject: `S ${mark}`,
    body: `B ${mark} {{unsubscribeUrl}}`,
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

interface Plans {
  readonly audience: string
  readonly email: string
  readonly mark: string
  readonly domain: string
}

type Planned = Pick<Belongings, 'automation' | 'draft' | 'enrolment'>

async function fillPlans(admin: Ask, { email, mark }: Pick<Plans, 'email' | 'mark'>): Promise<Planned> {
  const steps = [
    { type: 'add_tag', tag: `tag-${mark}` },
    { type: 'delay', seconds: 3600 },
  ]
  const order = { name: `A ${mark}`, trigger_type: 'manual', steps }
  const automation = dataId(await admin('POST', '/public/automations/create', { ...order, status: 'active' }))
  const draft = dataId(await admin('POST', '/public/automations/create', order))
  await admin('POST', `/public/automations/add-automation/${automation}/enroll`, { email, properties: { note: mark } })
  const enrolled = await admin('GET', `/public/automations/get-automation/${automation}/subscribers`)
  const enrolment = textOf(listOf(enrolled['data']?.['subscribers'])[0]?.['id'])
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
