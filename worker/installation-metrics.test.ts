/** Metrics of sources, domains, accounts and nodes, against a database. */
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { openDay } from '#src/egress/warm-up-days.ts'
import { dayOf } from '#src/egress/warm-up.ts'
import { reportProcess } from '#src/operator/nodes.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { createInstallationMetrics, readInstallationMetrics } from './installation-metrics.ts'

describe('metrics of the installation', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext({ WARM_UP: '50,100' })
  })
  after(() => ctx.close())

  async function series(name: keyof Awaited<ReturnType<typeof readInstallationMetrics>>): Promise<unknown> {
    const all = (await readInstallationMetrics(ctx))[name] ?? []
    return Object.fromEntries(all.map(({ labels, value }) => [labels.join(' '), value]))
  }

  async function addSource(name: string, address: string, isWarming: boolean): Promise<string> {
    const id = newId()
    await ctx.db.query(
      sql`
        INSERT INTO egress_sources (id, name, address, ehlo_name, region, warming_since, check_due_at, created_at)
        VALUES ($1, $2, $3, 'mail.example.com', 'default', CASE WHEN $4 THEN now() END, now(), now())
      `,
      [id, name, address, isWarming],
    )
    return id
  }

  it('say how much a source in warm-up may still send today', async () => {
    const [warming] = await Promise.all([addSource('new', '192.0.2.1', true), addSource('old', '192.0.2.2', false)])
    const day = dayOf(ctx.clock.now())
    for (const [receiver, taken] of [
      ['a.example', 20],
      ['b.example', 60],
    ] as const) {
      await openDay(ctx.db, { sourceId: warming, receiver, day }, ctx.config.warmUp)
      await ctx.db.query('UPDATE egress_days SET taken = $2 WHERE receiver = $1', [receiver, taken])
    }
    assert.deepEqual(await series('mailstead_source_warm_up_room'), { new: 30 })
    await ctx.db.query('UPDATE egress_days SET step = 2')
    assert.deepEqual(await series('mailstead_source_warm_up_room'), {}, 'unlimited')
  })
  it('say which source is on a blocklist', async () => {
    await ctx.db.query(sql`
      INSERT INTO egress_checks (source_id, name, status, detail, todo, since, checked_at)
      SELECT id, 'blocklists', CASE WHEN name = 'new' THEN 'failed' ELSE 'ok' END, '', '', now(), now()
      FROM egress_sources
    `)
    assert.deepEqual(await series('mailstead_source_blocklisted'), { new: 1, old: 0 })
    assert.deepEqual(await series('mailstead_source_checks'), { 'blocklists failed': 1, 'blocklists ok': 1 })
  })
  it('count domains and accounts by status, also where there are none', async () => {
    const workspaceId = await ctx.newWorkspace()
    await ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status, created_at)
        SELECT gen_random_uuid(), $1, name, 'failed', now()
        FROM unnest(ARRAY['a.example', 'b.example']) AS n (name)
      `,
      [workspaceId],
    )
    assert.deepEqual(await series('mailstead_domains'), { pending: 0, verified: 0, degraded: 0, failed: 2 })
    assert.deepEqual(await series('mailstead_accounts'), { active: 0, paused: 0 })
  })
  it('say for how long a node has been silent', async () => {
    const report = { roles: ['outbound'], version: '1', sources: [], isDrained: false }
    for (const node of ['dead', 'alive']) await reportProcess(ctx.db, { ...report, id: newId(), node })
    await reportProcess(ctx.db, { ...report, id: newId(), node: 'dead' })
    await ctx.db.query(`UPDATE node_processes SET seen_at = now() - interval '1000 seconds' WHERE node = 'dead'`)
    const silent = (await series('mailstead_node_silent_seconds')) as { dead: number; alive: number }
    assert.ok(silent.dead >= 1000 && silent.alive < 1000, JSON.stringify(silent))
  })
  it('say when the certificate of SMTP expires', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mailstead-certificate-'))
    const tlsCertFile = join(folder, 'cert.pem')
    const { cert } = await certificateFor(['mail.example.com'])
    writeFileSync(tlsCertFile, cert)
    const read = createInstallationMetrics({ ...ctx, config: { ...ctx.config, tlsCertFile } })
    let found: readonly { readonly labels: readonly string[]; readonly value: number }[] = []
    await until(async () => {
      found = (await read()).mailstead_certificate_expiry_timestamp_seconds ?? []
      return found.length > 0
    })
    rmSync(folder, { recursive: true })
    const expected = Date.parse(new X509Certificate(cert).validTo) / 1000
    assert.deepEqual(found, [{ labels: ['smtp'], value: expected }])
  })
})
