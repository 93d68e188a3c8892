import { assert } from 'chai'
import { applyCounterDeltas } from '#src/contacts/apply-counter-deltas.ts'
import { systemClock } from '#src/platform/clock.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { continueErasure } from '#src/privacy/erasure.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type Json, type TestApi, type TestResponse } from '#test/support/api.ts'
import {
  fillWithoutContact,
  findTracesOf,
  storeBounce,
  storeCall,
  storeReview,
  waitForLock,
} from './privacy.test-data.ts'

/** A person whose name is nowhere else in the database. */
const PERSON = 'zelda.quux@gmail.com'
const SPELLINGS = [PERSON, 'Zelda.Quux@gmail.com', 'ZeldaQuux+shop@googlemail.com'] as const
const TRACES = 'zelda[.]{0,1}quux'
const OTHER = 'bert@people.example'
const SILENT = openLog({ logLevel: 'silent' }, 'test')

describe('what is stored about a person', () => {
  let api: TestApi
  beforeEach(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' })
  })
  afterEach(() => api.stop())

  const asAdmin = (method: string, path: string, body?: object): Promise<TestResponse> =>
    api.call(method, `/public${path}`, { key: api.admin, ...(body === undefined ? {} : { body }) })

  const send = async (to: readonly string[], more: object = {}, path = 'normal'): Promise<string> => {
    const mail = { from: `a@${api.domain}`, to, subject: 'For Zelda.Quux', body: `Dear ${to.join()}`, ...more }
    const { status, body } = await api.call('POST', `/send-email/${path}`, { body: mail })
    assert.strictEqual(status < 300, true, JSON.stringify(body))
    return messageIdOf(textOf(body['id'])) ?? ''
  }

  const settle = (id: string, state = 'delivered'): Promise<unknown> =>
    api.db.query(`UPDATE recipients SET state = $2, is_open = $3 WHERE message_id = $1`, [
      id,
      state,
      state === 'sending',
    ])

  /** Everything that can be stored about the person. Returns the ids of the messages. */
  const fill = async (): Promise<{ alone: string; shared: string; waiting: string }> => {
    const { body } = await asAdmin('POST', '/audiences/add-audience', { name: 'A' })
    const audienceId = textOf(body['data']?.['id'])
    await asAdmin('POST', '/webhooks', { url: 'https://hooks.example/x', events: '*' })
    await asAdmin('POST', '/contacts/add-contact', {
      audienceId,
      email: PERSON,
      first_name: 'Zelda',
      last_name: 'Quux',
    })
    await asAdmin('PATCH', `/contacts/update-contact?email=${PERSON}`, { status: 'unsubscribed' })
    const alone = await send([SPELLINGS[1]], { tags: ['x'], metadata: { name: SPELLINGS[1] } })
    const shared = await send([OTHER, SPELLINGS[2]])
    const waiting = await send(
      [SPELLINGS[0]],
      { scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
      'schedule',
    )
    for (const id of [alone, shared]) await settle(id)
    await asAdmin('POST', '/suppressions', { email: SPELLINGS[2].toLowerCase() })
    await fillWithoutContact(api, [SPELLINGS[1], PERSON])
    await storeCall(api, SPELLINGS[1])
    await storeBounce(api, SPELLINGS[2])
    await storeReview(api, SPELLINGS[0])
    await api.db.query(
      sql`
        INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, at, url, request_headers, request_body,
          duration_ms)
        SELECT event_id, endpoint_id, 1, now(), 'u', '{}', '${PERSON}', 1
        FROM webhook_deliveries
        WHERE event_id IN (SELECT id FROM events WHERE recipient ~* '${TRACES}')`,
    )
    return { alone, shared, waiting }
  }

  const findTraces = (): Promise<string[]> => findTracesOf(api.db, TRACES)

  const erase = async (): Promise<string> => {
    const { status, body } = await asAdmin('POST', '/privacy/erase-person', { email: 'zeldaquux@gmail.com' })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return textOf(body['data']?.['id'])
  }
  const work = async (): Promise<void> => {
    while (await continueErasure({ db: api.db, clock: systemClock, log: SILENT }));
  }
  const stateOf = async (id: string): Promise<Json> =>
    (await asAdmin('GET', `/privacy/get-erasure?id=${id}`)).body['data'] ?? {}

  it('is erased in every table, in all spellings, and stays suppressed', async () => {
    const { shared } = await fill()
    assert.includeMembers(await findTraces(), [
      'audit_log',
      'automation_calls',
      'campaign_recipients',
      'contacts',
      'events',
      'inbound_reports',
      'lost_mail',
      'memberships',
      'messages',
      'recipients',
      'suppression_reviews',
      'suppressions',
      'webhook_attempts',
    ])
    const id = await erase()
    assert.strictEqual((await stateOf(id))['status'], 'running')
    await work()
    const done = await stateOf(id)
    assert.strictEqual(done['status'], 'done')
    assert.strictEqual(done['deleted']?.['contacts'], 1)
    assert.strictEqual(done['deleted']?.['messages'], 2)
    await applyCounterDeltas({ db: api.db, log: SILENT })
    assert.deepEqual(await findTraces(), [])
    // the others of a message are not affected
    const { body } = await asAdmin('GET', `/emails/get-email?id=${shared}`)
    assert.include(JSON.stringify(body['data']?.['to']), OTHER)
    const again = await send([SPELLINGS[2]])
    const bulk = await send([SPELLINGS[0]], {}, 'bulk')
    const { rows } = await api.db.query<{ id: string; state: string }>(
      'SELECT message_id AS id, state FROM recipients WHERE message_id = ANY ($1)',
      [[again, bulk]],
    )
    assert.deepEqual(
      new Map(rows.map((row) => [row.id, row.state])),
      new Map([
        [again, 'suppressed'],
        [bulk, 'suppressed'],
      ]),
    )
  })

  it('waits for mail that is being sent, and continues after a worker died', async () => {
    const id = await send([PERSON])
    await settle(id, 'sending')
    const erasure = await erase()
    await work()
    assert.deepInclude(await stateOf(erasure), { status: 'running', is_waiting: true })
    assert.include(await findTraces(), 'recipients')
    await settle(id)
    await api.db.query(`UPDATE erasures SET due_at = now()`)
    // a slice whose transaction is lost leaves everything as it was
    await api.db
      .transaction(async (tx) => {
        const bulk = { transaction: (run: (one: typeof tx) => Promise<boolean>) => run(tx) }
        await continueErasure({ db: { bulk } as unknown as typeof api.db, clock: systemClock, log: SILENT })
        throw new Error('the worker dies')
      })
      .catch(() => undefined)
    await work()
    assert.strictEqual((await stateOf(erasure))['status'], 'done')
    assert.deepEqual(await findTraces(), [])
  })

  it('leaves lost mail of senders that are not of the workspace', async () => {
    const insert = `INSERT INTO lost_mail (message_id, recipient, sender, source, at) VALUES ($1, $2, $3, 'log', now())`
    const id = newId()
    await api.db.query(insert, [id, PERSON, 'somebody@account.example'])
    await erase()
    await work()
    const { rows } = await api.db.query('DELETE FROM lost_mail WHERE message_id = $1 RETURNING recipient', [id])
    assert.deepEqual(rows, [{ recipient: PERSON }])
  })

  it('does not lose mail that is claimed while a slice decides', async () => {
    const id = await send([PERSON])
    const erasure = await erase()
    const claim = Promise.withResolvers<undefined>()
    const claimed = Promise.withResolvers<undefined>()
    const claiming = api.db.transaction(async (tx) => {
      await tx.query(`UPDATE recipients SET state = 'sending', lease = 1 WHERE message_id = $1`, [id])
      claimed.resolve(undefined)
      await claim.promise
    })
    await claimed.promise
    const working = work()
    await waitForLock(api.db)
    claim.resolve(undefined)
    await claiming
    await working
    assert.deepInclude(await stateOf(erasure), { status: 'running', is_waiting: true })
    const { rows } = await api.db.query('SELECT state, address FROM recipients WHERE message_id = $1', [id])
    assert.deepEqual(rows, [{ state: 'sending', address: PERSON }])
    await settle(id)
    await api.db.query(`UPDATE erasures SET due_at = now()`)
    await work()
    assert.strictEqual((await stateOf(erasure))['status'], 'done')
    assert.deepEqual(await findTraces(), [])
  })

  it('waits for the other recipients of a message, who need its texts', async () => {
    const id = await send([OTHER, PERSON])
    const erasure = await erase()
    await work()
    assert.deepInclude(await stateOf(erasure), { status: 'running', is_waiting: true })
    const { rows } = await api.db.query(
      'SELECT r.state, m.subject FROM recipients r JOIN messages m ON m.id = r.message_id WHERE r.n = 1',
    )
    assert.deepEqual(rows, [{ state: 'cancelled', subject: 'For Zelda.Quux' }])
    await settle(id)
    await api.db.query(`UPDATE erasures SET due_at = now()`)
    await work()
    assert.strictEqual((await stateOf(erasure))['status'], 'done')
    assert.deepEqual(await findTraces(), [])
  })

  it('that is stored again while the erasure runs is erased again', async () => {
    const id = await send([PERSON])
    await settle(id, 'sending')
    const erasure = await erase()
    await work()
    const { body } = await asAdmin('POST', '/audiences/add-audience', { name: 'A' })
    const audienceId = textOf(body['data']?.['id'])
    await asAdmin('POST', '/contacts/add-contact', { audienceId, email: PERSON })
    assert.include(await findTraces(), 'contacts')
    await settle(id)
    await api.db.query(`UPDATE erasures SET due_at = now()`)
    await work()
    assert.strictEqual((await stateOf(erasure))['status'], 'done')
    await applyCounterDeltas({ db: api.db, log: SILENT })
    assert.deepEqual(await findTraces(), [])
  })

  it('has one erasure at a time, and one that fails does not stop those of others', async () => {
    const other = await api.addTenant()
    const first = await erase()
    assert.strictEqual(await erase(), first)
    await api.db.query(sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN RAISE 'it fails'; END $body$;
      CREATE TRIGGER refuse BEFORE UPDATE OF position ON erasures FOR EACH ROW WHEN (OLD.id = '${first}')
      EXECUTE FUNCTION refuse()`)
    const { body } = await api.call('POST', '/public/privacy/erase-person', {
      key: other.admin,
      body: { email: OTHER },
    })
    const second = textOf(body['data']?.['id'])
    await work()
    const states = await api.db.query<{ id: string }>('SELECT id, state, problem FROM erasures ORDER BY id')
    assert.deepEqual(states.rows, [
      { id: first, state: 'running', problem: 'it fails' },
      { id: second, state: 'done', problem: null },
    ])
    assert.strictEqual((await stateOf(first))['problem'], 'it fails')
    await api.db.query('DROP FUNCTION refuse CASCADE')
    await api.db.query(`UPDATE erasures SET due_at = now() WHERE state = 'running'`)
    await work()
    assert.deepInclude(await stateOf(first), { status: 'done', problem: null })
  })

  it('of another workspace is not erased or exported, and its erasure is not found', async () => {
    await send([PERSON])
    const other = await api.addTenant()
    const call = (method: string, path: string, body?: object): Promise<TestResponse> =>
      api.call(method, `/public/privacy${path}`, { key: other.admin, ...(body === undefined ? {} : { body }) })
    const { body } = await call('POST', '/erase-person', { email: PERSON })
    await work()
    assert.includeMembers(await findTraces(), ['messages', 'recipients'])
    const exported: unknown = (await call('POST', '/export-person', { email: PERSON })).body
    assert.strictEqual(exported, null)
    const id = textOf(body['data']?.['id'])
    assert.strictEqual((await asAdmin('GET', `/privacy/get-erasure?id=${id}`)).status, 404)
  })

  it('is exported line by line, and the export continues behind a message', async () => {
    const { alone, shared, waiting } = await fill()
    const read = async (after?: string): Promise<readonly Json[]> => {
      const { status, body } = await asAdmin('POST', '/privacy/export-person', { email: PERSON, after })
      assert.strictEqual(status, 200)
      const text: unknown = body
      return String(text)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Json)
    }
    const all = await read()
    const kinds = all.map((one) => textOf(one['kind']))
    assert.includeMembers(kinds, ['contact', 'suppression', 'automation_call', 'message', 'event'])
    const messages = all.filter((one) => textOf(one['kind']) === 'message')
    const idsOf = (lines: readonly Json[]): string[] => lines.map((one) => textOf(one['data']?.['id']))
    assert.deepEqual(idsOf(messages), [alone, shared, waiting])
    assert.notInclude(JSON.stringify(messages.map((one) => one['data']?.['recipient'])), OTHER)
    const rest = (await read(alone)).filter((one) => textOf(one['kind']) === 'message')
    assert.deepEqual(idsOf(rest), [shared, waiting])
    const { rows } = await api.db.query<{ object: string }>(
      `SELECT object FROM audit_log WHERE kind = 'person_export' ORDER BY id LIMIT 1`,
    )
    assert.match(rows[0]?.object ?? '', /^sha256:[0-9a-f]{64}$/)
  })
})
