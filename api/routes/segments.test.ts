/**
 * Segments and exports over the API: what a segment stores and finds, what a file contains, and that an exported
 * file imports unchanged.
 */
import { Readable } from 'node:stream'
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { createAudience } from '#src/contacts/audiences.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save-contacts.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { exportContacts } from '#src/segments/contact-export.ts'
import { runImports } from '#src/imports/import-runner.ts'
import { openLog } from '#src/platform/log.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

const NASTY: readonly ContactRow[] = [
  {
    email: '=cmd@x.example',
    firstName: '=1+1',
    lastName: '+49',
    companyName: '-',
    jobTitle: '@home',
    phoneNumber: '+49 30 1234',
  },
  {
    email: 'anna@x.example',
    firstName: `'=quoted`,
    lastName: `O'Neill, "Anna"`,
    tags: ['vip', '=x'],
    customAttributes: { plan: 'pro', n: 1, '=k': [`"`, null, { a: true }] },
  },
  {
    email: 'ben@x.example',
    firstName: 'Zeile 1\r\nZeile 2',
    lastName: 'ß\u{1f600}',
    timezone: 'Europe/Berlin',
    linkedin: 'https://x.example/?a=1&b=2',
  },
  { email: 'cleo@x.example' },
]

describe('segments and exports over the API', () => {
  let api: TestApi
  let audienceId: string
  before(async () => {
    api = await startApi()
    audienceId = await newAudience(api)
    await save(NASTY)
    await api.db.query(`UPDATE memberships SET is_subscribed = false WHERE email = 'ben@x.example'`)
  })
  after(() => api.stop())

  async function newAudience({ workspaceId }: Tenant): Promise<string> {
    return (
      await createAudience(api.db, workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, new Date())
    ).id
  }
  async function save(rows: readonly ContactRow[], into: string | null = audienceId): Promise<void> {
    await api.db.transaction((tx) =>
      saveContacts(tx, { workspaceId: api.workspaceId, audienceId: into, now: new Date() }, rows),
    )
  }
  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public${path}`, { key, ...(body === undefined ? {} : { body }) })
  const make = async (body: object): Promise<string> =>
    textOf((await call('POST', '/segments', { name: 's', ...body })).body['data']?.['id'])
  const emailsIn = (data: Json | undefined): string[] => listOf(data?.['contacts']).map(({ email }) => textOf(email))

  it('are created, listed, counted, updated and deleted', async () => {
    const made = await call('POST', '/segments', { name: ' VIPs ', audienceId, filter: { tag: 'vip' } })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    const id = textOf(made.body['data']?.['id'])
    assert.deepEqual(
      [made.body['data']?.['name'], made.body['data']?.['audience_id'], made.body['data']?.['filter']],
      ['VIPs', audienceId, { tag: 'vip', has: true }],
    )
    assert.strictEqual((await call('GET', `/segments/${id}`)).body['data']?.['contactCount'], 1)
    const changed = await call('PATCH', `/segments/${id}`, {
      filter: { tag: 'vip', has: false },
      description: 'others',
    })
    assert.deepEqual(
      [changed.status, changed.body['data']?.['name'], changed.body['data']?.['description']],
      [200, 'VIPs', 'others'],
    )
    assert.strictEqual((await call('GET', `/segments/${id}`)).body['data']?.['contact_count'], 3)
    assert.deepEqual(
      listOf((await call('GET', '/segments')).body['data']?.['segments']).map((one) => one['id']),
      [id],
    )
    assert.strictEqual((await call('DELETE', `/segments/${id}`)).status, 204)
    assert.strictEqual((await call('GET', `/segments/${id}`)).status, 404)
  })

  it('a preview returns the count and a sample', async () => {
    const { body } = await call('POST', '/segments/preview', {
      filter: { field: 'email', op: 'contains', value: 'n@x' },
    })
    assert.deepEqual([body['data']?.['count'], emailsIn(body['data'])], [1, ['ben@x.example']])
  })

  it('warn of an attribute that no contact has, and name the nearest one', async () => {
    const warningsOf = async (method: string, path: string, body?: object): Promise<unknown> =>
      (await call(method, path, body)).body['data']?.['warnings']
    const filterOn = (...names: string[]): object => ({
      any: names.map((attribute) => ({ not: { attribute, op: 'exists' } })),
    })
    const warning = 'No contact has the attribute "Plan". Did you mean "plan"?'
    assert.deepEqual(await warningsOf('POST', '/segments', { name: 's', filter: filterOn('plan', 'n') }), [])
    assert.deepEqual(await warningsOf('POST', '/segments/preview', { filter: filterOn('Plan', 'zzz') }), [
      warning,
      'No contact has the attribute "zzz".',
    ])
    const id = await make({ filter: { tag: 'vip' } })
    assert.deepEqual(await warningsOf('PATCH', `/segments/${id}`, { filter: filterOn('Plan') }), [warning])
    assert.deepEqual(await warningsOf('GET', `/segments/${id}`), [warning])
  })

  for (const within of ['an audience', 'the workspace']) {
    it(`pages of ${within} contain each contact once, at any page size`, async () => {
      const id = await make({ filter: { all: [] }, ...(within === 'an audience' ? { audience_id: audienceId } : {}) })
      const seen: string[] = []
      for (let after: string | null = ''; after !== null;) {
        const { status, body } = await call(
          'GET',
          `/segments/${id}/contacts?limit=2${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
        )
        assert.strictEqual(status, 200, JSON.stringify(body))
        seen.push(...emailsIn(body['data']))
        const next: unknown = body['data']?.['next']
        after = next === null ? null : textOf(next)
      }
      assert.deepEqual(seen.toSorted(), NASTY.map(({ email }) => email).toSorted())
    })
  }

  const REFUSED: readonly (readonly [string, string, string, unknown, number, RegExp])[] = [
    ['no name', 'POST', '/segments', { filter: { tag: 'a' } }, 400, /^name: is required/],
    ['no filter', 'POST', '/segments', { name: 's' }, 400, /^filter: must be an object/],
    [
      'a wrong filter',
      'POST',
      '/segments',
      { name: 's', filter: { all: [{ field: 'x', value: 'y' }] } },
      400,
      /^filter\.all\.0\.field: must be one of/,
    ],
    [
      'an unknown audience',
      'POST',
      '/segments',
      { name: 's', audience_id: newId(), filter: { tag: 'a' } },
      404,
      /audience/,
    ],
    ['a malformed id', 'GET', '/segments/x', undefined, 404, /segment/],
    ['an export of an unknown segment', 'GET', `/contacts/export?segmentId=${newId()}`, undefined, 404, /segment/],
    ['an export of an unknown audience', 'GET', `/contacts/export?audienceId=x`, undefined, 404, /audience/],
  ]
  for (const [name, method, path, body, status, message] of REFUSED) {
    it(`${name}: ${status}`, async () => {
      const answer = await call(method, path, body)
      assert.strictEqual(answer.status, status)
      assert.match(textOf(answer.body['message']), message)
    })
  }

  it('an invalid cursor is refused', async () => {
    const id = await make({ filter: { all: [] }, audienceId })
    assert.strictEqual((await call('GET', `/segments/${id}/contacts?after=x`)).status, 400)
  })

  it('a segment of another workspace is 404', async () => {
    const other = await api.addTenant()
    const id = await make({ filter: { all: [] } })
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['GET', '/contacts', undefined],
    ] as const)
      assert.strictEqual((await call(method, `/segments/${id}${path}`, body, other.admin)).status, 404)
    assert.strictEqual((await call('GET', `/contacts/export?segmentId=${id}`, undefined, other.admin)).status, 404)
    assert.strictEqual(
      (await call('GET', `/contacts/export?audienceId=${audienceId}`, undefined, other.admin)).status,
      404,
    )
    assert.strictEqual(
      textOf((await call('GET', '/contacts/export', undefined, other.admin)).body).split('\r\n').length,
      2,
    )
  })

  it('an export imported into another workspace creates equal contacts', async () => {
    const { body, headers } = await call('GET', `/contacts/export?audienceId=${audienceId}`)
    assert.strictEqual(headers.get('content-type'), 'text/csv; charset=utf-8')
    const file = textOf(body)
    assert.ok(!/(?:^|,)"?[=+\-@]/m.test(file), file)
    const other = await api.addTenant()
    const into = await newAudience(other)
    const posted = await api.call('POST', `/public/contacts/import?audienceId=${into}`, {
      key: other.admin,
      body: file,
      headers: { 'content-type': 'text/csv' },
    })
    assert.strictEqual(posted.status, 201, JSON.stringify(posted.body))
    while (await runImports({ db: api.db, clock: systemClock, log: openLog({ logLevel: 'silent' }, 'test') })) {
      /* until none waits */
    }
    assert.deepEqual(await stored(other.workspaceId), await stored(api.workspaceId))
  })

  async function stored(workspaceId: string): Promise<unknown[]> {
    const { rows } = await api.db.query(
      sql`
        SELECT c.email, first_name, last_name, company_name, job_title, phone_number, linkedin, timezone, tags,
          custom_attributes, m.is_subscribed
        FROM contacts c
        JOIN memberships m ON m.contact_id = c.id
        WHERE c.workspace_id = $1
        ORDER BY c.email
      `,
      [workspaceId],
    )
    return rows
  }

  it('an export can be limited to subscribed contacts or to a segment', async () => {
    const subscribed = textOf((await call('GET', `/contacts/export?audience_id=${audienceId}&subscribed_only=1`)).body)
    assert.ok(!subscribed.includes('ben@x.example') && subscribed.includes('cleo@x.example'))
    const id = await make({ filter: { tag: 'vip' } })
    const some = textOf((await call('GET', `/contacts/export?segment_id=${id}`)).body)
    assert.deepEqual(
      some
        .split('\r\n')
        .slice(1, -1)
        .map((line) => line.split(',')[1]),
      ['anna@x.example'],
    )
  })

  it('a large export contains each contact once; an export that the client abandons ends', async () => {
    const many = await newAudience(api)
    const emails = Array.from({ length: 4321 }, (_, i) => `p${i}@many.example`)
    await save(
      emails.map((email) => ({ email, firstName: 'x'.repeat(200) })),
      many,
    )
    const lines = textOf((await call('GET', `/contacts/export?audienceId=${many}`)).body)
      .split('\r\n')
      .slice(1, -1)
    assert.deepEqual(lines.map((line) => line.split(',')[1] ?? '').toSorted(), emails.toSorted())
    let questions = 0
    const counting: Queryable = {
      query: (statement, values) => {
        questions++
        return api.db.query(statement, values)
      },
    }
    const selection = { workspaceId: api.workspaceId, audienceId: many, filter: null, isSubscribedOnly: false }
    const stream = Readable.from(exportContacts(counting, selection, Date.now()), { highWaterMark: 1 })
    await new Promise((resolve) => {
      stream.once('data', resolve)
    })
    stream.destroy()
    await new Promise((resolve) => {
      stream.once('close', resolve)
    })
    assert.ok(questions <= 2, `asked ${questions} times for somebody who went away`)
  })
})
