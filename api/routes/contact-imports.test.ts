import { request as openRequest } from 'node:http'
import { assert } from 'chai'
import { createAudience } from '#src/contacts/audiences.ts'
import { systemClock } from '#src/platform/clock.ts'
import { newId } from '#src/platform/id.ts'
import { runImports } from '#src/imports/import-runner.ts'
import { openLog } from '#src/platform/log.ts'
import { listOf, startApi, textOf, type TestResponse, type TestApi } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'

const CSV = { 'content-type': 'text/csv' }

describe('imports of contacts over the API', () => {
  let api: TestApi
  let audienceId: string
  before(async () => {
    api = await startApi({ MAX_IMPORT_BYTES: '1000000' })
    audienceId = (
      await createAudience(api.db, api.workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, new Date())
    ).id
  })
  after(() => api.stop())

  const post = (file: string, query = '', headers = CSV): Promise<TestResponse> =>
    api.call('POST', `/public/contacts/import?audienceId=${audienceId}${query}`, {
      key: api.admin,
      body: file,
      headers,
    })
  const ask = (method: string, path: string, key = api.admin): Promise<TestResponse> =>
    api.call(method, `/public/contacts/imports${path}`, { key })
  async function work(): Promise<void> {
    while (await runImports({ db: api.db, clock: systemClock, log: openLog({ logLevel: 'silent' }, 'test') })) {
      /* until none waits */
    }
  }

  it('imports a file and shows progress, counts and row errors', async () => {
    const { status, body } = await post(
      'email,Vorname,Plan\na@x.example,Anna,=pro\nwrong,,\n',
      `&unknown_columns=attributes&mapping=${encodeURIComponent('{"vorname":"first_name"}')}`,
    )
    assert.strictEqual(status, 201, JSON.stringify(body))
    const id = textOf(body['data']?.['id'])
    assert.deepEqual([body['data']?.['status'], body['data']?.['progress']], ['waiting', 0])
    assert.deepEqual(body['data']?.['columns'], [
      { column: 'email', meaning: 'email' },
      { column: 'Vorname', meaning: 'firstName' },
      { column: 'Plan', meaning: 'attribute:Plan' },
    ])
    await work()
    const done = (await ask('GET', `/${id}`)).body['data']
    assert.deepEqual([done?.['status'], done?.['progress'], done?.['audience_id']], ['done', 1, audienceId])
    assert.deepEqual(done?.['rows'], {
      read: 2,
      added: 1,
      updated: 0,
      joined: 1,
      duplicates: 0,
      failed: 1,
      blocked: 0,
      unsubscribed: 0,
    })
    const errors = await ask('GET', `/${id}/errors`)
    assert.deepEqual(errors.body['data'], {
      failed: 1,
      errors: [{ line: 3, column: 'email', message: 'the address has no "@"', value: 'wrong' }],
    })
    const csv = await ask('GET', `/${id}/errors?format=csv`)
    assert.strictEqual(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.strictEqual(csv.body, 'line,column,message,value\r\n3,email,"the address has no ""@""",wrong\r\n')
    assert.strictEqual(listOf((await ask('GET', '')).body['data']?.['imports'])[0]?.['id'], id)
    assert.strictEqual((await ask('DELETE', `/${id}`)).status, 409)
  })

  it('a dry run stores no contact; a waiting import can be cancelled', async () => {
    const dry = textOf((await post('email\nb@x.example\n', '&dryRun=true')).body['data']?.['id'])
    await work()
    assert.strictEqual((await ask('GET', `/${dry}`)).body['data']?.['rows']?.['added'], 1)
    assert.deepEqual((await api.db.query(`SELECT 1 FROM contacts WHERE email = 'b@x.example'`)).rows, [])
    const waiting = textOf((await post('email\nc@x.example\n')).body['data']?.['id'])
    for (const answer of [await ask('DELETE', `/${waiting}`), await ask('DELETE', `/${waiting}`)])
      assert.deepEqual([answer.status, answer.body['data']], [200, { id: waiting, status: 'cancelled' }])
    await work()
    assert.deepEqual((await api.db.query(`SELECT 1 FROM contacts WHERE email = 'c@x.example'`)).rows, [])
  })

  const REFUSED: readonly (readonly [string, () => Promise<TestResponse>, number, string, RegExp])[] = [
    [
      'no audience',
      () => api.call('POST', '/public/contacts/import', { key: api.admin, body: 'email', headers: CSV }),
      400,
      'VALIDATION_ERROR',
      /audienceId: is required/,
    ],
    ['an unknown audience', () => post('email', `&audienceId=${newId()}`), 400, 'VALIDATION_ERROR', /audienceId/],
    [
      'another body',
      () => post('{}', '', { 'content-type': 'application/json' }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      /text\/csv/,
    ],
    [
      'another charset',
      () => post('email', '', { 'content-type': 'text/csv; charset=latin1' }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      /UTF-8/,
    ],
    ['a mapping that is not JSON', () => post('email', '&mapping=x'), 400, 'VALIDATION_ERROR', /mapping/],
    [
      'a mapping of an unknown column',
      () => post('email', '&mapping={"b":"email"}'),
      400,
      'VALIDATION_ERROR',
      /mapping.b: the file has no such column/,
    ],
    ['no address', () => post('name\nx'), 400, 'VALIDATION_ERROR', /no column is the email address/],
    ['nothing', () => post(''), 400, 'VALIDATION_ERROR', /empty/],
    ['too much', () => post(`email\n${'x@x.example\n'.repeat(100_000)}`), 413, 'PAYLOAD_TOO_LARGE', /1000000 bytes/],
    ['an invalid import', () => ask('GET', '/nonsense'), 404, 'NOT_FOUND', /import/],
  ]
  for (const [name, call, status, error, message] of REFUSED) {
    it(`${name}: ${status}`, async () => {
      const answer = await call()
      assert.deepEqual([answer.status, answer.body['error']], [status, error])
      assert.match(textOf(answer.body['message']), message)
    })
  }

  it('a body of unknown length above the limit: 413 during the upload, and nothing is stored', async () => {
    const block = Buffer.from('x@x.example\n'.repeat(5000))
    const status = await new Promise((resolve, reject) => {
      const request = openRequest(
        `${api.url}/api/v1/public/contacts/import?audienceId=${audienceId}`,
        {
          method: 'POST',
          headers: { ...CSV, authorization: `Bearer ${api.admin}` },
        },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      request.on('error', reject)
      request.write('email\n')
      for (let i = 0; i < 40; i++) request.write(block)
    })
    assert.strictEqual(status, 413)
    assert.deepEqual((await api.db.query(`SELECT 1 FROM imports WHERE state = 'uploading'`)).rows, [])
  })

  it('an upload that the client aborts leaves nothing', async () => {
    const request = openRequest(`${api.url}/api/v1/public/contacts/import?audienceId=${audienceId}`, {
      method: 'POST',
      headers: { ...CSV, authorization: `Bearer ${api.admin}` },
    })
    request.on('error', () => undefined)
    request.write(`email\n${'x@x.example\n'.repeat(50_000)}`)
    const left = async (): Promise<number> =>
      (await api.db.query(`SELECT 1 FROM imports WHERE state = 'uploading'`)).rows.length
    await until(async () => (await left()) === 1)
    request.destroy()
    await until(async () => (await left()) === 0)
  })

  it('an import of another workspace is 404', async () => {
    const other = await api.addTenant()
    const id = textOf((await post('email\nd@x.example\n')).body['data']?.['id'])
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/errors'],
      ['DELETE', ''],
    ] as const)
      assert.strictEqual((await ask(method, `/${id}${path}`, other.admin)).status, 404)
    const foreign = await api.call('POST', `/public/contacts/import?audienceId=${audienceId}`, {
      key: other.admin,
      body: 'email\ne@x.example',
      headers: CSV,
    })
    assert.strictEqual(foreign.status, 404)
    assert.strictEqual((await ask('GET', `/${id}`)).body['data']?.['status'], 'waiting')
  })
})
