/** The checks of a source against a real DNS server, and what is stored of them. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { blocklistOf } from '#config/settings/blocklists.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { createSourceCheckRound } from '#worker/egress.ts'
import { reversedName, sameAddress } from './ip-address.ts'
import { listFindings } from './check-store.ts'
import {
  checkSource,
  createCheckDeps,
  readBlocklistAnswer,
  type CheckName,
  type CheckedSource,
  type SourceFinding,
} from './source-checks.ts'
import { FOUR, LISTED, PTR4, SOURCE_CHECK_CASES } from './source-checks.test-data.ts'
import { addSource, findSource } from './sources.ts'

const USUAL = { region: 'us-east-1', pool: null, weight: 1 } as const

describe('checks of a source', () => {
  let dns: TestDns

  before(async () => {
    dns = await startDns({})
  })
  after(() => dns.stop())

  const configOf = (env: Record<string, string> = {}): Config =>
    loadConfig({ MAILSTEAD_HOSTNAME: 'mta.sender.example', DNS_SERVERS: dns.server, ...env })

  function fill(zone: Zone): void {
    for (const name of Object.keys(dns.zone)) delete dns.zone[name]
    Object.assign(dns.zone, zone)
  }

  async function runCheck(
    check: CheckName,
    source: CheckedSource = FOUR,
    env: Record<string, string> = {},
  ): Promise<SourceFinding & { text: string }> {
    const finding = await checkSource(createCheckDeps(configOf(env)), check, source)
    return { ...finding, text: `${finding.status}: ${finding.detail}` }
  }

  for (const { what, check, zone, source, expected, todo } of SOURCE_CHECK_CASES) {
    it(`${check}: ${what}`, async () => {
      fill(zone)
      const finding = await runCheck(check, source)
      assert.match(finding.text, expected)
      assert.match(finding.todo, todo ?? /^$/)
    })
  }

  it("port 25: connects to the first MX with an address of the family, from the source's own address", async () => {
    const peers: (string | undefined)[] = []
    const server = createServer((socket) => {
      peers.push(socket.remoteAddress)
      socket.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = String((server.address() as AddressInfo).port)
    const hosts = { 'mx1.example': { AAAA: ['::1'] }, 'mx2.example': { A: ['127.0.0.1'] } }
    fill({
      'gmail.com': {
        MX: [
          [20, 'mx2.example'],
          [10, 'mx1.example'],
        ],
      },
      ...hosts,
    })
    const here = { ...FOUR, address: '127.0.0.5' }
    assert.strictEqual(
      (await runCheck('port 25', here, { SMTP_OUT_PORT: port })).text,
      `ok: port ${port} of 127.0.0.1 can be reached`,
    )
    assert.deepEqual(peers, ['127.0.0.5'])
    server.close()
    await once(server, 'close')
    const shut = await runCheck('port 25', here, { SMTP_OUT_PORT: port })
    assert.match(shut.text, /^failed: port \d+ of 127\.0\.0\.1 cannot be reached from 127\.0\.0\.5$/)
    assert.match(shut.todo, /outgoing port 25/)
    assert.match(
      (await runCheck('port 25', FOUR, { SMTP_OUT_PORT: port })).text,
      /^skipped: 192\.0\.2\.7 is not on this machine$/,
    )
    assert.match(
      (await runCheck('port 25', here, { EGRESS_CHECK_TARGET: 'nowhere.example' })).text,
      /^skipped: no mail server of nowhere\.example has an A record/,
    )
    assert.match((await runCheck('port 25', here, { EGRESS_CHECK_TARGET: 'none' })).text, /^skipped/)
    assert.match((await runCheck('port 25', here, { ROUTES: '*=smtp://relay.example' })).text, /^skipped: ROUTES/)
  })

  it('queries nothing in sandbox mode', async () => {
    const before = dns.queries.length
    const config = loadConfig({ SANDBOX_DNS_PORT: String(dns.port) })
    for (const check of ['PTR', 'FCrDNS', 'EHLO name', 'port 25', 'blocklists'] as const)
      assert.strictEqual((await checkSource(createCheckDeps(config), check, FOUR)).status, 'skipped')
    assert.strictEqual(dns.queries.length, before)
  })

  it('BLOCKLISTS selects other lists, or none', async () => {
    fill(LISTED('list.example', ['127.0.0.3']))
    assert.match(
      (await runCheck('blocklists', FOUR, { BLOCKLISTS: 'list.example' })).text,
      /^failed: list\.example lists the address \(127\.0\.0\.3\)$/,
    )
    assert.match((await runCheck('blocklists', FOUR, { BLOCKLISTS: 'none' })).text, /^skipped/)
    assert.strictEqual(
      readBlocklistAnswer(blocklistOf('list.example'), { kind: 'answered', records: [] }).kind,
      'clean',
    )
  })

  it('reverses names, and compares addresses in any spelling', () => {
    assert.strictEqual(reversedName('2001:db8::7', 'zen.example'), `7.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.zen.example`)
    assert.strictEqual(sameAddress('2001:DB8::7', '2001:db8:0::0:7'), true)
    assert.strictEqual(sameAddress('192.0.2.7', '192.0.2.8'), false)
    assert.strictEqual(sameAddress('192.0.2.7', 'nonsense'), false)
  })

  describe('on a timer', () => {
    let ctx: TestContext
    before(async () => {
      ctx = await createContext({
        MAILSTEAD_HOSTNAME: 'mta.sender.example',
        DNS_SERVERS: dns.server,
        EGRESS_CHECK_TARGET: 'none',
      })
    })
    after(() => ctx.close())

    it('checks each source when it is due, and stores the findings with their times', async () => {
      await addSource(ctx, { ...FOUR, ...USUAL, isWarmingUp: false })
      fill({ [PTR4]: { PTR: ['out.sender.example'] }, 'out.sender.example': { A: ['192.0.2.7'] } })
      const round = createSourceCheckRound(ctx)
      const found = async (check: CheckName): Promise<{ text: string; checked: number; since: number } | undefined> => {
        const one = [...(await listFindings(ctx.db)).values()].flat().find((finding) => finding.check === check)
        return (
          one && { text: `${one.status}: ${one.detail}`, checked: one.checkedAt.getTime(), since: one.since.getTime() }
        )
      }
      await round()
      const first = await found('PTR')
      assert.match(first?.text ?? '', /^ok/)
      fill({})
      await round()
      assert.deepEqual(await found('PTR'), first, 'the source was not due')
      ctx.advance(7 * 3600_000)
      await round()
      const second = await found('PTR')
      assert.match(second?.text ?? '', /^failed/)
      assert.ok(second !== undefined && first !== undefined && second.since > first.since)
      fill({ '*': { fault: 'refused' } })
      ctx.advance(7 * 3600_000)
      await round()
      assert.deepEqual(await found('PTR'), second, 'an unanswered query does not replace a finding')
      assert.match((await found('port 25'))?.text ?? '', /^skipped/)
    })

    it('ends a warm-up when its schedule is over and nothing was delayed for a week', async () => {
      const isWarming = async (): Promise<boolean> => (await findSource(ctx.db, 'w'))?.warmingSince instanceof Date
      await addSource(ctx, { ...FOUR, ...USUAL, name: 'w', address: '192.0.2.8', isWarmingUp: true })
      const round = createSourceCheckRound(ctx)
      ctx.advance(9 * 24 * 3600_000)
      await round()
      assert.strictEqual(await isWarming(), true, 'the schedule is not over')
      ctx.advance(2 * 24 * 3600_000)
      await ctx.db.query(
        sql`
          INSERT INTO egress_days (source_id, receiver, day, step, taken)
          SELECT id, 'google.com', $1::date, 1, 100
          FROM egress_sources
          WHERE name = 'w'
        `,
        [new Date(ctx.clock.now()).toISOString().slice(0, 10)],
      )
      await round()
      assert.strictEqual(await isWarming(), true, 'mail to google.com was delayed')
      await ctx.db.query('UPDATE egress_days SET taken = 99')
      await round()
      assert.strictEqual(await isWarming(), false)
    })
  })
})
