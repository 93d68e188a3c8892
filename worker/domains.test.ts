/** Checks of sending domains by the worker, on real stores and a real DNS server, with a clock that is moved. */
import { assert } from 'chai'
import { claimChecks } from '#src/domains/due-checks.ts'
import { trustDomain, type Domain } from '#src/domains/domains.ts'
import { dkimName } from '#src/domains/records.ts'
import { storeCheckResult } from '#src/domains/check-result.ts'
import { loadSendingDomain } from '#src/domains/signing-keys.ts'
import { createDomainChecks, type DomainChecks } from '#test/support/domain-checks.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { createDomainCheckRound } from './domains.ts'
import type { Round } from './loop.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('the worker and sending domains', () => {
  let testbed: DomainTestbed
  let checks: Round
  let time: DomainChecks
  let workspaceId: string
  before(async () => {
    testbed = await createDomainTestbed()
    checks = createDomainCheckRound(testbed.ctx)
    time = createDomainChecks(testbed, checks)
  })
  after(() => testbed.close())
  beforeEach(async () => {
    workspaceId = await testbed.ctx.newWorkspace()
    await testbed.ctx.db.query('DELETE FROM domains')
    time.reset()
  })

  const pass = (ms: number, stepMs?: number): Promise<void> => time.pass(ms, stepMs)
  const verified = (): Promise<Domain> => time.addVerified(workspaceId)
  const statusOf = async (domain: Domain): Promise<string> => (await testbed.read(domain)).status
  const eventsOf = async (): Promise<unknown[]> => {
    const { rows } = await testbed.ctx.db.query<{ type: string; data: object }>(
      'SELECT type, data FROM events WHERE workspace_id = $1 ORDER BY id',
      [workspaceId],
    )
    return rows.map(({ type, data }) => [type, data])
  }
  const event = ({ id, domain }: Domain, type: string, status: string): unknown => [
    type,
    { domain, domain_id: id, verification_status: status },
  ]

  const hide = (domain: Domain, fault: 'servfail' | 'nxdomain'): void => {
    const name = dkimName(domain.keys[0]?.selector ?? '', domain.domain)
    testbed.dns.zone[name] = { ...testbed.dns.zone[name], fault }
  }

  describe('a pending domain', () => {
    it('is checked after 2 minutes, and then less and less often', async () => {
      const domain = await testbed.add(workspaceId)
      await pass(MINUTE)
      assert.strictEqual((await testbed.read(domain)).checkedAt, null)
      let looks = 0
      for (let i = 0, last = 0; i < 24 * 60; i++) {
        await pass(MINUTE)
        const at = (await testbed.read(domain)).checkedAt?.getTime() ?? 0
        if (at !== last) looks++
        last = at
      }
      assert.ok(looks > 20 && looks < 50, `${looks} looks in a day`)
      assert.strictEqual(await statusOf(domain), 'pending')
    })

    it('is verified by its record, once, with an event', async () => {
      const domain = await verified()
      assert.notStrictEqual((await testbed.read(domain)).verifiedAt, null)
      await pass(2 * DAY, 6 * HOUR)
      assert.deepEqual(await eventsOf(), [event(domain, 'domain.verified', 'verified')])
    })

    it('fails after 72 hours; a later check verifies it', async () => {
      const domain = await testbed.add(workspaceId)
      await pass(71 * HOUR, HOUR)
      assert.strictEqual(await statusOf(domain), 'pending')
      await pass(3 * HOUR, HOUR)
      assert.strictEqual(await statusOf(domain), 'failed')
      testbed.publish(domain)
      await pass(2 * DAY, 12 * HOUR)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('is checked later if the worker that claimed it died', async () => {
      const domain = await testbed.add(workspaceId)
      testbed.publish(domain)
      time.advance(3 * MINUTE)
      assert.strictEqual((await claimChecks(testbed.ctx, 10)).length, 1)
      await checks()
      assert.strictEqual(await statusOf(domain), 'pending')
      await pass(6 * MINUTE)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('is checked by one of two workers', async () => {
      const domains = await Promise.all(Array.from({ length: 6 }, () => testbed.add(workspaceId)))
      time.advance(3 * MINUTE)
      const before = testbed.dns.queries.length
      await Promise.all([checks(), createDomainCheckRound(testbed.ctx)()])
      for (const {
        domain,
        keys: [rsa],
      } of domains) {
        const asked = testbed.dns.queries
          .slice(before)
          .filter(({ name, type }) => type === 'TXT' && name === dkimName(rsa?.selector ?? '', domain))
        assert.strictEqual(asked.length, 1)
      }
    })
  })

  describe('a verified domain', () => {
    it('is not degraded by DNS failures, however long', async () => {
      const domain = await verified()
      hide(domain, 'servfail')
      await pass(3 * DAY, HOUR)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('is not degraded by one wrong response', async () => {
      const domain = await verified()
      hide(domain, 'nxdomain')
      await pass(27 * HOUR)
      assert.notStrictEqual((await testbed.read(domain)).missingSince, null)
      testbed.unpublish(domain)
      testbed.publish(domain)
      await pass(12 * MINUTE)
      const now = await testbed.read(domain)
      assert.deepEqual([now.status, now.missingSince], ['verified', null])
    })

    it('without its record degrades, sends for 24 hours and then fails; the record verifies it again', async () => {
      const domain = await verified()
      testbed.unpublish(domain)
      await pass(27 * HOUR)
      await pass(12 * MINUTE)
      assert.strictEqual(await statusOf(domain), 'degraded')
      assert.strictEqual((await loadSendingDomain(testbed.ctx, domain.id)).kind, 'ready')
      await pass(23 * HOUR, HOUR)
      assert.strictEqual(await statusOf(domain), 'degraded')
      await pass(3 * HOUR, HOUR)
      assert.strictEqual(await statusOf(domain), 'failed')
      assert.deepEqual(await loadSendingDomain(testbed.ctx, domain.id), { kind: 'not-verified' })
      testbed.publish(domain)
      assert.strictEqual((await testbed.verify(domain)).kind, 'verified')
      assert.deepEqual(await eventsOf(), [
        event(domain, 'domain.verified', 'verified'),
        event(domain, 'domain.degraded', 'degraded'),
        event(domain, 'domain.verified', 'verified'),
      ])
    })

    it('recovers by itself and keeps its verification time', async () => {
      const domain = await verified()
      const { verifiedAt } = await testbed.read(domain)
      testbed.unpublish(domain)
      await pass(27 * HOUR)
      await pass(12 * MINUTE)
      testbed.publish(domain)
      await pass(5 * MINUTE)
      const now = await testbed.read(domain)
      assert.deepEqual([now.status, now.verifiedAt], ['verified', verifiedAt])
    })

    it('is checked more often in its first days while other records are missing', async () => {
      const domain = await testbed.add(workspaceId)
      testbed.publish(domain, ({ purpose }) => purpose === 'dkim')
      await pass(3 * MINUTE)
      assert.deepEqual(
        [(await testbed.read(domain)).status, (await testbed.read(domain)).mailFromStatus],
        ['verified', 'pending'],
      )
      testbed.publish(domain)
      await pass(3 * MINUTE)
      assert.strictEqual((await testbed.read(domain)).mailFromStatus, 'verified')
    })

    it('trusted by the operator stays verified without any record', async () => {
      const domain = await testbed.add(workspaceId)
      await trustDomain(testbed.ctx.db, domain.id)
      await pass(5 * DAY, 6 * HOUR)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('uses its own bounce domain while MX and SPF are published', async () => {
      const domain = await verified()
      const mailFrom = async (): Promise<string | null | undefined> => {
        const sending = await loadSendingDomain(testbed.ctx, domain.id)
        return sending.kind === 'ready' ? sending.mailFrom : undefined
      }
      assert.strictEqual(await mailFrom(), `bounce.${domain.domain}`)
      assert.strictEqual((await testbed.read(domain)).trackingStatus, 'verified')
      testbed.dns.zone[`bounce.${domain.domain}`] = { fault: 'servfail' }
      await testbed.verify(domain)
      assert.strictEqual(await mailFrom(), `bounce.${domain.domain}`, 'silence changes nothing')
      testbed.dns.zone[`bounce.${domain.domain}`] = { MX: [[10, 'mx.other.example']] }
      await testbed.verify(domain)
      assert.strictEqual(await mailFrom(), null)
      assert.strictEqual((await testbed.read(domain)).mailFromStatus, 'failed')
    })
  })

  it('a check that started earlier and ends later than another changes nothing', async () => {
    const domain = await verified()
    const { checkedAt, checks: found } = await testbed.read(domain)
    const absent = (found ?? []).map((check) => ({ ...check, status: 'missing' as const }))
    const begunAt = (checkedAt?.getTime() ?? 0) - 1
    await storeCheckResult(testbed.ctx, { domainId: domain.id, workspaceId, startedAt: begunAt, checks: absent })
    const now = await testbed.read(domain)
    assert.deepEqual([now.missingSince, now.mailFromStatus, now.checks], [null, 'verified', found])
  })

  describe('two workspaces with one domain', () => {
    it('the second waits, and takes over when the first has lost its records', async () => {
      const first = await verified()
      const second = await testbed.add(await testbed.ctx.newWorkspace(), first.domain)
      testbed.publish(second)
      assert.strictEqual((await testbed.verify(second)).kind, 'taken')
      assert.strictEqual(await statusOf(second), 'pending')
      testbed.unpublish(first)
      testbed.publish(second)
      await pass(27 * HOUR)
      await pass(30 * HOUR, 30 * MINUTE)
      assert.deepEqual([await statusOf(first), await statusOf(second)], ['failed', 'verified'])
    })
  })
})
