import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type TestResponse, type TestApi, type Tenant } from '#test/support/api.ts'

const sorted = (texts: readonly string[]): string[] => texts.toSorted((a, b) => a.localeCompare(b))

describe('/public/suppressions', () => {
  let api: TestApi
  let other: Tenant
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  beforeEach(() => api.db.query('DELETE FROM suppressions'))
  after(() => api.stop())

  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public/suppressions${path}`, { key, ...(body === undefined ? {} : { body }) })
  const upload = (text: string, key = api.admin): Promise<TestResponse> =>
    api.call('POST', '/public/suppressions/import', { key, body: text, headers: { 'content-type': 'text/csv' } })
  const listed = async (query = '', key = api.admin): Promise<string[]> =>
    listOf((await call('GET', query, undefined, key)).body['data']?.['suppressions']).map((one) => textOf(one['email']))
  const fields = (answer: TestResponse): string[] => {
    assert.deepEqual([answer.status, answer.body['error']], [400, 'VALIDATION_ERROR'])
    return listOf(answer.body['details']).map((one) => textOf(one['path']))
  }

  const FORMS: readonly (readonly [name: string, body: unknown, addresses: readonly string[]])[] = [
    ['one', { email: ' Anna@B.example' }, ['anna@b.example']],
    ['one, as address', { address: 'anna@b.example', reason: 'asked' }, ['anna@b.example']],
    [
      'a list of texts',
      { emails: ['anna@b.example', 'bob@b.example', 'BOB@b.example'] },
      ['anna@b.example', 'bob@b.example'],
    ],
    [
      'a list of objects',
      { suppressions: [{ email: 'anna@b.example', type: 'complaint' }, { address: 'bob@b.example' }] },
      ['anna@b.example', 'bob@b.example'],
    ],
    ['an international domain', { email: 'anna@bücher.example' }, ['anna@xn--bcher-kva.example']],
  ]
  for (const [name, body, addresses] of FORMS) {
    it(`adds and removes ${name} in the same form`, async () => {
      const added = await call('POST', '', body)
      assert.deepEqual([added.status, added.body['data']?.['added']], [201, addresses.length])
      assert.deepEqual(sorted(await listed()), addresses)
      const removed = await call('DELETE', '', body)
      assert.deepEqual([removed.status, removed.body['data']], [200, { removed: addresses.length }])
      assert.deepEqual(await listed(), [])
    })
  }

  it('an entry has its cause: kind, sentence, key and time', async () => {
    await call('POST', '', { email: 'anna@b.example', reason: 'asked by telephone' })
    const { body } = await call('GET', '/Anna%40b.example')
    const {
      created_at: createdAt,
      updated_at: updatedAt,
      api_key_id: keyId,
      ...rest
    } = body['data'] as unknown as Record<string, unknown>
    assert.deepEqual(rest, {
      email: 'anna@b.example',
      address: 'anna@b.example',
      kind: 'manual',
      cause: 'asked by telephone',
      reason: 'asked by telephone',
      reply: null,
      rule: null,
      event_id: null,
      message_id: null,
    })
    assert.strictEqual(createdAt, updatedAt)
    const { rows } = await api.db.query<{ kind: string }>('SELECT kind FROM api_keys WHERE id = $1', [keyId])
    assert.strictEqual(rows[0]?.kind, 'admin')
  })

  it('errors name the field, and nothing is stored', async () => {
    assert.deepEqual(fields(await call('POST', '', {})), ['email'])
    assert.deepEqual(fields(await call('POST', '', { emails: ['anna@b.example', 'nobody'] })), ['emails.1'])
    assert.deepEqual(fields(await call('POST', '', { suppressions: [{ reason: 'x' }] })), ['suppressions.0.email'])
    assert.deepEqual(fields(await call('POST', '', { email: 'anna@b.example', kind: 'whim' })), ['kind'])
    assert.deepEqual(
      fields(await call('POST', '', { emails: Array.from({ length: 1001 }, (_, i) => `${i}@b.example`) })),
      ['emails'],
    )
    assert.deepEqual(sorted(fields(await call('GET', '?after=yesterday&kind=whim&limit=0'))), [
      'after',
      'kind',
      'limit',
    ])
    assert.deepEqual(fields(await call('DELETE', '')), ['email'])
    assert.deepEqual(fields(await call('GET', '/nobody')), ['email'])
    assert.deepEqual(await listed(), [])
  })

  it('an unlisted address is 404', async () => {
    for (const [method, path] of [
      ['GET', '/anna%40b.example'],
      ['DELETE', '/anna%40b.example'],
      ['DELETE', '?email=anna%40b.example'],
    ] as const)
      assert.deepEqual((await call(method, path)).body['error'], 'NOT_FOUND')
  })

  it('is listed in pages and filtered', async () => {
    await call('POST', '', { emails: ['a1@b.example', 'a2@b.example'] })
    await call('POST', '', { email: 'c@b.example', kind: 'complaint' })
    const { body } = await call('GET', '?limit=2')
    assert.deepEqual(
      [body['data']?.['total'], body['data']?.['totalPages'], body['data']?.['meta']?.['has_more']],
      [3, 2, true],
    )
    assert.deepEqual(sorted(await listed('?search=A')), ['a1@b.example', 'a2@b.example'])
    assert.deepEqual(await listed('?cause=complaint'), ['c@b.example'])
    assert.deepEqual(await listed('?email=C@b.example'), ['c@b.example'])
    assert.deepEqual(await listed(`?before=${new Date(Date.now() - 60_000).toISOString()}`), [])
  })

  it('imports a file, reports invalid rows, and can be repeated', async () => {
    const file = 'email,reason,kind\r\nanna@b.example,left,unsubscribe\r\nnobody,,\r\nBob@b.example,,\r\n'
    const first = await upload(file)
    assert.strictEqual(first.status, 200)
    assert.deepEqual(first.body['data'], {
      added: 2,
      strengthened: 0,
      unchanged: 0,
      invalid: 1,
      errors: [{ line: 3, value: 'nobody', message: 'the address has no "@"' }],
    })
    assert.strictEqual((await upload(file)).body['data']?.['unchanged'], 2)
    assert.deepEqual(await listed('?kind=unsubscribe'), ['anna@b.example'])
    const json = await call('POST', '/import', {
      emails: ['carl@b.example', { email: 'x' }, { address: 'anna@b.example' }],
    })
    assert.deepEqual(
      [json.body['data']?.['added'], json.body['data']?.['unchanged'], json.body['data']?.['invalid']],
      [1, 1, 1],
    )
    assert.deepEqual(fields(await call('POST', '/import', {})), ['suppressions'])
  })

  it('a truncated file is imported up to its end', async () => {
    const { body } = await upload('email\nanna@b.example\n"bob')
    assert.deepEqual([body['data']?.['added'], body['data']?.['invalid']], [1, 1])
  })

  it('exports the list as CSV without formulas, which can be imported again', async () => {
    const rows = Array.from({ length: 2300 }, (_, i) => `${i}@b.example,=cmd|' /C calc'!A0`).join('\n')
    assert.strictEqual((await upload(`email,reason\n=1+1@b.example,x\n${rows}`)).body['data']?.['added'], 2301)
    const { headers, body } = await call('GET', '/export')
    assert.match(headers.get('content-type') ?? '', /^text\/csv/)
    const file = textOf(body)
    assert.strictEqual(file.trim().split('\r\n').length, 2302)
    assert.strictEqual(/^[=+\-@]|,"?[=+\-@]/m.test(file), false)
    await api.db.query('DELETE FROM suppressions')
    assert.strictEqual((await upload(file)).body['data']?.['added'], 2301)
    const { body: one } = await call('GET', '/=1+1%40b.example')
    assert.strictEqual(one['data']?.['cause'], 'x')
    assert.match(textOf((await call('GET', '/7%40b.example')).body['data']?.['cause']), /^=cmd/)
  })

  it('the list of another workspace is separate', async () => {
    await call('POST', '', { email: 'anna@b.example' })
    assert.deepEqual(await listed('', other.admin), [])
    assert.strictEqual((await call('GET', '/anna%40b.example', undefined, other.admin)).status, 404)
    assert.strictEqual((await call('DELETE', '/anna%40b.example', undefined, other.admin)).status, 404)
    assert.strictEqual((await call('DELETE', '', { emails: ['anna@b.example'] }, other.admin)).status, 404)
    assert.strictEqual(textOf((await call('GET', '/export', undefined, other.admin)).body).includes('anna'), false)
    await upload('anna@b.example\n', other.admin)
    assert.deepEqual([await listed(), await listed('', other.admin)], [['anna@b.example'], ['anna@b.example']])
  })

  it('the reason of a removal is in the audit log and in the history of the contact', async () => {
    const email = 'anna@b.example'
    const { rows } = await api.db.query<{ id: string }>(
      `INSERT INTO contacts (id, workspace_id, email) VALUES (gen_random_uuid(), $1, $2) RETURNING id`,
      [api.workspaceId, email],
    )
    const removals: readonly (readonly [path: string, body: unknown, reason: string | null])[] = [
      ['/anna%40b.example?reason=asked+again', undefined, 'asked again'],
      ['', { email, reason: 'new mailbox' }, 'new mailbox'],
      ['', { suppressions: [{ email: 'Anna@B.example', reason: 'of the entry' }], reason: 'of all' }, 'of the entry'],
      ['?email=anna%40b.example&reason=by+query', undefined, 'by query'],
      ['/anna%40b.example', undefined, null],
    ]
    for (const [path, body] of removals) {
      await call('POST', '', { email })
      assert.strictEqual((await call('DELETE', path, body)).status, 200)
    }
    const reasons = removals.map(([, , reason]) => reason)
    const log = await api.db.query<{ reason: string }>(
      sql`
        SELECT after ->> 'removal_reason' AS reason
        FROM audit_log
        WHERE after ? 'removal_reason' AND object = $1
        ORDER BY id
      `,
      [email],
    )
    assert.deepEqual(
      log.rows.map(({ reason }) => reason).filter((reason) => reason !== 'asked'), // of another test
      reasons.filter((reason) => reason !== null),
    )
    const history = await api.call('GET', `/public/contacts/get-contact-history?id=${rows[0]?.id}`, { key: api.admin })
    assert.strictEqual(history.status, 200, JSON.stringify(history.body))
    const found = JSON.stringify(history.body)
    for (const reason of reasons) if (reason !== null) assert.include(found, reason)
    assert.include(found, 'suppression_removal_reason')
  })

  it('a send to a suppressed address fails with its cause', async () => {
    await call('POST', '', { email: 'anna@b.example', reason: 'asked' })
    const sent = await api.call('POST', '/send-email/instant', {
      body: { from: `a@${api.domain}`, to: 'Anna@b.example', subject: 's', text: 't' },
    })
    const { body } = await api.call('GET', `/public/emails/get-email?id=${sent.body['email_id'] as unknown as string}`)
    const events = listOf(body['data']?.['events']).map((event) => [event['type'], event['data']])
    assert.deepEqual(
      [body['status'], events],
      ['suppressed', [['email.failed', { reason: 'suppressed', cause: 'asked', cause_kind: 'manual' }]]],
    )
  })
})
