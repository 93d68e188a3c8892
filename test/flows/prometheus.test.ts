/**
 * A real Prometheus (Debian's package `prometheus`; skipped where it is missing) scrapes a running system with the
 * alerts of packaging/monitoring, and fires the alert about a source that a blocklist lists.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { freePort } from '#test/support/free-ports.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { until } from '#test/support/until.ts'

const ALERTS = new URL('../../packaging/monitoring/alerts.yml', import.meta.url)
/** The worker measures sources once a minute. */
const PATIENCE_MS = 150_000

describe('Prometheus', function () {
  this.timeout(2 * PATIENCE_MS)
  let testbed: Testbed
  let prometheus: ChildProcess
  let folder: string
  let url: string
  before(async function () {
    if (spawnSync('prometheus', ['--version']).error !== undefined) this.skip()
    testbed = await startTestbed()
    folder = mkdtempSync(join(tmpdir(), 'mailstead-prometheus-'))
    const address = `127.0.0.1:${await freePort()}`
    url = `http://${address}`
    copyFileSync(ALERTS, join(folder, 'alerts.yml'))
    writeFileSync(join(folder, 'prometheus.yml'), configuration(new URL(testbed.system.url).host))
    const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`]
    prometheus = spawn('prometheus', args, { cwd: folder, stdio: 'ignore' })
    await once(prometheus, 'spawn')
  })
  after(async () => {
    if (testbed === undefined) return
    const exited = once(prometheus, 'exit')
    prometheus.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true })
    await testbed.stop()
  })
  printLogsOnFailure(() => testbed.system)

  async function query(path: string): Promise<string> {
    return fetch(`${url}${path}`).then(
      (response) => response.text(),
      () => '',
    )
  }

  it('accepts the metrics, and fires an alert', async () => {
    await until(async () => /"value":\[[^\]]*"1"\]/.test(await query('/api/v1/query?query=up')))
    const id = newId()
    await testbed.system.db.query(
      sql`
        INSERT INTO egress_sources (id, name, address, ehlo_name, region, check_due_at, created_at)
        VALUES ($1, 'listed', '192.0.2.1', 'mail.example.com', 'default', now() + interval '1 day', now())
      `,
      [id],
    )
    await testbed.system.db.query(
      sql`
        INSERT INTO egress_checks (source_id, name, status, detail, todo, since, checked_at)
        VALUES ($1, 'blocklists', 'failed', 'listed', 'request removal', now(), now())
      `,
      [id],
    )
    await until(
      async () =>
        /MailsteadSourceBlocklisted.*"source":"listed".*"state":"firing"/s.test(await query('/api/v1/alerts')),
      () => 'the alert did not fire',
      PATIENCE_MS,
    )
  })
})

function configuration(target: string): string {
  return JSON.stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'mailstead', static_configs: [{ targets: [target] }] }],
  })
}
