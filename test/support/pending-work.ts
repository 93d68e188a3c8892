/**
 * Creates all kinds of work that only needs a running process to continue, exactly once: mail, campaigns in every
 * state, contacts in automations, webhooks, automation calls, tracking hits, reports and operator actions. The steps
 * follow the order in which test/faults/cold-start.test.ts kills the processes.
 */
import { assert } from 'chai'
import { idOfHex, newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createLinks } from '#src/tracking/links.ts'
import { request, textOf } from './api.ts'
import { addAudience, addMembers, createCampaignClient } from './campaign.ts'
import { dsnOf } from './reports.ts'
import {
  ACCOUNT,
  callAsAdmin,
  connectAccount,
  FAR_FUTURE,
  PASSWORD,
  sendAs,
  suspend,
  type HeldMessage,
  type ColdStartSetup,
} from './stored-messages.ts'
import { until } from './until.ts'

const BROWSER = {
  'user-agent':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
}
const MINUTES_PER_WEEK = 10_080
const AUDIENCE_MEMBERS = 3

export const uuidOf = (emailId: string): string => idOfHex(emailId.slice(-32))

/** Two settled messages: one that a reader opens later, one that bounces later. */
export interface SettledMail {
  readonly opened: string
  readonly bouncing: string
}

/** Creates mail in every final state. All processes run. */
export async function sendSettledMail(setup: ColdStartSetup): Promise<SettledMail> {
  const {
    testbed,
    testbed: { system },
    endpoint,
  } = setup
  await testbed.addReceiver('fine.example')
  await testbed.addReceiver('told.example', { on: { rcpt: '550 5.7.1 Your address is on a blocklist' } })
  await testbed.addReceiver('brokentls.example', { handshake: 'rubbish', messagesPerConnection: 1 })
  await testbed.addReceiver('slow.example')
  for (const path of ['hook', 'off'])
    await callAsAdmin(setup, 'POST', '/webhooks', { url: `${endpoint.url}/${path}`, events: ['*'] })
  await callAsAdmin(setup, 'POST', '/suppressions', { email: 'never@fine.example', reason: 'x' })
  for (const name of ['given', 'dropped']) {
    await suspend(setup, { domain: `${name}.example` }, 'for good')
    const id = await testbed.send({ to: `a@${name}.example` })
    const path = name === 'given' ? '/queue/bounce' : '/queue/drop'
    await request('POST', `${system.url}/api/v1/admin${path}`, {
      key: system.config.adminToken,
      body: { domain: `${name}.example` },
    })
    await testbed.settle(id)
  }
  const key = await connectAccount(setup, PASSWORD)
  await testbed.settle(await sendAs(setup, key, { from: ACCOUNT, to: 'first@far.example' }), 'sent')
  const opened = await testbed.send({ to: 'opened@fine.example', html: '<p>x</p>', track_opens: true })
  const bouncing = await testbed.send({ to: 'bouncing@fine.example' })
  const others = ['never@fine.example', 'a@told.example', 'a@brokentls.example', 'a@capture.mta.sender.example']
  for (const id of [opened, bouncing, ...(await Promise.all(others.map((to) => testbed.send({ to }))))])
    await testbed.settle(id)
  await completeCampaign(setup)
  return { opened: uuidOf(opened), bouncing: uuidOf(bouncing) }
}

const campaignOf = ({ testbed: { system } }: ColdStartSetup) => createCampaignClient(system)

async function findOrAddAudience({ testbed: { system } }: ColdStartSetup): Promise<string> {
  const {
    rows: [row],
  } = await system.db.query<{ id: string }>('SELECT id FROM audiences')
  if (row !== undefined) return row.id
  const id = await addAudience(system)
  await addMembers(system, id, { count: AUDIENCE_MEMBERS, domain: 'fine.example', prefix: 'member' })
  return id
}

async function completeCampaign(setup: ColdStartSetup): Promise<void> {
  const campaigns = campaignOf(setup)
  const id = await campaigns.create({ audience_ids: [await findOrAddAudience(setup)], subject: 'COMPLETED' })
  await campaigns.move(id, 'start', { force: true })
  await campaigns.settle(id)
}

/** Starts campaigns and enrols contacts. Api and worker run. */
export async function startWork(setup: ColdStartSetup): Promise<HeldMessage> {
  const {
    testbed: {
      system: { db },
    },
  } = setup
  const campaigns = campaignOf(setup)
  const audience = await findOrAddAudience(setup)
  const create = (subject: string, more: object = {}): Promise<string> =>
    campaigns.create({ audience_ids: [audience], subject, ...more })
  await create('DRAFT')
  await campaigns.move(await create('SCHEDULED'), 'schedule', { scheduled_at: FAR_FUTURE, force: true })
  await db.query(`UPDATE campaigns SET status = 'FAILED', reason = 'x', ended_at = now() WHERE id = $1`, [
    await create('FAILED'),
  ])
  const started = new Map<string, string>()
  for (const subject of ['SENT', 'CANCELLED', 'SENDING', 'PAUSED', 'STOPPED']) {
    const id = await create(
      subject,
      ['SENT', 'CANCELLED'].includes(subject) ? {} : { spread_minutes: MINUTES_PER_WEEK },
    )
    await campaigns.move(id, 'start', { force: true })
    started.set(subject, id)
  }
  const isWritten = async (): Promise<boolean> =>
    (await db.query('SELECT FROM campaigns WHERE is_written')).rows.length === started.size + 1
  await until(isWritten, () => 'the ledgers are not written')
  await db.query(`UPDATE campaign_recipients SET sends_at = now() WHERE is_waiting AND email LIKE 'member1@%'`)
  const isUnderWay = async (): Promise<boolean> =>
    (
      await db.query(
        `SELECT FROM campaign_recipients WHERE message_id IS NOT NULL GROUP BY campaign_id HAVING count(*) > 0`,
      )
    ).rows.length ===
    started.size + 1
  await until(isUnderWay, () => 'the campaigns do not begin')
  await campaigns.move(started.get('PAUSED') ?? '', 'pause')
  await suspend(setup, { campaign: started.get('STOPPED') }, 'too loud')
  const {
    rows: [row],
  } = await db.query<{ id: string }>(
    'SELECT message_id AS id FROM campaign_recipients WHERE campaign_id = $1 AND message_id IS NOT NULL',
    [started.get('STOPPED')],
  )
  await enrolContacts(setup)
  return {
    cause: 'a campaign',
    id: `em_${(row?.id ?? '').replaceAll('-', '')}`,
    explanation: /its campaign .* suspended by the operator: too loud/,
  }
}

async function enrolContacts(setup: ColdStartSetup): Promise<void> {
  const {
    testbed: {
      system: { db },
    },
    endpoint,
  } = setup
  const mail = (subject: string): object => ({
    type: 'send_email',
    id: 'm',
    subject,
    body: '<p>x</p>',
    from: 'shop@sender.example',
  })
  const plans: Readonly<Record<string, readonly object[]>> = {
    late: [{ type: 'delay', seconds: 3600 }, mail('late')],
    waiting: [
      {
        type: 'wait_for_event',
        id: 'w',
        event_name: 'paid',
        seconds: 3600,
        yes: [{ type: 'add_tag', tag: 'paid' }],
        no: [],
      },
    ],
    calling: [{ type: 'webhook', id: 'h', url: `${endpoint.url}/call` }],
    paused: [{ type: 'delay', seconds: 1 }, mail('never')],
    mailing: [mail('automation')],
  }
  for (const [name, steps] of Object.entries(plans)) {
    const made = await callAsAdmin(setup, 'POST', '/automations/create', {
      name,
      status: 'active',
      trigger_type: 'manual',
      steps,
    })
    await callAsAdmin(setup, 'POST', `/automations/${textOf(made['id'])}/enroll`, { email: 'member1@fine.example' })
    if (name === 'paused') await callAsAdmin(setup, 'PATCH', `/automations/${textOf(made['id'])}`, { status: 'paused' })
  }
  await until(
    async () => (await db.query(`SELECT FROM automation_calls WHERE tries > 0`)).rows.length === 1,
    () => 'nothing is called',
  )
  await until(
    async () => (await db.query(`SELECT FROM automation_mails`)).rows.length === 1,
    () => 'nothing is mailed',
  )
}

/** Requests work of every kind. Only the api runs. */
export async function queueWork(setup: ColdStartSetup, { opened, bouncing }: SettledMail): Promise<void> {
  const {
    testbed,
    testbed: { system, dns },
  } = setup
  const { db } = system
  await Promise.all(
    (['instant', 'high', 'normal', 'bulk'] as const).map((tier) => testbed.send({ to: `${tier}@fine.example`, tier })),
  )
  const key = await connectAccount(setup, PASSWORD)
  await sendAs(setup, key, { from: ACCOUNT, to: 'queued@far.example' })
  const {
    rows: [cancelled],
  } = await db.query<{ id: string }>(`SELECT id FROM campaigns WHERE subject = 'CANCELLED'`)
  await campaignOf(setup).move(cancelled?.id ?? '', 'cancel')
  const {
    rows: [mailing],
  } = await db.query<{ id: string }>(`SELECT id FROM automations WHERE name = 'mailing'`)
  await callAsAdmin(setup, 'POST', `/automations/${mailing?.id}/enroll`, { email: 'member2@fine.example' })
  const {
    rows: [off],
  } = await db.query<{ id: string }>(`SELECT id FROM webhook_endpoints WHERE url LIKE '%/off'`)
  await callAsAdmin(setup, 'PATCH', `/webhooks/${off?.id}`, { is_active: false })
  const links = createLinks({ encryption: system.encryption, config: system.config })
  const { url: base, workspaceId } = system
  const nobody = { contactId: null, audienceId: null }
  const pixel = links.open({ base, messageId: opened, n: 0, workspaceId, senderId: workspaceId, ...nobody })
  assert.strictEqual((await fetch(pixel, { headers: BROWSER })).status, 200)
  await suspend(setup, { domain: 'acted.example' }, 'for a while')
  await testbed.send({ to: 'a@acted.example' })
  const csv = await system.call('POST', `/public/contacts/import?audienceId=${await findOrAddAudience(setup)}`, {
    key: system.admin,
    body: 'email\nfile1@fine.example\nfile2@fine.example\n',
    headers: { 'content-type': 'text/csv' },
  })
  assert.strictEqual(csv.status, 201, JSON.stringify(csv.body))
  dns.zone['_smtp._tls.reported.example'] = { TXT: ['v=TLSRPTv1; rua=mailto:reports@fine.example'] }
  await storeInterruptedWork(testbed, bouncing)
}

/** Stores work that a killed process had claimed. */
async function storeInterruptedWork({ system: { db } }: ColdStartSetup['testbed'], bouncing: string): Promise<void> {
  const raw = Buffer.from(dsnOf({ recipient: 'bouncing@fine.example' }))
  await db.query(
    sql`
      INSERT INTO inbound_reports (id, received_at, target, message_id, n, mail_from, peer, size, raw, due_at)
      VALUES ($1, now(), 'return-path', $2, 0, '', '127.0.0.1', $3, $4, now() + interval '1 second')
    `,
    [newId(), bouncing, raw.length, raw],
  )
  await db.query(
    `INSERT INTO tls_report_arrivals (id, via, peer, raw, due_at) VALUES ($1, 'https', '127.0.0.1', 'rubbish', now())`,
    [newId()],
  )
  await db.query(
    sql`
      INSERT INTO operator_actions (id, verb, subject, reason, done_by, state, leased_until)
      VALUES ($1, 'drop', '{"domain": "acted.example"}', 'x', 'anna', 'running', now() + interval '1 second')
    `,
    [newId()],
  )
  await db.query(`INSERT INTO dry_runs (id, wanted, taken_until) VALUES ($1, $2, now() + interval '1 second')`, [
    newId(),
    JSON.stringify({ from: 'shop@sender.example', to: 'a@fine.example', workspaceId: null }),
  ])
  await db.query(
    `INSERT INTO suppression_reviews (id, is_lifting, taken_until) VALUES ($1, false, now() + interval '1 second')`,
    [newId()],
  )
  await db.query(
    sql`
      INSERT INTO tls_results (day, domain, policy_hash, policy, result, mx_host, mx_address, count)
      VALUES (
        (now() AT TIME ZONE 'UTC')::date - 1, 'reported.example', 'x', $1, 'success', 'mx.reported.example',
        '192.0.2.1', 3
      )
    `,
    [JSON.stringify({ type: 'no-policy-found', lines: [], mx: [] })],
  )
  await db.query(sql`
    INSERT INTO tls_reports (day, domain, due_at)
    SELECT day, domain, now()
    FROM tls_results
    WHERE domain = 'reported.example'
  `)
}

/** Makes webhooks and calls due; leases of a killed worker expire in a second. */
export async function makeWorkDue({
  testbed: {
    system: { db },
  },
}: ColdStartSetup): Promise<void> {
  await db.query(
    `UPDATE webhook_deliveries SET due_at = now(), leased_until = now() + interval '1 second' WHERE state = 'pending'`,
  )
  await db.query(
    `UPDATE automation_calls SET due_at = now(), leased_until = now() + interval '1 second' WHERE state = 'pending'`,
  )
  await db.query('UPDATE tls_report_arrivals SET due_at = now()')
}
