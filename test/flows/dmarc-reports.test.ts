/**
 * DMARC reports that receivers send to the inbound port about domains of workspaces: what is counted, for whom, and
 * what is not.
 */
import { assert } from 'chai'
import { type Inbound, startInbound } from '#mta/inbound/inbound.ts'
import { MAX_DMARC_MAIL_OCTETS } from '#src/dmarc/received-queue.ts'
import { createRegistry, type MetricRegistry } from '#src/metrics/registry.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createHousekeepingRound } from '#worker/housekeeping.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { dmarcMessageOf, dmarcXmlOf, type XmlReport, type XmlRow } from '#test/support/dmarc-report-mail.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { SIGNER_MAIL_RECORD, signMessage } from '#test/support/tls-report-mail.ts'
import { until } from '#test/support/until.ts'

const ADDRESS = 'dmarc-reports@bounces.mta.sender.example'
const OURS: XmlRow = { address: '192.0.2.10', messages: 90, dkim: true, spf: true }
const FORGED: XmlRow = { address: '203.0.113.66', messages: 70 }
const DAY_MS = 86_400_000

describe('DMARC reports that come', () => {
  let dns: TestDns
  let ctx: TestContext
  let inbound: Inbound
  let registry: MetricRegistry
  let [mine, theirs] = ['', '']
  before(async () => {
    dns = await startDns({
      's1._domainkey.receiver.example': { TXT: [SIGNER_MAIL_RECORD] },
      's1._domainkey.evil.example': { TXT: [SIGNER_MAIL_RECORD] },
    })
    ctx = await createContext({ MAILSTEAD_HOSTNAME: 'mta.sender.example', INBOUND_PORT: '0', DNS_SERVERS: dns.server })
    registry = createRegistry()
    inbound = await startInbound(ctx, registry)
    mine = await ctx.newWorkspace()
    theirs = await ctx.newWorkspace()
    await addDomain(mine, 'shop.example', 'verified')
    await addDomain(theirs, 'news.shop.example', 'degraded')
    await addDomain(theirs, 'pending.example', 'pending')
  })
  after(async () => {
    await inbound.stop()
    await Promise.all([ctx.close(), dns.stop()])
  })
  afterEach(async () => {
    for (const table of ['dmarc_reports', 'dmarc_alerts', 'events']) await ctx.db.query(`DELETE FROM ${table}`)
  })

  async function addDomain(workspaceId: string, domain: string, status: string): Promise<void> {
    await ctx.db.query(
      'INSERT INTO domains (id, workspace_id, domain, verification_status, verified_at) VALUES ($1, $2, $3, $4, now())',
      [newId(), workspaceId, domain, status],
    )
  }

  const submit = async (content: Buffer): Promise<string> =>
    (await submitMessage(inbound.port, { from: 'x@receiver.example', to: ADDRESS, content })).at(-1) ?? ''
  async function mail(report: XmlReport, signer: string | null = 'receiver.example'): Promise<void> {
    const message = dmarcMessageOf({ xml: dmarcXmlOf(report), from: `dmarc@${signer ?? 'receiver.example'}` })
    assert.match(await submit(signer === null ? message : await signMessage(message, signer)), /^250 /)
    await until(
      async () => (await ctx.db.query('SELECT FROM dmarc_report_arrivals')).rows.length === 0,
      () => 'the report is not processed',
    )
  }
  async function stored(): Promise<string[]> {
    const { rows } = await ctx.db.query<{ text: string }>(
      sql`
        SELECT concat_ws(
          ' ', d.domain, report_id, coalesce(nullif(signer, ''), 'unverified'), r.messages, passed,
            (SELECT sum(messages) FROM dmarc_sources s WHERE s.report_id = r.id)
        ) AS text
        FROM dmarc_reports r
        JOIN domains d ON d.id = domain_id
        ORDER BY 1
      `,
    )
    return rows.map(({ text }) => text)
  }
  async function alerts(): Promise<string[]> {
    const { rows } = await ctx.db.query<{ text: string }>(
      sql`
        SELECT concat_ws(' ', data->>'domain', data->>'source_ip', data->>'messages', workspace_id = '${mine}') AS text
        FROM events
        WHERE type = 'domain.unaligned'
        ORDER BY 1
      `,
    )
    return rows.map(({ text }) => text)
  }
  const counted = (result: string): number =>
    (registry.snapshot()['mailstead_dmarc_reports_total'] ?? []).find(({ labels }) => labels[0] === result)?.value ?? 0

  it('are stored once, with their sources, though two processes receive them', async () => {
    const report = { id: 'a', domain: 'shop.example', rows: [OURS, FORGED] }
    await Promise.all([mail(report), mail(report)])
    await mail(report)
    assert.deepEqual(await stored(), ['shop.example a receiver.example 160 90 160'])
    assert.strictEqual(counted('counted'), 1)
    assert.strictEqual(counted('repeated'), 2)
  })

  it('belong to the most specific verified domain, and to no other workspace', async () => {
    const rows = [OURS, { ...OURS, from: 'news.shop.example', messages: 5 }, { ...OURS, from: 'a.news.shop.example' }]
    await mail({ id: 'a', domain: 'shop.example', rows: [...rows, { ...OURS, from: 'foreign.example' }] })
    assert.deepEqual(await stored(), [
      'news.shop.example a receiver.example 95 95 95',
      'shop.example a receiver.example 90 90 90',
    ])
  })

  it('about a domain that nobody verified here are dropped', async () => {
    const before = counted('foreign')
    await mail({ id: 'a', domain: 'foreign.example', rows: [OURS] })
    await mail({ id: 'b', domain: 'pending.example', rows: [OURS] })
    assert.deepEqual(await stored(), [])
    assert.strictEqual(counted('foreign'), before + 2)
  })

  it('that nothing proves are listed, never counted, and give way to the real one', async () => {
    const report = { id: 'a', domain: 'shop.example', rows: [FORGED] }
    await mail(report, null)
    assert.deepEqual(await stored(), ['shop.example a unverified 70 0'])
    await mail({ ...report, email: 'dmarc@receiver.example' }, 'evil.example')
    assert.deepEqual(await stored(), ['shop.example a unverified 70 0'])
    await mail({ ...report, rows: [OURS] })
    await mail(report, null)
    assert.deepEqual(await stored(), ['shop.example a receiver.example 90 90 90'])
    assert.deepEqual(await alerts(), [])
  })

  it('of a period that is not plausible are dropped', async () => {
    for (const days of [-5, 120])
      await mail({
        id: 'a',
        domain: 'shop.example',
        rows: [OURS],
        beginMs: Math.floor(Date.now() / DAY_MS - days) * DAY_MS,
      })
    assert.deepEqual(await stored(), [])
  })

  it('raise an event when a new failing source reaches a volume, once', async () => {
    const rows = [OURS, FORGED, { ...FORGED, address: '203.0.113.67', messages: 500, override: 'mailing_list' }]
    await mail({ id: 'a', domain: 'shop.example', rows })
    assert.deepEqual(await alerts(), [])
    await mail({ id: 'b', domain: 'shop.example', rows })
    await mail({ id: 'c', domain: 'shop.example', rows })
    assert.deepEqual(await alerts(), ['shop.example 203.0.113.66 140 t'])
  })

  it('raise at most ten events a day for a domain, about the largest sources', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => ({ address: `198.51.100.${i}`, messages: 1000 + i }))
    await mail({ id: 'a', domain: 'shop.example', rows })
    await mail({ id: 'b', domain: 'shop.example', rows })
    const raised = await alerts()
    assert.lengthOf(raised, 10)
    assert.include(raised, 'shop.example 198.51.100.29 1029 t')
  })

  it('that are too large are refused at once', async () => {
    const large = dmarcMessageOf({
      xml: Buffer.alloc(MAX_DMARC_MAIL_OCTETS, 'x'),
      from: 'a@b.example',
      packing: 'plain',
    })
    assert.match(await submit(large), /^552 5\.3\.4 /)
    assert.lengthOf((await ctx.db.query('SELECT FROM dmarc_report_arrivals')).rows, 0)
  })

  it('are deleted after 90 days, with their sources', async () => {
    await mail({ id: 'a', domain: 'shop.example', rows: [OURS] })
    await ctx.db.query('ALTER TABLE dmarc_sources DROP CONSTRAINT dmarc_sources_report_id_fkey')
    await ctx.db.query(
      sql`
        ALTER TABLE dmarc_sources
        ADD FOREIGN KEY (report_id) REFERENCES dmarc_reports ON UPDATE CASCADE ON DELETE CASCADE
      `,
    )
    await ctx.db.query('UPDATE dmarc_reports SET id = $1', [newId(Date.now() - 91 * DAY_MS)])
    await createHousekeepingRound(ctx)()
    assert.deepEqual(await stored(), [])
    assert.lengthOf((await ctx.db.query('SELECT FROM dmarc_sources')).rows, 0)
  })
})
