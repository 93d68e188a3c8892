/** Campaigns over the API, without a worker: the checks before a start, and the moves that are refused. */
import { assert } from 'chai'
import { hexOf, newId } from '#src/platform/id.ts'
import { CAMPAIGN_MOVES } from '#src/campaigns/state.ts'
import type { Translation } from '#src/platform/coded-text.ts'
import { openLog } from '#src/platform/log.ts'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { openRedis, waitUntilReady } from '#src/stores/redis.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers, BODY, createCampaignClient } from '#test/support/campaign.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

describe('campaigns before they are sent', () => {
  let api: TestApi
  let campaigns: ReturnType<typeof createCampaignClient>
  before(async () => {
    api = await startApi()
    campaigns = createCampaignClient(api)
  })
  after(() => api.stop())
  const create = async (count: number, fields: object = {}): Promise<string> => {
    const audience = await addAudience(api)
    await addMembers(api, audience, { count, domain: `${newId()}.example` })
    return campaigns.create({ from: `me@${api.domain}`, audience_ids: [audience], ...fields })
  }
  const preview = async (id: string): Promise<Readonly<Record<string, unknown>>> =>
    (await campaigns.call('GET', `/${id}/preview`)).body['data'] ?? {}
  const codes = (previewed: Readonly<Record<string, unknown>>, level: string): string[] =>
    (previewed['findings'] as { code: string; level: string }[])
      .filter((one) => one.level === level)
      .map(({ code }) => code)

  it('a preview counts recipients by receiver and shows the remaining quota', async () => {
    const id = await create(12)
    const previewed = await preview(id)
    assert.deepEqual(
      [previewed['recipients'], previewed['receiver_count'], previewed['never_mailed_share'], previewed['is_red']],
      [12, 1, 1, false],
    )
    assert.strictEqual((previewed['receivers'] as { recipients: number }[])[0]?.recipients, 12)
    assert.deepEqual(codes(previewed, 'yellow').toSorted(), ['dmarc', 'list-unsubscribe', 'never-mailed', 'spf'])
    assert.ok(
      (previewed['findings'] as { may_force: boolean }[]).every((one) => one.may_force),
      'a finding that is not red does not block',
    )
  })
  it('the expected end is computed from busy hours, not from hours with little mail', async () => {
    const audience = await addAudience(api)
    const domain = `${newId()}.example`
    await addMembers(api, audience, { count: 12, domain })
    const fields = { from: `me@${api.domain}`, audience_ids: [audience] }
    const finish = async (delivered: number, more: object = {}): Promise<number | null> => {
      await api.db.query(
        sql`
          INSERT INTO receiver_hours (receiver, hour, delivered, hard)
          VALUES ($1, date_trunc('hour', now()), $2, 0)
          ON CONFLICT (receiver, hour)
          DO UPDATE SET delivered = $2
        `,
        [domain, delivered],
      )
      const at = (await preview(await campaigns.create({ ...fields, ...more })))['expected_finish_at']
      return at === null ? null : (Date.parse(textOf(at)) - Date.now()) / 60_000
    }
    assert.strictEqual(await finish(3), null)
    const minutes = await finish(36_000)
    assert.ok(minutes !== null && minutes < 1, String(minutes))
    const spread = await finish(36_000, { spread_minutes: 90 })
    assert.ok(spread !== null && spread > 80 && spread <= 90, String(spread))
    const tested = await finish(36_000, { spread_minutes: 90, test: { subject_b: 'Other', minutes: 60 } })
    assert.ok(tested !== null && tested > 140 && tested <= 150, String(tested))
  })
  it('headers are checked, and both subjects of a test', async () => {
    const template = await api.call('POST', '/templates/save', {
      key: api.regular,
      body: { name: 'T', subject: 'Fwd: x', body: BODY },
    })
    const cases: readonly (readonly [fields: object, level: string])[] = [
      [{ subject: ' ' }, 'red'],
      [{ subject: 'RE: your order' }, 'yellow'],
      [{ test: { subject_b: 'Re[2]: x' } }, 'yellow'],
      [{ template_id: textOf(template.body['data']?.['id']), html: undefined, subject: undefined }, 'yellow'],
      [{ subject: 'Regards: spring' }, 'none'],
    ]
    for (const [fields, level] of cases) {
      const previewed = await preview(await create(1, fields))
      const found = ['red', 'yellow'].filter((one) => codes(previewed, one).includes('subject'))
      assert.deepEqual(found, level === 'none' ? [] : [level], JSON.stringify(fields))
    }
  })
  it('a test with too few recipients for both subjects is reported', async () => {
    for (const [count, isReported] of [
      [9, true],
      [10, false],
    ] as const) {
      const previewed = await preview(await create(count, { test: { subject_b: 'Other', percent: 20 } }))
      assert.strictEqual(codes(previewed, 'yellow').includes('test'), isReported, String(count))
    }
  })
  it('a red finding blocks the start unless it is forced', async () => {
    const id = await create(0)
    assert.deepEqual(codes(await preview(id), 'red'), ['nobody'])
    const refused = await campaigns.call('POST', `/${id}/start`)
    assert.deepEqual(
      [refused.status, refused.body['findings']],
      [409, [{ code: 'nobody', message: 'the campaign has no recipients', may_force: true }]],
    )
    assert.match(textOf(refused.body['message']), /no recipients\. .*\{"force": true\}/)
    assert.strictEqual((await campaigns.call('POST', `/${id}/start`, { force: true })).status, 200)
  })
  it('force does not start a campaign that must not be sent', async () => {
    const id = await create(1, { html: '<p>no way out</p>' })
    const answer = await campaigns.call('POST', `/${id}/start`, { force: true })
    assert.strictEqual(answer.status, 409)
    assert.match(textOf(answer.body['message']), /no-unsubscribe-link cannot be forced/)
    assert.deepEqual(
      listOf(answer.body['findings']).map((one) => [one['code'], one['may_force']]),
      [['no-unsubscribe-link', false]],
    )
    assert.deepEqual(codes(await preview(id), 'red'), ['no-unsubscribe-link'])
  })
  it('why it is not sent has a code for a client that asks', async () => {
    const id = await create(0)
    const ask = (method: string, path: string, headers: Record<string, string>): Promise<TestResponse> =>
      api.call(method, `/public/campaigns/${id}${path}`, { key: api.admin, headers })
    const translated = { Prefer: 'translations' }
    const refused = await ask('POST', '/start', translated)
    const { message_translation: why } = refused.body as { message_translation?: Translation }
    assert.deepEqual([why?.code, why?.param_translations], [
      'refusal.campaign_blocked_for_now',
      { problem: { code: 'finding.nobody', params: {} } },
    ] as unknown[])
    await api.db.query(`UPDATE campaigns SET reason = 'the quota of this month is used up' WHERE id = $1`, [id])
    const [usual, found] = [await ask('GET', '', {}), await ask('GET', '', translated)]
    const { reason_translation: ofReason, ...same } = found.body['data'] ?? {}
    assert.deepEqual(ofReason as unknown, { code: 'campaign_reason.quota_used', params: {} })
    assert.deepEqual(same as unknown, usual.body['data'])
  })
  it('the time is accepted under all of its aliases', async () => {
    const at = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 19)
    for (const body of [{ scheduled_for: at }, { scheduledAt: at, recipientTime: true }]) {
      const { body: answer } = await campaigns.call('POST', `/${await create(1)}/schedule`, body)
      assert.deepEqual(
        [answer['data']?.['scheduled_at'], answer['data']?.['recipient_time']],
        [`${at}.000Z`, 'recipientTime' in body],
        JSON.stringify(answer),
      )
    }
    const { status, body } = await campaigns.call('POST', `/${await create(1)}/schedule`, {})
    assert.deepEqual([status, listOf(body['details']).map((detail) => textOf(detail['path']))], [400, ['scheduled_at']])
  })
  it('a time must be in the future and in a known zone; recipient time has no offset', async () => {
    const id = await create(1)
    const wrong: readonly (readonly [body: object, path: string])[] = [
      [{ scheduled_at: 'soon' }, 'scheduled_at'],
      [{ scheduled_at: '2020-01-01_00:00:00' }, 'scheduled_at'],
      [{ scheduled_at: '2031-01-01_00:00:00', timezone: 'Mars/Base' }, 'timezone'],
      [{ scheduled_at: new Date(Date.now() + 86_400_000).toISOString(), recipient_time: true }, 'scheduled_at'],
    ]
    for (const [body, path] of wrong) {
      const answer = await campaigns.call('POST', `/${id}/schedule`, body)
      assert.deepEqual(
        [answer.status, textOf(listOf(answer.body['details'])[0]?.['path'])],
        [400, path],
        JSON.stringify(body),
      )
    }
  })

  const PATHS = {
    recall: 'recall',
    pause: 'pause',
    resume: 'resume',
    cancel: 'cancel',
    retry: 'retry-failed',
    start: 'start',
  } as const
  for (const [move, path] of Object.entries(PATHS)) {
    const { from, to } = CAMPAIGN_MOVES[move as keyof typeof PATHS]
    for (const status of ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'COMPLETED', 'FAILED', 'CANCELLED']) {
      const isFrom = (from as readonly string[]).includes(status)
      const isRepeated = move === 'cancel' && status === 'CANCELLED'
      it(`${path} of a ${status} campaign: ${isFrom || isRepeated ? to : '409'}`, async () => {
        const id = await create(1)
        await api.db.query('UPDATE campaigns SET status = $2, scheduled_at = now() WHERE id = $1', [id, status])
        const answer = await campaigns.call('POST', `/${id}/${path}`)
        assert.strictEqual(answer.status, isFrom || isRepeated ? 200 : 409, JSON.stringify(answer.body))
        assert.strictEqual(textOf((await campaigns.show(id))['status']), isFrom ? to : status)
      })
    }
  }
  it('resume puts only the mail of this campaign back on the schedule', async () => {
    const redis = openRedis(api.redis.url, openLog({ logLevel: 'silent' }, 'test'))
    try {
      assert.ok(await waitUntilReady(redis, 5000))
      await redis.set(EPOCH_KEY, 'filled')
      const id = await create(1)
      await api.db.query(`UPDATE campaigns SET status = 'PAUSED' WHERE id = $1`, [id])
      assert.strictEqual((await campaigns.call('POST', `/${id}/resume`)).status, 200)
      assert.strictEqual(await redis.get(EPOCH_KEY), 'filled')
      assert.strictEqual(
        (await api.db.query(`SELECT FROM let_go WHERE kind = 'campaign' AND subject = $1`, [id])).rowCount,
        1,
      )
    } finally {
      redis.disconnect()
    }
  })
  it('an unknown campaign and one of another workspace are 404', async () => {
    const other = await api.addTenant()
    const id = await create(1)
    for (const path of [...Object.values(PATHS), 'resend'])
      for (const [name, key] of [
        [newId(), api.admin],
        ['x', api.admin],
        [id, other.admin],
      ] as const)
        assert.strictEqual((await api.call('POST', `/public/campaigns/${name}/${path}`, { key })).status, 404, path)
  })

  it('the recipients are listed in pages, by state, and as CSV without formulas', async () => {
    const id = await create(1)
    const rows = ['delivered', 'failed', 'skipped', 'delivered'].map((state, i) => ({
      id: newId(),
      messageId: newId(),
      state,
      email: i === 0 ? '=1+1@a.example' : `b${i}@a.example`,
    }))
    for (const row of rows)
      await api.db.query(
        sql`
          INSERT INTO campaign_recipients (
            campaign_id, contact_id, workspace_id, email, state, is_waiting, reason, message_id
          )
          VALUES ($1, $2, $3, $4, $5, false, 'why', $6)
        `,
        [id, row.id, api.workspaceId, row.email, row.state, row.messageId],
      )
    const first = (await campaigns.call('GET', `/${id}/recipients?limit=2`)).body['data']
    assert.strictEqual(listOf(first?.['recipients']).length, 2)
    const rest = (await campaigns.call('GET', `/${id}/recipients?limit=2&after=${textOf(first?.['next'])}`)).body[
      'data'
    ]
    assert.deepEqual(
      listOf(rest?.['recipients']).map((one) => textOf(one['email'])),
      ['b2@a.example', 'b3@a.example'],
    )
    const lost = (await campaigns.call('GET', `/${id}/recipients?filter=not-sent`)).body['data']
    assert.deepEqual(
      listOf(lost?.['recipients']).map((one) => [textOf(one['state']), textOf(one['reason'])]),
      [
        ['failed', 'why'],
        ['skipped', 'why'],
      ],
    )
    assert.strictEqual((await campaigns.call('GET', `/${id}/recipients?filter=lost`)).status, 400)
    const csv = await fetch(`${api.url}/api/v1/public/campaigns/${id}/recipients.csv`, {
      headers: { authorization: `Bearer ${api.admin}` },
    })
    const lines = (await csv.text()).trim().split('\r\n')
    assert.strictEqual(lines.length, 5)
    assert.ok(lines[1]?.includes(`,'=1+1@a.example,delivered,`), lines[1])
    assert.ok(lines[1]?.includes(`,em_${hexOf(rows[0]?.messageId ?? '')},`), 'by the id that all other answers have')
    assert.strictEqual(lines[0]?.split(',')[6], 'email_id')
  })
})
