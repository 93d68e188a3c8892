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
import { addSource, findSource } from './sources.ts'

const FOUR: CheckedSource = { name: 'a', address: '192.0.2.7', ehloName: 'out.sender.example' }
const SIX: CheckedSource = { name: 'b', address: '2001:db8::7', ehloName: 'out.sender.example' }
const USUAL = { region: 'us-east-1', pool: null, weight: 1 } as const
const PTR4 = '7.2.0.192.in-addr.arpa'
const PTR6 = reversedName('2001:db8::7', 'ip6.arpa')

interface Row {
  readonly what: string
  readonly check: CheckName
  readonly zone: Zone
  readonly source?: CheckedSource
  readonly expected: RegExp
  readonly todo?: RegExp
}

const LISTED = (zone: string, answers: readonly string[]): Zone => ({ [`7.2.0.192.${zone}`]: { A: answers } })

const ROWS: readonly Row[] = [
  {
    what: 'an address with a name',
    check: 'PTR',
    zone: { [PTR4]: { PTR: ['Out.sender.example'] } },
    expected: /^ok: 192\.0\.2\.7 has the name out\.sender\.example$/,
  },
  {
    what: 'a name of an IPv6 address',
    check: 'PTR',
    source: SIX,
    zone: { [PTR6]: { PTR: ['out.sender.example'] } },
    expected: /^ok/,
  },
  {
    what: 'no name',
    check: 'PTR',
    zone: {},
    expected: /^failed: 192\.0\.2\.7 has no name \(PTR\)$/,
    todo: /set its PTR record to out\.sender\.example/,
  },
  {
    what: 'DNS does not answer',
    check: 'PTR',
    zone: { [PTR4]: { fault: 'servfail' } },
    expected: /^skipped: the DNS server failed/,
  },
  {
    what: 'the name resolves back',
    check: 'FCrDNS',
    expected: /^ok/,
    zone: {
      [PTR4]: { PTR: ['other.example', 'out.sender.example'] },
      'out.sender.example': { A: ['192.0.2.9', '192.0.2.7'] },
    },
  },
  {
    what: 'the name resolves to another address',
    check: 'FCrDNS',
    zone: { [PTR4]: { PTR: ['out.sender.example'] }, 'out.sender.example': { A: ['192.0.2.9'] } },
    expected: /^failed: out\.sender\.example does not resolve to 192\.0\.2\.7$/,
    todo: /A record for out\.sender\.example with 192\.0\.2\.7/,
  },
  {
    what: 'DNS does not answer for the name',
    check: 'FCrDNS',
    zone: { [PTR4]: { PTR: ['out.sender.example'] }, 'out.sender.example': { fault: 'refused' } },
    expected: /^skipped/,
  },
  {
    what: 'the EHLO name resolves to the address',
    check: 'EHLO name',
    zone: { 'out.sender.example': { A: ['192.0.2.7'] } },
    expected: /^ok: out\.sender\.example resolves to 192\.0\.2\.7$/,
  },
  {
    what: 'an IPv6 address in another spelling',
    check: 'EHLO name',
    source: SIX,
    zone: { 'out.sender.example': { AAAA: ['2001:0db8:0:0::7'] } },
    expected: /^ok/,
  },
  {
    what: 'the EHLO name of another address',
    check: 'EHLO name',
    zone: { 'out.sender.example': { A: ['192.0.2.8'] } },
    expected: /^failed: out\.sender\.example resolves to 192\.0\.2\.8, not 192\.0\.2\.7$/,
    todo: /add an A record/,
  },
  {
    what: 'an EHLO name of the other family',
    check: 'EHLO name',
    source: SIX,
    zone: { 'out.sender.example': { A: ['192.0.2.7'] } },
    expected: /^failed: .* has no AAAA record$/,
    todo: /AAAA/,
  },
  { what: 'on no list', check: 'blocklists', zone: {}, expected: /^ok: listed on none of 4$/ },
  {
    what: 'on a list',
    check: 'blocklists',
    zone: LISTED('zen.spamhaus.org', ['127.0.0.2', '127.0.0.4']),
    expected: /^failed: zen\.spamhaus\.org lists the address \(SBL: .*, XBL: /,
    todo: /check\.spamhaus\.org/,
  },
  {
    what: 'a list that refuses the resolver',
    check: 'blocklists',
    zone: LISTED('zen.spamhaus.org', ['127.255.255.254']),
    expected: /^warning: listed on none of 3; zen\.spamhaus\.org does not answer this resolver/,
    todo: /DNS_SERVERS/,
  },
  {
    what: 'a parked zone that answers every name',
    check: 'blocklists',
    zone: LISTED('bl.spamcop.net', ['198.51.100.1']),
    expected: /^warning: listed on none of 3; bl\.spamcop\.net does not answer/,
    todo: /BLOCKLISTS/,
  },
  {
    what: 'an unknown return code',
    check: 'blocklists',
    zone: LISTED('psbl.surriel.com', ['127.0.0.77']),
    expected: /^failed: psbl\.surriel\.com lists the address \(127\.0\.0\.77\)$/,
    todo: /psbl\.org/,
  },
  { what: 'no list answers', check: 'blocklists', zone: { '*': { fault: 'refused' } }, expected: /^skipped: zen/ },
  { what: 'lists for IPv6 only', check: 'blocklists', source: SIX, zone: {}, expected: /^ok: listed on none of 1$/ },
]

describe('checks of a source', function () {
  this.timeout(60_000)
  let dns: TestDns

  before(async () => {
    dns = await startDns({})
  })
  after(() => dns.stop())

  const configOf = (env: Record<string, string> = {}): Config =>
    loadConfig({ HOSTNAME: 'mta.sender.example', DNS_SERVERS: dns.server, ...env })

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

  for (const { what, check, zone, source, expected, todo } of ROWS) {
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
        HOSTNAME: 'mta.sender.example',
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
