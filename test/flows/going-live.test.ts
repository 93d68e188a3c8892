/**
 * A machine goes live: from the answers of `mailstead setup` to delivered mail, against a real DNS server, a receiver
 * and an HTTPS host, with all processes. Then one part after the other is missing: campaigns wait, with the reason, and
 * go on by themselves; single messages are delivered meanwhile.
 */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { assert } from 'chai'
import { run as doctor } from '#bin/commands/doctor.ts'
import { run as explain } from '#bin/commands/explain.ts'
import { run as setup } from '#bin/commands/setup.ts'
import { parseSettings } from '#config/saved-settings.ts'
import { LIVE_CHECK_NAMES } from '#src/going-live/checks.ts'
import { addAudience, addMembers, createCampaignClient } from '#test/support/campaign.ts'
import { createAuthority } from '#test/support/certificate.ts'
import { runCommand } from '#test/support/command.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { createLiveZone, LIVE_BOUNCES, LIVE_HOST, OUT_HOST, PROBE, WEB_HOST } from '#test/support/live-zone.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { startSystem, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

/** On this machine, but nobody listens there. */
const ELSEWHERE = { A: ['127.0.0.77'] }
const TO = 'receiver.example'

describe('going live', () => {
  let dir: string
  let dns: TestDns
  let receiver: Receiver
  let system: System
  let campaigns: ReturnType<typeof createCampaignClient>
  let settings: Readonly<Record<string, string>>
  const undo: (() => unknown)[] = []

  before(async () => {
    dir = mkdtempSync('/tmp/mailstead-test-live-')
    dns = await startDns({})
    receiver = await startReceiver()
    const authority = await createAuthority()
    const { key, cert } = await authority.issue([WEB_HOST, LIVE_HOST], { days: 60 })
    const web = createServer({ key, cert }, (_, response) => response.end()).listen(0, '127.0.0.1')
    await once(web, 'listening')
    undo.push(
      () => web.close(),
      () => receiver.stop(),
      () => dns.stop(),
      () => rmSync(dir, { recursive: true }),
    )
    const { port } = web.address() as AddressInfo
    for (const [name, text] of Object.entries({ 'ca.pem': authority.cert, 'smtp.pem': cert, 'smtp.key': key }))
      writeFileSync(join(dir, name), text)
    await fillZone()
    const answers = {
      MODE: 'live',
      MAILSTEAD_HOSTNAME: LIVE_HOST,
      BOUNCE_DOMAIN: LIVE_BOUNCES,
      PUBLIC_URL: `https://${WEB_HOST}:${port}`,
      TLS_CERT_FILE: join(dir, 'smtp.pem'),
      TLS_KEY_FILE: join(dir, 'smtp.key'),
      EXTRA_CA_FILE: join(dir, 'ca.pem'),
      DNS_SERVERS: dns.server,
      SMTP_OUT_PORT: String(receiver.port),
      EGRESS_CHECK_TARGET: PROBE,
      BLOCKLISTS: 'none',
      DNSSEC_RESOLVER: 'no',
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    }
    writeFileSync(
      join(dir, 'answers'),
      Object.entries(answers)
        .map((one) => one.join('='))
        .join('\n'),
    )
  })
  afterEach(function () {
    if (this.currentTest?.state === 'failed' && system !== undefined) process.stderr.write(system.readLogs())
  })
  after(async () => {
    for (const step of undo) await step()
  })

  async function fillZone(change: Zone = {}): Promise<void> {
    const zone = await createLiveZone(dns)
    const dkim = system === undefined ? [] : Object.entries(system.dkimRecords)
    Object.assign(dns.zone, zone, Object.fromEntries(dkim.map(([name, text]) => [name, { TXT: [text] }])), {
      [TO]: { MX: [[10, 'mx.receiver.example']] },
      'mx.receiver.example': { A: ['127.0.0.1'] },
      ...change,
    })
  }

  async function createCampaign(count: number): Promise<string> {
    const audience = await addAudience(system)
    await addMembers(system, audience, { count, domain: TO })
    return campaigns.create({ audience_ids: [audience] })
  }
  async function reasonOf(id: string): Promise<string> {
    const { reason } = await campaigns.show(id)
    return typeof reason === 'string' ? reason : ''
  }
  async function sendCode(): Promise<void> {
    const before = receiver.messages.length
    const mail = { from: 'codes@sender.example', to: `a@${TO}`, subject: 'Code', body: '123456' }
    const { status } = await system.call('POST', '/send-email/instant', { body: mail })
    assert.ok(status < 300, String(status))
    await receiver.until(before + 1)
  }
  const commandEnv = (): Record<string, string> => ({
    ...settings,
    ...Object.fromEntries(
      (['databaseUrl', 'redisUrl', 'dataDir', 'masterKey'] as const).map((name) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
        system.config[name] ?? '',
      ]),
    ),
  })

  it('setup writes the settings, and finds nothing missing', async () => {
    const { code, out } = await runCommand(setup, ['--answers', join(dir, 'answers'), '--json'], { DATA_DIR: dir })
    const result = JSON.parse(out) as { file: string; checks: { name: string; status: string; detail: string }[] }
    const wrong = result.checks.filter(({ status }) => status !== 'ok' && status !== 'skipped')
    assert.deepEqual([code, wrong, result.checks.length], [0, [], LIVE_CHECK_NAMES.length])
    settings = parseSettings(readFileSync(result.file, 'utf8'), result.file)
  })

  it('processes start with these settings', async () => {
    system = await startSystem({ env: { SETTINGS_FILE: join(dir, 'mailstead.env'), MAILSTEAD_HOSTNAME: '' } })
    undo.unshift(() => system.stop())
    await fillZone()
    campaigns = createCampaignClient(system)
  })

  it('mail and a campaign are delivered, with links that work', async () => {
    await sendCode()
    const id = await createCampaign(2)
    await campaigns.move(id, 'start')
    await campaigns.settle(id)
    const mail = receiver.messages.at(-1)?.bytes.toString() ?? ''
    assert.match(mail, /^List-Unsubscribe: <https:\/\/app\.sender\.example:\d+\/u\//m)
    assert.notMatch(mail, /localhost/)
  })

  it('doctor reports that nothing failed', async () => {
    const { code, out } = await runCommand(doctor, ['--json'], commandEnv())
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string; guide: string }[] }
    const failed = checks.filter(({ status }) => status === 'failed')
    const wrong = checks.filter(
      ({ name, status }) => status === 'warning' && LIVE_CHECK_NAMES.some((one) => one === name),
    )
    assert.deepEqual([code, failed, wrong], [0, [], []])
    assert.strictEqual(checks.find(({ name }) => name === 'mode')?.status, 'ok')
    assert.ok(checks.every(({ guide }) => guide.startsWith('docs/guides/')))
  })

  const MISSING: readonly (readonly [part: string, change: () => Zone])[] = [
    ['web certificate', () => ({ [WEB_HOST]: {} })],
    ['bounce domain', () => ({ [LIVE_BOUNCES]: {} })],
    ['PTR', () => Object.fromEntries(pointersOf().map((name) => [name, {}]))],
    ['forward match', () => ({ [OUT_HOST]: {} })],
    ['port 25 out', () => ({ [PROBE]: ELSEWHERE })],
  ]
  const pointersOf = (): string[] => Object.keys(dns.zone).filter((name) => name.endsWith('.arpa'))
  for (const [part, change] of MISSING) {
    it(`without ${part} campaigns wait, codes do not, and all goes on when it is there`, async () => {
      const id = await createCampaign(2)
      Object.assign(dns.zone, change())
      await until(
        async () => (await storedStatus(part)) === 'failed',
        () => `${part} is not reported`,
      )
      await campaigns.move(id, 'start')
      await until(
        async () => (await reasonOf(id)).startsWith(`held back: ${part}: `),
        () => `the campaign does not wait for ${part}`,
      )
      await sendCode()
      assert.strictEqual((await campaigns.metrics(id))['dispatched'], 0)
      const { code, out } = await runCommand(doctor, ['--json'], commandEnv())
      const { checks } = JSON.parse(out) as { checks: { name: string; status: string; todo: string }[] }
      const found = checks.find(({ name }) => name === part)
      assert.deepEqual([code, found?.status, found?.todo === ''], [1, 'failed', false])
      await fillZone()
      await campaigns.settle(id)
    })
  }
  async function storedStatus(name: string): Promise<string> {
    const { rows } = await system.db.query<{ status: string }>('SELECT status FROM live_checks WHERE name = $1', [name])
    return rows[0]?.status ?? ''
  }

  it('without a public https URL campaigns wait, and other mail has no links that lead nowhere', async () => {
    const roles = [system.roles.worker, system.roles.mta]
    await Promise.all(roles.map((role) => role.stop()))
    await Promise.all(roles.map((role) => role.start({ PUBLIC_URL: `http://${WEB_HOST}` })))
    const id = await createCampaign(2)
    await campaigns.move(id, 'start')
    await until(
      async () => (await reasonOf(id)).startsWith('held back: public URLs: PUBLIC_URL is http:'),
      () => 'the campaign does not wait',
    )
    await sendCode()
    const before = receiver.messages.length
    const body = '<a href="https://shop.example/">Shop</a>'
    const bulk = {
      from: 'news@sender.example',
      to: `b@${TO}`,
      subject: 'N',
      body,
      track_opens: true,
      track_clicks: true,
    }
    assert.ok((await system.call('POST', '/send-email/bulk', { body: bulk })).status < 300)
    const text = (await receiver.until(before + 1)).at(-1)?.bytes.toString() ?? ''
    assert.match(text, /^Subject: N\r$/m)
    assert.notMatch(text, /List-Unsubscribe|app\.sender\.example/)
    await Promise.all(roles.map((role) => role.stop()))
    await Promise.all(roles.map((role) => role.start()))
    await campaigns.settle(id)
  })

  it('explain shows why queued mail of a campaign waits', async () => {
    receiver.script = { on: { rcpt: '451 4.3.0 Later' } }
    const id = await createCampaign(1)
    await campaigns.move(id, 'start')
    await until(
      async () => (await campaigns.metrics(id))['dispatched'] === 1,
      () => 'nothing was dispatched',
    )
    Object.assign(dns.zone, { [LIVE_BOUNCES]: {} })
    await until(
      async () => (await reasonOf(id)).startsWith('held back: bounce domain'),
      () => 'the campaign is not held back',
    )
    const { rows } = await system.db.query<{ id: string }>('SELECT id FROM messages WHERE campaign_id = $1', [id])
    const message = `em_${(rows[0]?.id ?? '').replaceAll('-', '')}`
    const { out } = await runCommand(explain, [message], commandEnv())
    assert.match(out, /HOLDS +suspension: its campaign is held back: bounce domain: bounces\.sender\.example has no MX/)
    receiver.script = {}
    await fillZone()
    await campaigns.settle(id)
  })
})
