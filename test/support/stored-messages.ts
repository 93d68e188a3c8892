/**
 * Everything that can be stored, made by a running system as it is made in life: mail that is held, by each thing that can hold it, and
 * what wants nothing but a process to go on with it. Whoever is killed then and started again, in whatever order, finds all of it: what is
 * held must stay so and say why, and the rest must be done, once.
 */
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { setEgressPool } from '#src/egress/pools.ts'
import { addSource, pauseSource } from '#src/egress/sources.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { OPERATOR, textOf, type Json, type TestAnswer } from './api.ts'
import type { MailboxServer } from './mailbox-server.ts'
import type { PostOffice } from './mail-world.ts'
import { createSender } from './sender.ts'
import { until } from './until.ts'
import type { Receiver as Endpoint } from './webhook-receiver.ts'

/** A message that must not leave. */
export interface Held {
  readonly what: string
  readonly id: string
  /** What `explain` says of it. */
  readonly why: RegExp
  /** It is tried again in its time, and no copy leaves. */
  readonly isTried?: true
}

/** A receiver for each rule that a reply or a row is about. */
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
export const LEARNED = 3
export const ACCOUNT = 'office@provider.example'
export const PASSWORD = 'correct horse battery'
const NOWHERE = '198.51.100.71'
/** For what is to wait for its time. */
export const FAR = new Date(Date.now() + 30 * 86_400_000).toISOString()

export interface World {
  readonly office: PostOffice
  readonly mailbox: MailboxServer
  readonly endpoint: Endpoint
}

export function asOperator(
  { office }: Pick<World, 'office'>,
  method: string,
  path: string,
  body?: object,
): Promise<TestAnswer> {
  return office.system.call(method, `/admin${path}`, { key: OPERATOR, ...(body === undefined ? {} : { body }) })
}

async function dataOf(asked: Promise<TestAnswer>): Promise<Json> {
  const { status, body } = await asked
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
  return body['data'] ?? {}
}

export const asAdmin = ({ office: { system } }: World, method: string, path: string, body?: object): Promise<Json> =>
  dataOf(system.call(method, `/public${path}`, { key: system.admin, ...(body === undefined ? {} : { body }) }))

export async function suspend(world: World, what: object, reason: string): Promise<void> {
  await dataOf(asOperator(world, 'POST', '/suspensions', { ...what, reason }))
}

/** As somebody else, or through an account. */
export async function sendAs({ office }: World, key: string, mail: object): Promise<string> {
  const { status, body } = await office.system.call('POST', '/send-email/instant', {
    key,
    body: { subject: 'Hello', text: 'Hello', ...mail },
  })
  assert.strictEqual(status, 200, JSON.stringify(body))
  return textOf(body['email_id'])
}

/** What the operator has stopped, of each kind. */
export async function stopByHand(world: World): Promise<Held[]> {
  const { office } = world
  const {
    system: { db, encryption, config },
  } = office
  await office.open(['one.example', 'two.example'])
  await office.settle(await office.send({ to: 'first@one.example' }))
  await until(async () => (await db.query(`SELECT FROM domain_sites WHERE domain = 'one.example'`)).rows.length > 0)
  const {
    rows: [row],
  } = await db.query<{ site: string }>(`SELECT site FROM domain_sites WHERE domain = 'one.example'`)
  const other = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'paused.example' })
  await office.open('stopped.example')
  await suspend(world, { domain: 'stopped.example' }, 'their postmaster asked')
  await suspend(world, { site: row?.site }, 'their machine burns')
  await suspend(world, { workspace: other.workspaceId }, 'bad list')
  return [
    {
      what: 'a domain',
      id: await office.send({ to: 'a@stopped.example' }),
      why: /suspended by the operator: their postmaster asked/,
    },
    {
      what: 'a site',
      id: await office.send({ to: 'a@two.example' }),
      why: /its site .* suspended by the operator: their machine burns/,
    },
    {
      what: 'a workspace',
      id: await sendAs(world, other.regular, { from: 'a@paused.example', to: 'a@fine.example' }),
      why: /its workspace .* bad list/,
    },
  ]
}

/** Receivers that were stopped by a reply: for all, for a source everywhere, for a workspace. And sources that cannot send. */
export async function stopByReplies(world: World): Promise<Held[]> {
  const {
    office,
    office: { system },
  } = world
  const { db, encryption, config } = system
  await office.open('ts.example', { on: { mail: '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred' } })
  await office.open('picky.example')
  await office.open('cold.example')
  const receiver = await office.send({ to: 'a@ts.example' })
  const order = { region: 'us-east-1', pool: 'lone', weight: 1, isWarmingUp: false } as const
  const clock = systemClock
  for (const [name, address] of [
    ['away', NOWHERE],
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
  const lone = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'lone.example' })
  assert.strictEqual(await setEgressPool(db, { table: 'workspaces', id: lone.workspaceId }, 'lone'), null)
  await until(async () => (await office.tell(receiver)).recipients[0]?.attempts.length === 1)
  return [
    { what: 'a receiver', id: receiver, why: /yahoo is suspended because of this reply: .*TSS04/ },
    {
      what: 'a workspace at a receiver',
      id: await office.send({ to: 'a@picky.example' }),
      why: /picky is suspended because of this reply: 451 4\.7\.1 your list/,
    },
    {
      what: 'every source of a pool',
      id: await sendAs(world, lone.regular, { from: 'a@lone.example', to: 'a@cold.example' }),
      // in the order of the message's own
      why: /no source of its pool(?=.*away is not on this machine)(?=.*out is paused)(?=.*refused is suspended at this receiver)(?=.*young is warming)/,
    },
  ]
}

/** What TLS holds, and an account; and what waits for its time. */
export async function stopByOthers(world: World): Promise<Held[]> {
  const { office } = world
  const { db } = office.system
  await office.open('strict.example', { offers: { starttls: false } })
  await office.open('sts.example')
  await office.open('busy.example', { on: { rcpt: '451 4.2.1 come again' } })
  await office.open('lost.example', { on: { dot: { take: false, end: 'reset' } } })
  await db.query(`INSERT INTO tls_rules (domain, level) VALUES ('strict.example', 'required')`)
  await db.query(sql`
    INSERT INTO sts_policies (domain, id, mode, mx, max_age, fetched_at, expires_at, refresh_at)
    VALUES (
      'sts.example', '1', 'enforce', '{mx.elsewhere.example}', 86400, now(), now() + interval '1 day',
      now() + interval '12 hours'
    )
  `)
  const key = await connect(world, 'wrong horse')
  const scheduled = await dataOf(
    office.system.call('POST', '/send-email/schedule', {
      body: { from: 'shop@sender.example', to: 'a@fine.example', subject: 'x', text: 'x', scheduled_at: FAR },
    }),
  )
  const held: Held[] = [
    { what: 'a policy of MTA-STS', id: await office.send({ to: 'a@sts.example' }), why: /MTA-STS/, isTried: true },
    {
      what: 'a refusal for now',
      id: await office.send({ to: 'a@busy.example', tier: 'bulk' }),
      why: /451 4\.2\.1 come again/,
    },
    {
      what: 'a link lost after the dot',
      id: await office.send({ to: 'a@lost.example', tier: 'normal' }),
      why: /unknown/,
    },
    {
      what: 'an account',
      id: await sendAs(world, key, { from: ACCOUNT, to: 'held@far.example' }),
      why: /account.*(is paused|is suspended).*535/,
    },
    {
      what: 'its time',
      id: textOf(scheduled['email_id'] ?? scheduled['id']),
      why: /it waits for its scheduled time/,
    },
  ]
  await until(async () => (await db.query(`SELECT FROM connected_accounts WHERE state = 'paused'`)).rows.length === 1)
  return held
}

/** By a process that was started since the rule was made: others read it every five seconds. */
export async function stopByTls({ office }: World): Promise<Held> {
  return {
    what: 'required TLS',
    id: await office.send({ to: 'a@strict.example' }),
    why: /TLS: required/,
    isTried: true,
  }
}

/** A key of an account; with a wrong password it is paused at its first mail. */
export async function connect(world: World, password: string): Promise<string> {
  const account = await asAdmin(world, 'POST', '/accounts', {
    name: 'Office',
    host: 'smtp.provider.example',
    port: world.mailbox.port,
    security: 'starttls',
    username: ACCOUNT,
    password,
  })
  const key = await asAdmin(world, 'POST', '/domains/api-keys/create', { name: 'k', account_id: textOf(account['id']) })
  return textOf(key['secret_key'])
}
