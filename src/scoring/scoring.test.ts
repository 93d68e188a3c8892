import { assert } from 'chai'
import disposable from 'disposable-email-domains' with { type: 'json' }
import { createAudience } from '#src/contacts/audiences.ts'
import { createMemberLister } from '#src/contacts/member-pages.ts'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { createDomainDns, type DnsQueryResult } from '#src/domains/domain-dns.ts'
import { recordText } from '#src/domains/record-texts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { factorsOf, scoreOf, type AddressFacts } from './score-factors.ts'
import { isRoleAddress, loadDisposableDomains } from './address-lists.ts'
import { createMailDomainChecker } from './mail-domain-check.ts'
import { FIRST_CONTACT_ID, scoreBatch, type ScoringDeps, type ScoreResult, type ScoreSweep } from './scoring.ts'

const DAY_MS = 24 * 3600 * 1000
const GOOD: AddressFacts = {
  isWellFormed: true,
  domain: 'mx',
  isDisposable: false,
  isRole: false,
  suppression: null,
  outcomes: ['delivered'],
}

describe('the score', () => {
  const CASES: readonly (readonly [string, Partial<AddressFacts>, number])[] = [
    ['a good address', {}, 1],
    ['no mail delivered yet', { outcomes: [] }, 0.8],
    ['malformed', { isWellFormed: false }, 0],
    ['a domain that accepts no mail', { domain: 'none' }, 0],
    ['a domain with only an address record', { domain: 'address' }, 0.7],
    ['disposable, and new', { isDisposable: true, outcomes: [] }, 0.24],
    ['a role address', { isRole: true }, 0.7],
    ['a hard bounce', { suppression: 'hard_bounce' }, 0],
    ['a complaint', { suppression: 'complaint' }, 0.2],
    ['unsubscribed: no effect on the score', { suppression: 'unsubscribe' }, 1],
    ['refused once since the last delivery', { outcomes: ['bounced', 'delivered', 'bounced'] }, 0.6],
    ['refused twice since the last delivery', { outcomes: ['failed', 'bounced', 'delivered'] }, 0.36],
    ['refused many times, never delivered', { outcomes: ['failed', 'failed', 'failed', 'failed'] }, 0.173],
  ]
  for (const [name, facts, expected] of CASES)
    it(`${name}: ${expected}`, () => assert.strictEqual(scoreOf({ ...GOOD, ...facts }), expected))

  it('lists the factors that apply', () => {
    assert.deepEqual(factorsOf({ ...GOOD, isRole: true, domain: 'address', outcomes: [] }), [
      'implicitMx',
      'role',
      'unproven',
    ])
  })

  it('recognises role addresses and disposable domains', () => {
    const isDisposable = loadDisposableDomains()
    assert.deepEqual(['postmaster', 'Info', 'sales+list', 'anna', 'information'].map(isRoleAddress), [
      true,
      true,
      true,
      false,
      false,
    ])
    assert.deepEqual(
      ['mailinator.com', 'x.33mail.com', '33mail.com', 'gmail.com', 'example.com', 'mail'].map(isDisposable),
      [true, true, true, false, false, false],
    )
  })

  it('finds every listed domain and no other, so the list is sorted', () => {
    const isDisposable = loadDisposableDomains()
    const listed = [...new Set<string>(disposable)]
    assert.deepEqual(
      listed.filter((domain) => !isDisposable(domain)),
      [],
    )
    assert.deepEqual(
      ['', '0', '~.example', ...listed.slice(0, 1000).map((domain) => `${domain}.x-example`)].filter(isDisposable),
      [],
    )
  })
})

describe('scores of contacts', () => {
  let ctx: TestContext
  let dns: TestDns
  let deps: ScoringDeps
  let workspaceId: string
  before(async () => {
    dns = await startDns({
      'good.example': { MX: [[10, 'mx.good.example']] },
      'bare.example': { A: ['192.0.2.1'] },
      'six.example': { AAAA: ['2001:db8::1'] },
      'null.example': { MX: [[0, '']] },
      'empty.example': { TXT: ['x'] },
      'broken.example': { MX: [[10, 'mx.broken.example']], fault: 'servfail' },
    })
    ctx = await createContext({ DNS_SERVERS: dns.server })
  })
  beforeEach(async () => {
    deps = {
      domains: createMailDomainChecker(createDomainDns(ctx.config), ctx.clock),
      isDisposable: (domain) => domain === 'bare.example',
    }
    await ctx.db.query('DELETE FROM contacts')
    workspaceId = await ctx.newWorkspace()
    dns.zone['broken.example'] = { MX: [[10, 'mx.broken.example']], fault: 'servfail' }
  })
  after(async () => {
    await ctx.close()
    await dns.stop()
  })

  async function save(...emails: string[]): Promise<void> {
    await ctx.db.transaction((tx) =>
      saveContacts(
        tx,
        { workspaceId, audienceId: null, now: new Date() },
        emails.map((email) => ({ email })),
      ),
    )
  }
  async function run(sweep: ScoreSweep, after = FIRST_CONTACT_ID): Promise<ScoreResult> {
    const result = await scoreBatch(ctx, deps, sweep, after)
    return result.kind === 'batch' && result.scored + result.unanswered === 1000 ? run(sweep, result.last) : result
  }
  async function scores(): Promise<Record<string, number | null>> {
    const { rows } = await ctx.db.query<{ email: string; score: number | null }>(
      'SELECT email, score FROM contacts WHERE workspace_id = $1 ORDER BY email',
      [workspaceId],
    )
    return Object.fromEntries(rows.map(({ email, score }) => [email, score]))
  }
  async function sent(email: string, state: string, from = workspaceId): Promise<void> {
    await ctx.db.query(
      sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        VALUES ($1, 0, $2, 'bulk', 'to', $3, 'x', $4, false, now(), true, now())
      `,
      [newId(), from, email, state],
    )
  }
  const suppress = (email: string, kind: string): Promise<unknown> =>
    ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause, kind, created_at) VALUES ($1, $2, 'test', $3, $4)`,
      [workspaceId, email, kind, new Date(ctx.clock.now())],
    )

  it('follow from the domain, the lists and the delivery history of the address', async () => {
    await save(
      'new@good.example',
      'known@good.example',
      'tired@good.example',
      'info@good.example',
      'a@bare.example',
      'a@six.example',
      'a@null.example',
      'a@empty.example',
      'a@gone.example',
    )
    await sent('Known@good.example', 'delivered')
    for (const state of ['delivered', 'bounced', 'failed']) await sent('tired@good.example', state)
    await sent('new@good.example', 'delivered', await ctx.newWorkspace())
    assert.deepEqual(await run('unscored'), {
      kind: 'batch',
      scored: 9,
      unanswered: 0,
      last: (await ctx.db.query<{ id: string }>('SELECT id FROM contacts ORDER BY id DESC LIMIT 1')).rows[0]?.id,
    })
    assert.deepEqual(await scores(), {
      'a@bare.example': 0.168,
      'a@empty.example': 0,
      'a@gone.example': 0,
      'a@null.example': 0,
      'a@six.example': 0.56,
      'info@good.example': 0.56,
      'known@good.example': 1,
      'new@good.example': 0.8,
      'tired@good.example': 0.36,
    })
    assert.deepEqual(await run('unscored'), { kind: 'none left' })
  })

  it('contacts of a domain without a DNS answer wait; the others are scored', async () => {
    await save('a@broken.example', 'b@good.example')
    assert.deepInclude(await run('unscored'), { scored: 1, unanswered: 1 })
    assert.deepEqual(await scores(), { 'a@broken.example': null, 'b@good.example': 0.8 })
    dns.zone['broken.example'] = { MX: [[10, 'mx.broken.example']] }
    ctx.advance(2 * 60 * 1000)
    assert.deepInclude(await run('unscored'), { scored: 1, unanswered: 0 })
    assert.strictEqual((await scores())['a@broken.example'], 0.8)
  })

  it('queries a domain once for all its contacts, and stops when DNS does not answer at all', async () => {
    await save(...Array.from({ length: 300 }, (_, i) => `p${i}@good.example`))
    const before = dns.queries.length
    await run('unscored')
    assert.strictEqual(dns.queries.length - before, 1)
    let queries = 0
    const failing = async (): Promise<DnsQueryResult<never>> => {
      queries++
      await Promise.resolve()
      const text = recordText('dns_failed', { code: 'test' })
      return { kind: 'failed', reason: text.text, text }
    }
    const domains = createMailDomainChecker({ mx: failing, addresses: failing }, ctx.clock)
    const results = await domains(new Set(Array.from({ length: 5000 }, (_, i) => `${i}.example`)))
    assert.ok(queries <= 60, String(queries))
    assert.deepEqual([results.size, new Set(results.values())], [5000, new Set(['unknown'])])
  })

  it('are renewed after 30 days, and when the address is suppressed', async () => {
    await save('a@good.example', 'b@good.example', 'c@good.example')
    await run('unscored')
    assert.deepEqual(await run('aged'), { kind: 'none left' })
    ctx.advance(60_000)
    await suppress('a@good.example', 'hard_bounce')
    await suppress('b@good.example', 'complaint')
    ctx.advance(60_000)
    assert.deepInclude(await run('suppressed'), { scored: 2 })
    assert.deepEqual(await scores(), { 'a@good.example': 0, 'b@good.example': 0.16, 'c@good.example': 0.8 })
    assert.deepEqual(await run('suppressed'), { kind: 'none left' })
    ctx.advance(31 * DAY_MS)
    await sent('c@good.example', 'delivered')
    assert.deepInclude(await run('aged'), { scored: 3 })
    assert.strictEqual((await scores())['c@good.example'], 1)
  })

  it('two workers write each score once, and a contact that is deleted meanwhile does no harm', async () => {
    await save(...Array.from({ length: 50 }, (_, i) => `p${i}@good.example`))
    const slow: ScoringDeps = {
      ...deps,
      domains: async (domains) => {
        await ctx.db.query(`DELETE FROM contacts WHERE email = 'p1@good.example'`)
        return deps.domains(domains)
      },
    }
    await Promise.all([
      scoreBatch(ctx, slow, 'unscored', FIRST_CONTACT_ID),
      scoreBatch(ctx, slow, 'unscored', FIRST_CONTACT_ID),
    ])
    const found = Object.values(await scores())
    assert.deepEqual([found.length, found.every((score) => score === 0.8)], [49, true])
  })
  it('pages in the order of scores repeat and skip nobody while the contacts are scored', async () => {
    const audience = { name: 'a', description: null, isDoubleOptIn: false }
    const { id: audienceId } = await createAudience(ctx.db, workspaceId, audience, new Date())
    const rows = ['good', 'bare', 'null', 'empty'].flatMap((domain) =>
      Array.from({ length: 60 }, (_, i) => ({ email: `p${i}@${domain}.example` })),
    )
    await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId, now: new Date() }, rows))
    const list = createMemberLister(ctx.db)
    const listing = { keyId: newId(), audienceId, limit: 50, sort: 'deliverabilityScore', direction: 'desc' } as const
    const read: string[] = []
    for (const [at, sweep] of (['unscored', 'aged', 'aged', 'aged', 'aged'] as const).entries()) {
      const found = await list(workspaceId, { ...listing, page: at + 1, isSubscribedOnly: false })
      read.push(...(found?.members ?? []).map(({ email }) => email))
      await run(sweep)
      ctx.advance(31 * DAY_MS)
      await sent('p1@good.example', 'delivered')
    }
    assert.deepEqual([read.length, new Set(read).size], [240, 240])
  })
})
