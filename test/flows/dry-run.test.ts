/**
 * Dry runs with real processes: the api accepts the request, and the mta runs it up to RCPT. Every gate that would
 * hold the message is named. The receiver never gets DATA.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { assert } from 'chai'
import type { DryRunReport, StepStatus } from '#src/operator/dry-runs.ts'
import { sql } from '#src/stores/sql.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { OPERATOR_TOKEN, type TestResponse } from '#test/support/api.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

describe('a dry run', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed()
    const { system, dns } = testbed
    for (const [name, value] of Object.entries(system.dkimRecords)) dns.zone[name] = { TXT: [value] }
    dns.zone[system.domain] = { TXT: ['v=spf1 ip4:127.0.0.0/8 -all'] }
    dns.zone[`_dmarc.${system.domain}`] = { TXT: ['v=DMARC1; p=reject'] }
    dns.zone[system.config.bounceDomain] = { TXT: ['v=spf1 ip4:127.0.0.1 -all'] }
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const admin = (method: string, path: string, body?: object): Promise<TestResponse> =>
    testbed.system.call(method, `/admin${path}`, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
  async function rehearse(to: string, more: object = {}): Promise<DryRunReport> {
    const { status, body } = await admin('POST', '/dry-run', { from: `shop@${testbed.system.domain}`, to, ...more })
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.strictEqual(body['data']?.['state'], 'done', JSON.stringify(body))
    return body['data'] as unknown as DryRunReport
  }
  const statusOf = ({ steps }: DryRunReport, step: string): StepStatus | undefined =>
    steps.find((one) => one.step === step)?.status
  const saysOf = ({ steps }: DryRunReport, step: string): string => steps.find((one) => one.step === step)?.says ?? ''

  it('runs up to RCPT without a problem', async () => {
    const mx = await testbed.addReceiver('fine.example')
    const report = await rehearse('ann@fine.example')
    assert.deepEqual(
      report.steps.map(({ step, status }) => `${status} ${step}`),
      [
        'ok sender',
        'ok quota',
        'ok suppression',
        'ok suspension',
        'ok message',
        'ok MX',
        'ok limits',
        'ok addresses',
        'ok TLS policy',
        'ok source',
        'ok connect',
        'ok STARTTLS',
        'ok MAIL and RCPT',
        'ok DKIM',
        'ok SPF',
        'ok DMARC',
      ],
      JSON.stringify(report.steps, null, 1),
    )
    assert.strictEqual(report.result, 'ok')
    assert.match(saysOf(report, 'DKIM'), /s1\._domainkey\.sender\.example \(rsa-sha256\): pass.*; s2/)
    const said = mx.commands.map(({ line }) => line.replace(/[ :].*/s, ''))
    assert.deepEqual(said, ['EHLO', 'STARTTLS', 'EHLO', 'MAIL', 'RCPT', 'RSET', 'QUIT'])
    assert.strictEqual(mx.messages.length, 0)
    assert.ok(report.conversation.some((line) => line.startsWith('C: RCPT TO:<ann@fine.example>')))
    const { rows } = await testbed.system.db.query('SELECT FROM recipients')
    assert.strictEqual(rows.length, 0, 'nothing is stored')
  })

  const RECEIVERS: readonly [
    what: string,
    script: Parameters<Testbed['addReceiver']>[1],
    step: string,
    status: StepStatus,
    says: RegExp,
  ][] = [
    ['no such user', { on: { rcpt: '550 5.1.1 No such user' } }, 'RCPT', 'fail', /550 5\.1\.1 No such user/],
    ['a sender that is refused', { on: { mail: '553 5.7.1 Not from you' } }, 'MAIL', 'fail', /553 5\.7\.1/],
    ['greylisting', { on: { rcpt: '451 4.7.1 come back later' } }, 'RCPT', 'fail', /451 4\.7\.1/],
    ['a greeting that refuses', { on: { greeting: '554 5.7.1 Blocked' } }, 'connect', 'fail', /554 5\.7\.1 Blocked/],
    ['no TLS', { offers: { starttls: false } }, 'STARTTLS', 'warn', /no TLS/],
    ['421 in the middle', { on: { mail: { reply: '421 4.3.2 Going down', end: 'close' } } }, 'MAIL', 'fail', /421/],
    ['a link that is lost', { on: { rcpt: { end: 'close' } } }, 'MAIL and RCPT', 'fail', /lost/],
  ]
  for (const [i, [what, script, step, status, says]] of RECEIVERS.entries())
    it(`tells ${what}`, async () => {
      const mx = await testbed.addReceiver(`r${i}.example`, script)
      const report = await rehearse(`ann@r${i}.example`)
      assert.deepEqual([statusOf(report, step), report.result], [status, status], JSON.stringify(report, null, 1))
      assert.match(saysOf(report, step), says)
      assert.ok(mx.commands.every(({ line }) => line !== 'DATA'))
    })

  it('reports DNS failures, a domain that accepts no mail, and unreachable servers', async () => {
    testbed.dns.zone['lost.example'] = { fault: 'servfail' }
    testbed.dns.zone['null.example'] = { MX: [[0, '.']] }
    testbed.addUnreachableMx('dead.example')
    for (const [domain, step, says] of [
      ['lost', 'MX', /MX of lost/],
      ['null', 'MX', /null MX/],
      ['dead', 'connect', /mx1\.dead\.example/],
    ] as const) {
      const report = await rehearse(`ann@${domain}.example`)
      assert.deepEqual([statusOf(report, step), report.result], ['fail', 'fail'])
      assert.match(saysOf(report, step), says)
      assert.strictEqual(statusOf(report, 'SPF'), 'skipped')
      assert.strictEqual(statusOf(report, 'DKIM'), 'ok', 'what can be judged is judged')
    }
  })

  it('reports the gates that hold mail, and continues', async () => {
    await testbed.addReceiver('gates.example')
    const { db, workspaceId } = testbed.system
    await suppress(
      db,
      [{ workspaceId, address: 'no@gates.example', kind: 'complaint', reason: 'reported as spam' }],
      new Date(),
    )
    await admin('POST', '/suspensions', { workspace: workspaceId, reason: 'unpaid' })
    const report = await rehearse('NO@gates.example')
    await admin('DELETE', `/suspensions?workspace=${workspaceId}`)
    assert.deepEqual(
      ['suppression', 'suspension', 'MAIL and RCPT'].map((step) => statusOf(report, step)),
      ['fail', 'fail', 'ok'],
    )
    assert.match(saysOf(report, 'suspension'), /unpaid/)
    const foreign = await rehearse('ann@gates.example', { from: 'me@nobody.example' })
    assert.deepEqual([statusOf(foreign, 'sender'), foreign.steps.length], ['fail', 1])
    await db.query(
      sql`
        INSERT INTO connected_accounts (
          id, workspace_id, kind, name, host, port, security, username, addresses, secret, connections,
          messages_per_connection
        )
        VALUES (
          gen_random_uuid(), $1, 'smtp', 'A', 'smtp.provider.example', 587, 'starttls', 'u', '{me@mailbox.example}', '',
          1, 1
        )
      `,
      [workspaceId],
    )
    const account = await rehearse('ann@gates.example', { from: 'Me@mailbox.example' })
    assert.deepEqual([statusOf(account, 'sender'), account.steps.length], ['warn', 1])
    assert.match(saysOf(account, 'sender'), /smtp\.provider\.example/)
  })

  it('reports missing DKIM keys, and SPF and DMARC that do not pass', async () => {
    await testbed.addReceiver('strict.example')
    const { system, dns } = testbed
    const kept = { ...dns.zone }
    for (const name of Object.keys(system.dkimRecords)) delete dns.zone[name]
    dns.zone[system.config.bounceDomain] = { TXT: ['v=spf1 -all'] }
    const report = await rehearse('ann@strict.example')
    Object.assign(dns.zone, kept)
    assert.deepEqual(
      ['DKIM', 'SPF', 'DMARC'].map((step) => statusOf(report, step)),
      ['fail', 'warn', 'fail'],
      JSON.stringify(report.steps),
    )
    assert.match(saysOf(report, 'DMARC'), /policy is reject/)
  })

  it('accepts a whole message, byte for byte', async () => {
    await testbed.addReceiver('whole.example')
    const raw = `From: shop@${testbed.system.domain}\r\nTo: ann@whole.example\r\nSubject: whole\r\n\r\nText\r\n`
    const report = await rehearse('ann@whole.example', { raw })
    assert.strictEqual(report.result, 'ok', JSON.stringify(report.steps))
    assert.match(saysOf(report, 'message'), /signed with/)
  })

  it('a message from another domain, or without a sender, would not be accepted from its sender', async () => {
    await testbed.addReceiver('name.example')
    for (const [from, says] of [
      ['From: ceo@bank.example\r\n', /From is in bank\.example/],
      ['', /no From/],
    ] as const) {
      const report = await rehearse('ann@name.example', { raw: `${from}Subject: whole\r\n\r\nText\r\n` })
      assert.strictEqual(statusOf(report, 'From'), 'fail')
      assert.match(saysOf(report, 'From'), says)
    }
  })

  it('is the same from the command line, with the exit code', async () => {
    await testbed.addReceiver('shell.example')
    const { system } = testbed
    const command = async (to: string): Promise<{ code: number | null; report: DryRunReport }> => {
      const child = spawn(
        process.execPath,
        [
          join(import.meta.dirname, '../../bin/mailstead.ts'),
          'dry-run',
          '--from',
          `shop@${system.domain}`,
          '--to',
          to,
          '--json',
        ],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
          env: {
            PATH: process.env['PATH'],
            DATABASE_URL: system.config.databaseUrl ?? '',
            REDIS_URL: system.config.redisUrl ?? '',
            MASTER_KEY: '5a'.repeat(32),
            MAILSTEAD_HOSTNAME: 'mta.sender.example',
            DNS_SERVERS: testbed.dns.server,
            SMTP_OUT_PORT: String(system.config.smtpOutPort),
            ALLOW_PRIVATE_TARGETS: '127.0.0.0/8,::1',
          },
        },
      )
      const [out, code] = await Promise.all([
        text(child.stdout),
        new Promise<number | null>((resolve) => {
          child.once('exit', resolve)
        }),
      ])
      return { code, report: JSON.parse(out) as DryRunReport }
    }
    const fine = await command('ann@shell.example')
    assert.deepEqual([fine.code, fine.report.result], [0, 'ok'], JSON.stringify(fine.report.steps))
    const lost = await command('ann@null.example')
    assert.deepEqual([lost.code, lost.report.result], [1, 'fail'])
  })

  it('waits for an outbound process when none runs, and completes when one starts', async () => {
    await testbed.addReceiver('late.example')
    const { mta } = testbed.system.roles
    await mta.terminate()
    const asked = await admin('POST', '/dry-run', { from: `shop@${testbed.system.domain}`, to: 'ann@late.example' })
    assert.strictEqual(asked.body['data']?.['state'], 'waiting')
    await mta.start()
    const id = asked.body['data']?.['id'] as unknown as string
    await until(async () => ((await admin('GET', `/dry-run/${id}`)).body['data']?.['result'] as unknown) === 'ok')
    assert.strictEqual((await admin('GET', '/dry-run/00000000-0000-7000-8000-000000000000')).status, 404)
  })
})
