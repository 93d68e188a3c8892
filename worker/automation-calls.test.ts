/** Calls of webhook steps to addresses that do not answer: nobody else waits for them, and stopping does not either. */
import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import { Webhook } from 'standardwebhooks'
import { rotateCallSecret } from '#src/automations/call-secrets.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createEndpoint } from '#src/webhooks/endpoints.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { neverRespond, startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'
import { startAutomationCalls } from './automation-calls.ts'
import type { Loop } from './loop.ts'

describe('automation calls', () => {
  let ctx: TestContext
  let dead: WebhookReceiver
  let alive: WebhookReceiver
  let loop: Loop
  let workspaceId = ''
  before(async () => {
    ctx = await createContext({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' })
    ;[dead, alive] = await Promise.all([startWebhookReceiver(), startWebhookReceiver()])
    dead.setBehaviour(neverRespond)
  })
  after(async () => {
    await Promise.all([dead.close(), alive.close()])
    await ctx.close()
  })
  beforeEach(async () => {
    await ctx.db.query('DELETE FROM automation_calls')
    workspaceId = await ctx.newWorkspace()
  })

  /** Due for an hour. */
  const add = (url: string, count: number): Promise<unknown> =>
    ctx.db.query(
      sql`
        INSERT INTO automation_calls
          (id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at, created_at)
        SELECT gen_random_uuid(), $1::uuid, $2, $2, 's', $1::uuid || ' ' || $3, $3, '{}',
          now() - interval '1 hour', now()
        FROM generate_series(1, $4)`,
      [workspaceId, newId(), url, count],
    )
  const tell = async (): Promise<Record<string, number>> => {
    const { rows } = await ctx.db.query<{ what: string; n: number }>(sql`
      SELECT state || CASE WHEN tries > 0 THEN ' tried' ELSE '' END ||
        CASE WHEN leased_until > now() THEN ' leased' ELSE '' END AS what,
        count(*)::int AS n
      FROM automation_calls
      GROUP BY 1`)
    return Object.fromEntries(rows.map(({ what, n }) => [what, n]))
  }

  it('a dead endpoint with hundreds of calls delays no other', async () => {
    await add(dead.url, 600)
    await add(alive.url, 200)
    loop = startAutomationCalls(ctx)
    await until(
      async () => (await tell())['delivered tried'] === 200,
      () => `${alive.requests.length} were called`,
    )
    const { 'pending tried': timedOut = 0 } = await tell()
    assert.strictEqual(timedOut, 0, 'no call to the dead address had ended by then')
    await loop.stop()
    assert.deepEqual(
      await tell(),
      { pending: 600, 'delivered tried': 200 },
      'calls in progress are released, uncounted',
    )
  })
  it('two workers make each call once', async () => {
    alive.requests.length = 0
    await add(alive.url, 300)
    const loops = [startAutomationCalls(ctx), startAutomationCalls(ctx)]
    await until(async () => (await tell())['delivered tried'] === 300)
    await Promise.all(loops.map((one) => one.stop()))
    assert.strictEqual(alive.requests.length, 300)
  })
  it('every call is signed, also with the secret of the endpoint that has its URL', async () => {
    alive.requests.length = 0
    await add(alive.url, 1)
    loop = startAutomationCalls(ctx)
    await until(() => alive.requests.length === 1)
    const { secret, previousUntil } = await rotateCallSecret(ctx, workspaceId)
    assert.ok(previousUntil !== null, 'the first call made a secret')
    const registered = await createEndpoint(ctx, workspaceId, {
      url: alive.url,
      description: null,
      eventTypes: ['email.bounced'],
    })
    await add(alive.url, 1)
    await until(() => alive.requests.length === 2)
    await loop.stop()
    const [first, second] = alive.requests
    assert.ok(first !== undefined && second !== undefined && registered !== null)
    assert.match(String(first.headers['webhook-signature']), /^v1,[\w+/]+=*$/)
    assert.strictEqual(String(second.headers['webhook-signature']).split(' ').length, 3)
    for (const key of [secret, registered.secret])
      new Webhook(key).verify(second.body, second.headers as Record<string, string>)
    assert.strictEqual(
      second.headers['x-webhook-signature'],
      `sha256=${createHmac('sha256', registered.secret).update(second.body).digest('hex')}`,
    )
  })
  it('a failed call is retried with the same id, and redirects are not followed', async () => {
    alive.requests.length = 0
    alive.setBehaviour((_, response) => void response.writeHead(307, { location: `${dead.url}/elsewhere` }).end('no\0'))
    const before = dead.requests.length
    await add(alive.url, 1)
    loop = startAutomationCalls(ctx)
    await until(async () => (await tell())['pending tried'] === 1)
    await ctx.db.query(`UPDATE automation_calls SET due_at = now() - interval '1 second'`)
    await until(() => alive.requests.length === 2)
    await loop.stop()
    assert.strictEqual(alive.requests[0]?.headers['webhook-id'], alive.requests[1]?.headers['webhook-id'])
    assert.strictEqual(dead.requests.length, before)
    const {
      rows: [row],
    } = await ctx.db.query('SELECT answer FROM automation_calls')
    assert.deepEqual(row, { answer: '307 no' })
  })
  it('a URL that resolves to a private network is rejected', async () => {
    await add('http://169.254.169.254/latest/meta-data', 1)
    loop = startAutomationCalls(ctx)
    await until(async () => (await tell())['pending tried'] === 1)
    await loop.stop()
    const {
      rows: [row],
    } = await ctx.db.query<{ answer: string }>('SELECT answer FROM automation_calls')
    assert.match(row?.answer ?? '', /^forbidden/)
  })
})
