/** The operator's notices over HTTP and on the command line. */
import { assert } from 'chai'
import { run as runNotices } from '#bin/commands/notices.ts'
import { newId } from '#src/platform/id.ts'
import { raiseNotices } from '#src/operator/notices.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type TestResponse, type TestApi } from '#test/support/api.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'

const HOSTILE = '550 \u001b[31m\u001b]0;title\u0007<script>alert(1)</script>\r\nsecond'

describe('notices', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())
  beforeEach(async () => {
    await api.db.query('DELETE FROM operator_notices')
    await raiseNotices(
      api.db,
      'happened',
      ['gmail', 'yahoo'].map((subject, i) => ({
        kind: 'reply',
        subject,
        text: HOSTILE,
        count: 3,
        at: new Date(Date.UTC(2026, 0, 1 + i)),
      })),
    )
  })

  const call = (method: string, path: string, body?: object): Promise<TestResponse> =>
    api.call(method, `/admin/notices${path}`, {
      key: OPERATOR_TOKEN,
      headers: { 'x-operator': 'anna' },
      ...(body === undefined ? {} : { body }),
    })
  const run = (...args: string[]): Promise<CommandResult> =>
    runCommand(runNotices, args, { DATABASE_URL: api.config.databaseUrl ?? '', REDIS_URL: 'redis://127.0.0.1:1' })

  it('are listed latest first, and acknowledged one by one or all together', async () => {
    const first = listOf((await call('GET', '')).body['data']?.['notices'])
    assert.deepEqual(
      first.map(({ subject, count, text }) => [subject, count, text]),
      [
        ['yahoo', 3, HOSTILE],
        ['gmail', 3, HOSTILE],
      ],
    )
    const id = textOf(first[0]?.['id'])
    assert.strictEqual((await call('POST', '/acknowledge', { id })).status, 200)
    assert.strictEqual((await call('POST', '/acknowledge', { id })).status, 404)
    assert.deepEqual(
      listOf((await call('GET', '')).body['data']?.['notices']).map(({ subject }) => subject),
      ['gmail'],
    )
    const all = listOf((await call('GET', '?state=all')).body['data']?.['notices'])
    assert.deepEqual(
      all.map(({ acknowledged_by: by }) => (by === null ? null : textOf(by).startsWith('anna, from '))),
      [true, null],
    )
    assert.strictEqual((await call('POST', '/acknowledge', { all: true })).status, 200)
    assert.deepEqual(listOf((await call('GET', '')).body['data']?.['notices']), [])
  })
  for (const body of [{}, { id: 'x', all: true }, { all: false }, { id: 7 }])
    it(`refuses ${JSON.stringify(body)}`, async () =>
      assert.strictEqual((await call('POST', '/acknowledge', body)).status, 400))
  for (const id of ['x', newId()])
    it(`an unknown id of ${id.length} characters is 404`, async () =>
      assert.strictEqual((await call('POST', '/acknowledge', { id })).status, 404))

  it('the command line prints no control characters from remote text', async () => {
    const { code, out } = await run()
    assert.strictEqual(code, 0)
    assert.match(out, /reply +3 +2026-01-02T00:00:00\.000Z +yahoo +550 \?\[31m/)
    assert.notMatch(out, /[^\P{Cc}\n]/u)
    assert.strictEqual(out.trimEnd().split('\n').length, 3)
    const [one] = JSON.parse((await run('--json')).out) as { id: string; text: string }[]
    assert.strictEqual(one?.text, HOSTILE)
    assert.strictEqual((await run('ack', one?.id ?? '')).code, 0)
    assert.strictEqual((await run('ack', one?.id ?? '')).code, 1)
    assert.strictEqual((await run('ack', 'x')).code, 2)
    assert.strictEqual((await run('ack', 'all')).code, 0)
    assert.match((await run('list')).out, /^No notices\.$/m)
    assert.match((await run('list', '--all')).out, /\(acknowledged\)/)
  })
})
