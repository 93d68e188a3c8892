import { assert } from 'chai'
import { run } from '#bin/commands/dmarc.ts'
import type { ReportRecord } from '#src/dmarc/aggregate-report.ts'
import { storeDmarcReport } from '#src/dmarc/received.ts'
import { nameSources } from '#src/dmarc/source-names.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, startApi, type Json, type TestApi } from '#test/support/api.ts'
import { runCommand } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'

const RECORD: ReportRecord = {
  address: '192.0.2.10',
  headerFrom: 'dmarc.example',
  messages: 100,
  disposition: 'none',
  isDkimAligned: true,
  isSpfAligned: true,
  override: null,
  dkimDomain: 'dmarc.example',
  spfDomain: 'bounce.dmarc.example',
}
const FAILING = { isDkimAligned: false, isSpfAligned: false, dkimDomain: null, spfDomain: null }
const DAY_MS = 86_400_000
const NOW = Math.floor(Date.now() / DAY_MS) * DAY_MS

describe('DMARC reports in the API', () => {
  let ctx: TestContext
  let api: TestApi
  const id = newId()
  before(async () => {
    ctx = await createContext({ MAILSTEAD_HOSTNAME: 'mta.sender.example' })
    const env = { PUBLIC_URL: 'https://mail.example', MAILSTEAD_HOSTNAME: 'mta.sender.example', MODE: 'live' }
    api = await startApi(env, ctx.databaseUrl)
    await api.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'dmarc.example', 'verified')
      `,
      [id, api.workspaceId],
    )
  })
  after(async () => {
    await api.stop()
    await ctx.close()
  })

  async function store(daysAgo: number, records: readonly ReportRecord[], signer = 'r.example'): Promise<void> {
    const beginsAt = new Date(NOW - daysAgo * DAY_MS)
    await storeDmarcReport(api.db, {
      owner: { id, workspaceId: api.workspaceId, domain: 'dmarc.example' },
      records,
      signer,
      nowMs: Date.now(),
      report: {
        organization: 'Receiver',
        email: 'x@r.example',
        reportId: newId(),
        beginsAt,
        endsAt: new Date(beginsAt.getTime() + DAY_MS - 1000),
        policy: { domain: 'dmarc.example', p: 'none', sp: null, pct: 100 },
        records: [],
        skipped: 0,
      },
    })
  }
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await api.call('GET', path, { key: api.admin })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return body['data'] as Json
  }

  it('ask for reports while there are none', async () => {
    assert.containsSubset(await get(`/public/domains/dmarc/${id}`), {
      report_address: 'dmarc-reports@bounces.mta.sender.example',
      policy: null,
      totals: { messages: 0 },
      next_step: { code: 'no_reports', url: 'https://mail.example/docs/guides/dmarc-reports#domain-no-reports' },
    })
  })

  it('show the sources of the period with the next step for each', async () => {
    for (let day = 1; day <= 14; day++) await store(day, [RECORD])
    await store(2, [
      { ...RECORD, ...FAILING, address: '203.0.113.66', messages: 40 },
      { ...RECORD, address: '2001:db8::7', messages: 6, isSpfAligned: false },
      { ...RECORD, ...FAILING, address: '198.51.100.7', messages: 5, dkimDomain: 'crm.example' },
    ])
    await store(2, [{ ...RECORD, messages: 9999 }], '')
    await store(40, [{ ...RECORD, address: '192.0.2.99' }])
    const dns = {
      ptr: (address: string) =>
        Promise.resolve({
          kind: 'answered' as const,
          records: address === '203.0.113.66' ? ['forged.r.example'] : ['mta.sender.example'],
        }),
      ofFamily: (name: string) =>
        Promise.resolve({ kind: 'answered' as const, records: name === 'mta.sender.example' ? ['192.0.2.10'] : [] }),
    }
    assert.isFalse(await nameSources(api.db, dns, new Date()))
    const data = await get('/public/domains/dmarc/dmarc.example')
    assert.containsSubset(data, {
      reports: 15,
      unverified_reports: 1,
      days: 14,
      totals: { messages: 1451, passed: 1406, failed: 45, dkim_aligned: 1406, spf_aligned: 1400 },
      policy: { p: 'none', pct: 100 },
      source_count: 4,
      next_step: { code: 'raise' },
    })
    const shown = listOf(data['sources']).map((source) => [
      source['address'],
      source['is_ours'],
      source['name'],
      source['organization'],
      (source['next_step'] as Json)['code'],
    ])
    assert.deepEqual(shown, [
      ['192.0.2.10', true, 'mta.sender.example', 'sender.example', 'passing'],
      ['203.0.113.66', false, 'forged.r.example', null, 'unknown_sender'],
      ['2001:db8::7', false, 'mta.sender.example', null, 'forwarded'],
      ['198.51.100.7', false, 'mta.sender.example', null, 'unaligned'],
    ])
    const reports = listOf((await get('/public/domains/dmarc-reports/dmarc.example'))['reports'])
    assert.lengthOf(reports, 17)
    assert.lengthOf(
      reports.filter((one) => one['signer'] === null),
      1,
    )
  })

  it('refuse a period that is not one, and a domain of nobody', async () => {
    const statusOf = async (path: string): Promise<number> => (await api.call('GET', path, { key: api.admin })).status
    assert.strictEqual(await statusOf(`/public/domains/dmarc/${id}?from=2026-02-01&to=2026-01-01`), 400)
    assert.strictEqual(await statusOf(`/public/domains/dmarc/${id}?from=2020-01-01&to=2026-01-01`), 400)
    assert.strictEqual(await statusOf(`/public/domains/dmarc/${id}?from=yesterday`), 400)
    assert.strictEqual(await statusOf(`/public/domains/dmarc/${newId()}`), 404)
    assert.strictEqual(await statusOf('/public/domains/dmarc-reports/other.example'), 404)
  })

  it('show the operator all domains', async () => {
    const { body } = await api.call('GET', '/admin/dmarc', { key: OPERATOR_TOKEN })
    assert.containsSubset((body['data'] as Json)['domains'], [
      { domain: 'dmarc.example', workspace_id: api.workspaceId, sources: 4, messages: 1451, failed: 45 },
    ])
  })

  it('print as tables', async () => {
    const env = { DATABASE_URL: ctx.databaseUrl, MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.sender.example' }
    const show = await runCommand(run, ['show', 'dmarc.example', '--workspace', api.workspaceId], env)
    assert.match(show.out, /1,?451 messages, 1406 passed, 45 failed; 15 reports on 14 days, policy p=none pct=100/)
    assert.match(show.out, /Not verified, and not counted: 1 report\./)
    assert.match(show.out, /192\.0\.2\.10 +this installation +1400/)
    assert.match(
      (await runCommand(run, ['reports', 'dmarc.example', '--workspace', api.workspaceId], env)).out,
      /nothing, not counted/,
    )
    assert.match((await runCommand(run, ['overview'], env)).out, /dmarc\.example .* 4 +1451 +1406 +45/)
  })
})
