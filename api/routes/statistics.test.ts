import { assert } from 'chai'
import { countEvents } from '#src/statistics/count-events.ts'
import { storeMail } from '#src/statistics/mail.test-data.ts'
import { newId } from '#src/platform/id.ts'
import { until } from '#test/support/until.ts'
import { OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

const HOSTILE_TAG = '=HYPERLINK("https://evil.example","open")'

describe('statistics by API', () => {
  let api: TestApi
  let campaign: string
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1' })
    campaign = newId()
    const { workspaceId } = api
    const at = new Date()
    await storeMail(api.db, { workspaceId, at, tags: [HOSTILE_TAG, 'a,"b"'], host: 'mx.a.example' }, [['email.sent']])
    await storeMail(api.db, { workspaceId, at, tags: ['plain'], campaignId: campaign, host: 'mx.a.example' }, [
      ['email.sent'],
      ['email.clicked', { machine: false, first: true, url: 'https://shop.example/?to=anna%40b.example&utm_id=x' }],
    ])
    await until(async () => {
      while (await countEvents(api));
      const { rows } = await api.db.query("SELECT FROM statistics WHERE dimension = 'all' AND clicked = 1")
      return rows.length === 2
    })
  })
  after(() => api.stop())

  const get = (path: string): Promise<TestResponse> => api.call('GET', `/public/statistics${path}`, { key: api.admin })
  const download = async (path: string, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(`${api.url}/api/v1/public/statistics${path}`, {
      headers: { Authorization: `Bearer ${api.admin}`, ...headers },
    })
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
    return response.text()
  }
  const asOperator = (path: string): Promise<TestResponse> =>
    api.call('GET', `/admin/statistics${path}`, { key: OPERATOR_TOKEN })
  type Counted = { readonly value: string | null; readonly counts: Record<string, number> }
  const totalsOf = ({ body }: TestResponse): Counted[] => (body['data'] as unknown as { totals: Counted[] }).totals

  it('counts by interval and group', async () => {
    const all = await get('?counters=sent,clicked')
    assert.strictEqual(all.status, 200, JSON.stringify(all.body))
    assert.deepEqual(totalsOf(all), [{ value: null, counts: { sent: 2, clicked: 1 } }])
    assert.deepEqual(totalsOf(await get('?group_by=tag&value=plain&counters=sent')), [
      { value: 'plain', counts: { sent: 1 } },
    ])
    for (const interval of ['minute', 'hour', 'day', 'week', 'month']) {
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const { status, body } = await get(`?interval=${interval}&group_by=receiver&timezone=Asia/Kolkata&from=${from}`)
      assert.strictEqual(status, 200, JSON.stringify(body))
    }
  })

  it('returns CSV whose cells are no formulas', async () => {
    const text = await download('?group_by=tag&counters=sent&format=csv')
    assert.include(text, `"'=HYPERLINK(""https://evil.example"",""open"")",1`)
    assert.include(text, '"a,""b""",1')
    assert.match(await download('?counters=sent', { Accept: 'text/csv' }), /^start,local,sent\r\n/)
    assert.match(await download('/links?format=csv'), /^position,url,clicked,clicked_unique,clicked_machine\r\n,https:/)
  })

  it('names links without what identifies a person', async () => {
    const { body } = await get(`/links?campaign_id=${campaign}`)
    assert.deepEqual(body['data']?.['links'], [
      { url: 'https://shop.example/?utm_id=x', position: null, clicked: 1, clicked_unique: 1, clicked_machine: 0 },
    ])
    assert.deepEqual((await get(`/links?campaign_id=${newId()}`)).body['data']?.['links'], [])
  })

  it('counts all workspaces for the operator, or one', async () => {
    const all = await asOperator('?group_by=workspace&counters=sent')
    assert.deepEqual(totalsOf(all), [{ value: api.workspaceId, counts: { sent: 2 } }])
    const one = await asOperator(`?workspace_id=${api.workspaceId}&group_by=campaign&counters=sent`)
    assert.deepEqual(totalsOf(one), [{ value: campaign, counts: { sent: 1 } }])
    assert.strictEqual((await asOperator(`/links?workspace_id=${api.workspaceId}`)).status, 200)
  })

  it('a limit out of range is refused with its bounds', async () => {
    for (const [limit, message] of [
      ['0', 'limit: at least 1'],
      ['1.5', 'limit: must be a whole number'],
      ['many', 'limit: must be a whole number'],
    ]) {
      for (const path of ['', '/links']) {
        const { body } = await get(`${path}?limit=${limit}`)
        assert.strictEqual(body['message'], message, path)
      }
    }
  })

  for (const [what, path] of [
    ['an unknown counter', '?counters=sent,nothing'],
    ['an unknown time zone', '?timezone=Mars/Base'],
    ['a time that is none', '?from=yesterday'],
    ['an end before the start', '?from=2026-02-02&to=2026-02-01'],
    ['minutes that are not stored', '?interval=minute&from=2026-01-01'],
    [
      'too many rows',
      `?interval=minute&group_by=tag&limit=100&from=${new Date(Date.now() - 20 * 3_600_000).toISOString()}`,
    ],
    ['too many intervals', '?from=1900-01-01&to=2026-01-01'],
    ['a value without a group', '?value=x'],
    ['a group of all workspaces', '?group_by=workspace'],
    ['links of a campaign and a template', `/links?campaign_id=${newId()}&template_id=${newId()}`],
  ] as const)
    it(`refuses ${what}`, async () => {
      const { status, body } = await get(path)
      assert.strictEqual(status, 400, JSON.stringify(body))
      assert.strictEqual(textOf(body['error']), 'VALIDATION_ERROR')
    })

  it('refuses the operator groups that need a workspace', async () => {
    assert.strictEqual((await asOperator('?group_by=tag')).status, 400)
    assert.strictEqual((await asOperator(`?group_by=workspace&workspace_id=${api.workspaceId}`)).status, 400)
    assert.strictEqual((await asOperator('?workspace_id=1')).status, 400)
  })
})
