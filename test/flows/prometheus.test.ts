/**
 * A real Prometheus (Debian's package `prometheus`; skipped where it is missing) scrapes a running system with the
 * alerts of packaging/monitoring. It fires the alert about a source that a blocklist lists, and has data for every
 * query of the board.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { PANELS, queryOf } from '#packaging/monitoring/board.ts'
import { openDay } from '#src/egress/warm-up-days.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { isPrometheusInstalled, startPrometheus, type Prometheus } from '#test/support/prometheus.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'

/** The worker measures sources once a minute. */
const PATIENCE_MS = 150_000

describe('Prometheus', function () {
  this.timeout(2 * PATIENCE_MS)
  let testbed: Testbed
  let webhooks: WebhookReceiver
  let prometheus: Prometheus
  let folder: string
  before(async function () {
    if (!isPrometheusInstalled()) this.skip()
    folder = mkdtempSync(join(tmpdir(), 'mailstead-monitored-'))
    const { key, cert } = await certificateFor(['mta.sender.example'])
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    testbed = await startTestbed({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })
    webhooks = await startWebhookReceiver()
    await Promise.all([addSources(), testbed.system.roles.inbound.start()])
    prometheus = await startPrometheus(new URL(testbed.system.url).host)
  })
  after(async () => {
    if (testbed === undefined) return
    await prometheus.stop()
    await webhooks.close()
    await testbed.stop()
    rmSync(folder, { recursive: true })
  })
  printLogsOnFailure(() => testbed.system)

  /** One that a blocklist lists, and one in warm-up that has sent something today. */
  async function addSources(): Promise<void> {
    const { db, config } = testbed.system
    const [listed, warming] = [newId(), newId()]
    await db.query(
      sql`
        INSERT INTO egress_sources (id, name, address, ehlo_name, region, warming_since, check_due_at, created_at)
        VALUES ($1, 'listed', '192.0.2.1', 'mail.example.com', 'default', NULL, now() + interval '1 day', now()),
          ($2, 'new', '192.0.2.2', 'mail.example.com', 'default', now(), now() + interval '1 day', now())
      `,
      [listed, warming],
    )
    await db.query(
      sql`
        INSERT INTO egress_checks (source_id, name, status, detail, todo, since, checked_at)
        VALUES ($1, 'blocklists', 'failed', 'listed', 'request removal', now(), now())
      `,
      [listed],
    )
    const day = new Date().toISOString().slice(0, 10)
    await openDay(db, { sourceId: warming, receiver: 'd.example', day }, config.warmUp)
  }

  it('accepts the metrics, and fires an alert', async () => {
    await until(async () => /"value":\[[^\]]*"1"\]/.test(await prometheus.get('/api/v1/query?query=up')))
    await until(
      async () =>
        /MailsteadSourceBlocklisted.*"source":"listed".*"state":"firing"/s.test(await prometheus.get('/api/v1/alerts')),
      () => 'the alert did not fire',
      PATIENCE_MS,
    )
  })

  it('has data for every query of the board', async () => {
    const { system } = testbed
    await system.call('POST', '/public/webhooks', { key: system.admin, body: { url: webhooks.url, events: '*' } })
    await testbed.addReceiver('good.example')
    await testbed.addReceiver('gone.example', { on: { rcpt: '550 5.1.1 No such user here' } })
    await testbed.addReceiver('busy.example', { on: { rcpt: '450 4.2.1 Mailbox busy' } })
    for (const domain of ['good.example', 'gone.example', 'busy.example']) await testbed.send({ to: `ann@${domain}` })

    let missing: string[] = []
    await until(
      async () => {
        const queries = PANELS.flatMap(({ targets = [] }) => targets.map(({ expr }) => queryOf(expr, '1m')))
        const answers = await Promise.all(queries.map((query) => countSeries(query)))
        missing = queries.filter((_, i) => answers[i] === 0)
        return missing.length === 0
      },
      () => `no data: ${missing.join('; ')}`,
      PATIENCE_MS,
    )
  })

  async function countSeries(query: string): Promise<number> {
    const answer = await prometheus.get(`/api/v1/query?query=${encodeURIComponent(query)}`)
    const { data, error } = JSON.parse(answer) as { data?: { result: unknown[] }; error?: string }
    assert.isUndefined(error, query)
    return data?.result.length ?? 0
  }
})
