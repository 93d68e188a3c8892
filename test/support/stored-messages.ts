/**
 * Creates messages that a running system holds, one for each cause that can hold mail. After all processes are killed
 * and started again, in any order, each of these messages must still be held, and `explain` must name the cause.
 */
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { setEgressPool } from '#src/egress/pools.ts'
import { addSource, pauseSource } from '#src/egress/sources.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { OPERATOR_TOKEN, textOf, type Json, type TestResponse } from './api.ts'
import type { MailboxServer } from './mailbox-server.ts'
import type { Testbed } from './testbed.ts'
import { createSender } from './sender.ts'
import { until } from './until.ts'
import type { WebhookReceiver as Endpoint } from './webhook-receiver.ts'

/** A message that must not be sent. */
export interface HeldMessage {
  readonly cause: string
  readonly id: string
  /** The text of `explain`. */
  readonly explanation: RegExp
  /** It is attempted again when due, but not delivered. */
  readonly isRetried?: true
}

/** Traffic shaping with a receiver for each case. */
export const SHAPING = `receivers:
  yahoo: {domains: [ts.example], provider_wide: true, connections: 2, messages_per_connection: 5}
  picky: {domains: [picky.example], provider_wide: true, connections: 2, messages_per_connection: 5}
  slow: {domains: [slow.example], provider_wide: true, connections: 8, messages_per_connection: 100}
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
rules:
  - {name: yahoo-ts04, receiver: yahoo, code: 421, text: '\\[TSS?04\\]', action: suspend, for: 2h}
  - {name: told, code: 550, text: blocklist, action: tell}
`
/** Connections that were learned to be enough for the receiver \`slow\`. */
export const LEARNED_CONNECTIONS = 3
export const ACCOUNT = 'office@provider.example'
export const PASSWORD = 'correct horse battery'
const REMOTE_ADDRESS = '198.51.100.71'
/** The time of scheduled mail that must not become due. */
export const FAR_FUTURE = new Date(Date.now() + 30 * 86_400_000).toISOString()

export interface ColdStartSetup {
  readonly testbed: Testbed
  readonly mailbox: MailboxServer
  readonly endpoint: Endpoint
}

export function callAsOperator(
  { testbed }: Pick<ColdStartSetup, 'testbed'>,
  method: string,
  path: string,
  body?: object,
): Promise<TestResponse> {
  return testbed.system.call(method, `/admin${path}`, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
}

async function dataOf(asked: Promise<TestResponse>): Promise<Json> {
  const { status, body } = await asked
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
  return body['data'] ?? {}
}

export const callAsAdmin = (
  { testbed: { system } }: ColdStartSetup,
  method: string,
  path: string,
  body?: object,
): Promise<Json> =>
  dataOf(system.call(method, `/public${path}`, { key: system.admin, ...(body === undefined ? {} : { body }) }))

export async function suspend(setup: ColdStartSetup, what: object, reason: string): Promise<void> {
  await dataOf(callAsOperator(setup, 'POST', '/suspensions', { ...what, reason }))
}

/** Sends with another key, for example of a connected account. */
export async function sendAs({ testbed }: ColdStartSetup, key: string, mail: object): Promise<string> {
  const { status, body } = await testbed.system.call('POST', '/send-email/instant', {
    key,
    body: { subject: 'Hello', text: 'Hello', ...mail },
  })
  assert.strictEqual(status, 200, JSON.stringify(body))
  return textOf(body['email_id'])
}

/** Mail suspended by the operator: by domain, site and workspace. */
export async function holdByOperator(setup: ColdStartSetup): Promise<HeldMessage[]> {
  const { testbed } = setup
  const {
    system: { db, encryption, config },
  } = testbed
  await testbed.addReceiver(['one.example', 'two.example'])
  await testbed.settle(await testbed.send({ to: 'first@one.example' }))
  await until(async () => (await db.query(`SELECT FROM domain_sites WHERE domain = 'one.example'`)).rows.length > 0)
  const {
    rows: [row],
  } = await db.query<{ site: string }>(`SELECT site FROM domain_sites WHERE domain = 'one.example'`)
  const other = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'paused.example' })
  await testbed.addReceiver('stopped.example')
  await suspend(setup, { domain: 'stopped.example' }, 'their postmaster asked')
  await suspend(setup, { site: row?.site }, 'their machine burns')
  // its keys stay open: this is about mail that waits
  await suspend(setup, { workspace: other.workspaceId, scope: 'mail' }, 'bad list')
  return [
    {
      cause: 'a domain',
      id: await testbed.send({ to: 'a@stopped.example' }),
      explanation: /suspended by the operator: their postmaster asked/,
    },
    {
      cause: 'a site',
      id: await testbed.send({ to: 'a@two.example' }),
      explanation: /its site .* suspended by the operator: their machine burns/,
    },
    {
      cause: 'a workspace',
      id: await sendAs(setup, other.regular, { from: 'a@paused.example', to: 'a@fine.example' }),
      explanation: /its workspace .* bad list/,
    },
  ]
}

/** Receivers suspended by a reply (for all mail, a source, a workspace), and a pool whose sources cannot send. */
export async function holdByReplies(setup: ColdStartSetup): Promise<HeldMessage[]> {
  const {
    testbed,
    testbed: { system },
  } = setup
  const { db, encryption, config } = system
  await testbed.addReceiver('ts.example', {
    on: { mail: '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred' },
  })
  await testbed.addReceiver('picky.example')
  await testbed.addReceiver('cold.example')
  const order = { region: 'us-east-1', pool: 'lone', weight: 1, isWarmingUp: false } as const
  const clock = systemClock
  for (const [name, address] of [
    ['away', REMOTE_ADDRESS],
    ['out', '127.0.0.3'],
    ['refused', '127.0.0.4'],
    ['young', '127.0.0.5'],
  ] as const) {
    const added = await addSource(
      { db, clock },
      { ...order, name, address, ehloName: `${name}.out.example`, isWarmingUp: name === 'young' },
    )
    assert.strictEqual(added.kind, 'added', JSON.stringify(added))
  }
  await pauseSource({ db, clock }, 'out')
  await db.query(sql`
    INSERT INTO egress_days (source_id, receiver, day, step, taken, sent)
    SELECT id, 'cold.example', (now() AT TIME ZONE 'UTC')::date, 0, 3, 3
    FROM egress_sources
    WHERE name = 'young'
  `)
  await db.query(
    sql`
      INSERT INTO receiver_suspensions (id, pace, source, workspace_id, rule, reply, until)
      VALUES ($1, '*', 'refused', NULL, 'blocked', '554 5.7.1 all of you', now() + interval '2 hours'),
        ($2, 'picky', '*', $3, 'list', '451 4.7.1 your list', now() + interval '2 hours')
    `,
    [newId(), newId(), system.workspaceId],
  )
  // after the rows: when this reply suspends a receiver, the outbound process loads all suspensions
  const receiver = await testbed.send({ to: 'a@ts.example' })
  const lone = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'lone.example' })
  assert.strictEqual(await setEgressPool(db, { table: 'workspaces', id: lone.workspaceId }, 'lone'), null)
  await until(async () => (await testbed.getMessage(receiver)).recipients[0]?.attempts.length === 1)
  return [
    { cause: 'a receiver', id: receiver, explanation: /yahoo is suspended because of this reply: .*TSS04/ },
    {
      cause: 'a workspace at a receiver',
      id: await testbed.send({ to: 'a@picky.example' }),
      explanation: /picky is suspended because of this reply: 451 4\.7\.1 your list/,
    },
    {
      cause: 'every source of a pool',
      id: await sendAs(setup, lone.regular, { from: 'a@lone.example', to: 'a@cold.example' }),
      // in the order of the message's own
      explanation: new RegExp(
        'no source of its pool(?=.*away is not on this machine)(?=.*out is paused)' +
          '(?=.*refused is suspended at this receiver)(?=.*young is warming)',
      ),
    },
  ]
}

/** Mail held by TLS policies, a paused account, a deferral, an unknown outcome and its scheduled time. */
export async function holdByOtherCauses(setup: ColdStartSetup): Promise<HeldMessage[]> {
  const { testbed } = setup
  const { db } = testbed.system
  await testbed.addReceiver('strict.example', { offers: { starttls: false } })
  await testbed.addReceiver('sts.example')
  await testbed.addReceiver('busy.example', { on: { rcpt: '451 4.2.1 come again' } })
  await testbed.addReceiver('lost.example', { on: { dot: { accepts: false, end: 'reset' } } })
  await db.query(`INSERT INTO tls_rules (domain, level) VALUES ('strict.example', 'required')`)
  await db.query(sql`
    INSERT INTO sts_policies (domain, id, mode, mx, max_age, fetched_at, expires_at, refresh_at)
    VALUES (
      'sts.example', '1', 'enforce', '{mx.elsewhere.example}', 86400, now(), now() + interval '1 day',
      now() + interval '12 hours'
    )
  `)
  const key = await connectAccount(setup, 'wrong horse')
  const scheduled = await dataOf(
    testbed.system.call('POST', '/send-email/schedule', {
      body: { from: 'shop@sender.example', to: 'a@fine.example', subject: 'x', text: 'x', scheduled_at: FAR_FUTURE },
    }),
  )
  const held: HeldMessage[] = [
    {
      cause: 'a policy of MTA-STS',
      id: await testbed.send({ to: 'a@sts.example' }),
      explanation: /MTA-STS/,
      isRetried: true,
    },
    {
      cause: 'a refusal for now',
      id: await testbed.send({ to: 'a@busy.example', tier: 'bulk' }),
      explanation: /451 4\.2\.1 come again/,
    },
    {
      cause: 'a link lost after the dot',
      id: await testbed.send({ to: 'a@lost.example', tier: 'normal' }),
      explanation: /unknown/,
    },
    {
      cause: 'an account',
      id: await sendAs(setup, key, { from: ACCOUNT, to: 'held@far.example' }),
      explanation: /account.*(is paused|is suspended).*535/,
    },
    {
      cause: 'its time',
      id: textOf(scheduled['email_id'] ?? scheduled['id']),
      explanation: /it waits for its scheduled time/,
    },
  ]
  await until(async () => (await db.query(`SELECT FROM connected_accounts WHERE state = 'paused'`)).rows.length === 1)
  return held
}

/** Mail held by a TLS rule. The mta must have started after the rule was added, or five seconds must have passed. */
export async function holdByTls({ testbed }: ColdStartSetup): Promise<HeldMessage> {
  return {
    cause: 'required TLS',
    id: await testbed.send({ to: 'a@strict.example' }),
    explanation: /TLS: required/,
    isRetried: true,
  }
}

/** Connects an account and returns a key for it. With a wrong password its first mail pauses it. */
export async function connectAccount(setup: ColdStartSetup, password: string): Promise<string> {
  const account = await callAsAdmin(setup, 'POST', '/accounts', {
    name: 'Office',
    host: 'smtp.provider.example',
    port: setup.mailbox.port,
    security: 'starttls',
    username: ACCOUNT,
    password,
  })
  const key = await callAsAdmin(setup, 'POST', '/domains/api-keys/create', {
    name: 'k',
    account_id: textOf(account['id']),
  })
  return textOf(key['secret_key'])
}
