/** `mailstead egress` as an operator uses it, and the checks of the doctor afterwards. */
import { mkdtempSync, rmSync } from 'node:fs'
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { run as doctor } from './doctor.ts'
import { run } from './egress.ts'

interface Row {
  readonly name: string
  readonly [field: string]: unknown
}

describe('mailstead egress', () => {
  let database: OpenDatabase
  let db: Db
  let dns: TestDns
  let dataDir: string
  let env: Record<string, string>

  before(async () => {
    database = await openDatabase()
    db = database.db
    dns = await startDns({})
    dataDir = mkdtempSync('/tmp/mailstead-test-egress-')
    env = {
      DATABASE_URL: database.url,
      REDIS_URL: 'redis://127.0.0.1:1',
      DATA_DIR: dataDir,
      DNS_SERVERS: dns.server,
      MAILSTEAD_HOSTNAME: 'mail.example.net',
      SMTP_OUT_PORT: '1',
    }
  })
  after(async () => {
    await dns.stop()
    await database.close()
    rmSync(dataDir, { recursive: true })
  })

  const call = (line: string, command = run): Promise<CommandResult> =>
    runCommand(
      command,
      line.split(' ').filter((word) => word !== ''),
      env,
    )

  async function listed(part: 'source' | 'pool'): Promise<Row[]> {
    return JSON.parse((await call(`${part} list --json`)).out) as Row[]
  }

  it('adds a source to the pool of its region, and lists it', async () => {
    const added = await call('source add one --address 192.0.2.1 --ehlo Out1.example.net --weight 3 --warm-up --json')
    assert.strictEqual(added.code, 0, added.err)
    const [one] = await listed('source')
    assert.deepEqual(
      [one?.name, one?.['address'], one?.['ehlo_name'], one?.['state'], one?.['region'], one?.['pools']],
      ['one', '192.0.2.1', 'out1.example.net', 'gone', 'us-east-1', [{ pool: 'us-east', weight: 3 }]],
    )
    assert.match(String(one?.['warming_since']), /^20/)
    assert.match(
      (await call('source list')).out,
      /^NAME +ADDRESS +EHLO +STATE +POOLS +PROBLEMS\none +192\.0\.2\.1 +out1\.\S+ +gone +us-east \(3\)/,
    )
  })

  for (const [line, says] of [
    ['source add one --address 192.0.2.9 --ehlo a.example.net', /a source with this name already exists/],
    ['source add nine --address 192.0.2.1 --ehlo a.example.net', /a source with this address already exists/],
    ['source add nine --address 192.0.2.300 --ehlo a.example.net', /is not an IP address/],
    ['source add nine --address 192.0.2.9 --ehlo localhost', /is not a fully qualified host name/],
    ['source add Nine! --address 192.0.2.9 --ehlo a.example.net', /is not a valid name/],
    ['source pause none', /No source none exists/],
    ['source remove none', /No source none exists/],
    ['pool remove none', /no pool named none exists/],
    ['pool join none one', /no pool named none exists/],
    ['pool join us-east none', /no source named none exists/],
    ['pool leave us-east none', /none is not in pool us-east/],
    ['pool add us-east', /a pool named us-east already exists/],
  ] as const) {
    it(`explains the failure of: ${line}`, async () => {
      const done = await call(line)
      assert.strictEqual(done.code, 1)
      assert.match(done.err, says)
    })
  }

  const heavy = 'source add nine --address 192.0.2.9 --ehlo a.example.net --weight 0'
  for (const line of ['', 'source', 'source add', 'source fly one', 'pool use vip', heavy])
    it(`wrong use: egress ${line}`, async () => assert.strictEqual((await call(line)).code, 2))

  it('pauses, resumes and warms up', async () => {
    const state = async (): Promise<unknown> => (await listed('source'))[0]?.['state']
    assert.strictEqual((await call('source pause one')).code, 0)
    assert.strictEqual(await state(), 'paused')
    assert.strictEqual((await call('source resume one')).code, 0)
    await db.query(`UPDATE egress_sources SET gone_since = NULL`)
    assert.strictEqual(await state(), 'warming')
    assert.strictEqual((await call('source warm-up one --end')).code, 0)
    assert.strictEqual(await state(), 'active')
  })

  it('creates pools and assigns them to a workspace', async () => {
    const { id } = await createWorkspace(db, { name: 'W', plan: 'free' })
    assert.strictEqual((await call('pool add vip')).code, 0)
    assert.strictEqual((await call('pool join vip one --weight 7')).code, 0)
    assert.strictEqual((await call(`pool use vip --workspace ${id}`)).code, 0)
    const pools = await listed('pool')
    assert.deepEqual(
      pools.map(({ name, members, workspaces, regions }) => [name, members, workspaces, regions]),
      [
        ['us-east', [{ source: 'one', weight: 3 }], 0, ['us-east-1']],
        ['vip', [{ source: 'one', weight: 7 }], 1, []],
      ],
    )
    assert.match((await call(`pool use other --workspace ${id}`)).err, /no pool named other exists/)
    assert.match(
      (await call(`pool use vip --workspace ${id} --domain no.example`)).err,
      /the workspace has no domain no\.example/,
    )
    assert.strictEqual((await call('pool remove vip')).code, 0)
    assert.deepEqual((await db.query('SELECT egress_pool FROM workspaces WHERE id = $1', [id])).rows, [
      { egress_pool: null },
    ])
    assert.strictEqual((await call('pool list')).out.includes('vip'), false)
  })

  it('is checked by the doctor, source by source', async () => {
    dns.zone['1.2.0.192.in-addr.arpa'] = { PTR: ['out1.example.net'] }
    dns.zone['out1.example.net'] = { A: ['192.0.2.1'] }
    dns.zone['1.2.0.192.zen.spamhaus.org'] = { A: ['127.0.0.4'] }
    const { out, code } = await call('--json', doctor)
    assert.strictEqual(code, 1)
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string; todo: string }[] }
    const ours = checks.filter(({ name }) => name.startsWith('egress'))
    const found = Object.fromEntries(ours.map(({ name, status, detail }) => [name, `${status}: ${detail}`]))
    assert.deepEqual(found, {
      'egress sources': 'ok: one active',
      'egress PTR': 'ok: one: 192.0.2.1 has the name out1.example.net',
      'egress FCrDNS': 'ok: one: out1.example.net resolves to 192.0.2.1',
      'egress EHLO name': 'ok: one: out1.example.net resolves to 192.0.2.1',
      'egress port 25': 'skipped: no mail server of gmail.com has an A record',
      'egress blocklists': 'failed: one: zen.spamhaus.org lists the address (XBL: an infected machine or open proxy)',
    })
    assert.match(
      checks.find(({ name }) => name === 'egress blocklists')?.todo ?? '',
      /request removal: https:\/\/check\.spamhaus\.org/,
    )
  })

  it('makes the doctor fail while no source can send', async () => {
    await call('source pause one')
    const { out } = await call('--json', doctor)
    assert.match(out, /"detail": "one paused",\s+"todo": "resume a source/)
  })

  it('removes a source', async () => {
    assert.strictEqual((await call('source remove one')).code, 0)
    assert.deepEqual(await listed('source'), [])
    assert.match((await call('source list')).out, /the system chooses the address/)
  })
})
