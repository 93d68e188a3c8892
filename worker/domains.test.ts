/** What the worker does for sending domains, on real stores and a real DNS server, with a clock that is moved. */
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimChecks } from '#src/domains/due-checks.ts'
import { findDomain, trustDomain, type Domain } from '#src/domains/domains.ts'
import { dkimName } from '#src/domains/records.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { storeCheckResult } from '#src/domains/check-result.ts'
import { loadSendingDomain } from '#src/domains/signing-keys.ts'
import { newId } from '#src/platform/id.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createDomainCheckRound, createDomainRemovalRound } from './domains.ts'
import type { Round } from './loop.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('the worker and sending domains', () => {
  let testbed: DomainTestbed
  let checks: Round
  let workspaceId: string
  let passedMs = 0
  before(async function () {
    this.timeout(120_000)
    testbed = await createDomainTestbed()
    checks = createDomainCheckRound(testbed.ctx)
  })
  after(() => testbed.close())
  beforeEach(async () => {
    workspaceId = await testbed.ctx.newWorkspace()
    await testbed.ctx.db.query('DELETE FROM domains')
    // each test begins now: there are partitions for the next weeks only
    testbed.ctx.advance(-passedMs)
    passedMs = 0
  })

  function advance(ms: number): void {
    passedMs += ms
    testbed.ctx.advance(ms)
  }

  /** Time goes by, in steps in which the loop looks at what is due. */
  async function pass(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      advance(Math.min(stepMs, left))
      await checks()
    }
  }
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

  async function verified(): Promise<Domain> {
    const domain = await testbed.add(workspaceId)
    testbed.publish(domain)
    await pass(3 * MINUTE)
    assert.strictEqual(await statusOf(domain), 'verified')
    return domain
  }
  const hide = (domain: Domain, trouble: 'servfail' | 'nxdomain'): void => {
    const name = dkimName(domain.keys[0]?.selector ?? '', domain.domain)
    testbed.dns.zone[name] = { ...testbed.dns.zone[name], fault: trouble }
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
      advance(3 * MINUTE)
      assert.strictEqual((await claimChecks(testbed.ctx, 10)).length, 1)
      await checks()
      assert.strictEqual(await statusOf(domain), 'pending')
      await pass(6 * MINUTE)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('is checked by one of two workers', async () => {
      const domains = await Promise.all(Array.from({ length: 6 }, () => testbed.add(workspaceId)))
      advance(3 * MINUTE)
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

  describe('a key rotation', () => {
    const selectors = async (domain: Domain, state: string): Promise<string[]> =>
      (await testbed.read(domain)).keys.filter((key) => key.state === state).map(({ selector }) => selector)
    const signing = async (domain: Domain): Promise<string[]> => {
      const sending = await loadSendingDomain(testbed.ctx, domain.id)
      return sending.kind === 'ready' ? sending.keys.map(({ selector }) => selector) : []
    }
    const rotate = (domain: Domain): ReturnType<typeof rotateDkimKeys> =>
      rotateDkimKeys(testbed.ctx, workspaceId, domain.id)

    it('signs with the new pair after it was found twice, and keeps the old record for a week', async () => {
      const domain = await verified()
      const old = await signing(domain)
      assert.strictEqual((await rotate(domain)).kind, 'begun')
      const next = await selectors(domain, 'waiting')
      await pass(HOUR, 5 * MINUTE)
      assert.deepEqual(await signing(domain), old, 'not before it is published')
      testbed.publish(await testbed.read(domain))
      await pass(HOUR, HOUR)
      assert.deepEqual(await signing(domain), old, 'not when it was seen just now')
      await pass(12 * MINUTE)
      assert.deepEqual(await signing(domain), next)
      assert.deepEqual(await selectors(domain, 'retired'), old)
      assert.strictEqual(await statusOf(domain), 'verified')
      await pass(6 * DAY, DAY + 3 * HOUR)
      assert.deepEqual(await selectors(domain, 'retired'), old)
      await pass(3 * DAY, DAY + 3 * HOUR)
      assert.deepEqual(await selectors(domain, 'removable'), old)
      const { rows } = await testbed.ctx.db.query<{ private_key: Buffer }>(
        `SELECT private_key FROM dkim_keys WHERE domain_id = $1 AND state = 'removable'`,
        [domain.id],
      )
      assert.ok(rows.length === 2 && rows.every((row) => row.private_key.length === 0))
      await pass(33 * DAY, DAY + 3 * HOUR)
      assert.strictEqual((await testbed.read(domain)).keys.length, 2)
      assert.strictEqual(await statusOf(domain), 'verified')
    })

    it('has no gap if the owner removes the old record too early', async () => {
      const domain = await verified()
      await rotate(domain)
      const next = await selectors(domain, 'waiting')
      const { keys } = await testbed.read(domain)
      testbed.publish(await testbed.read(domain))
      for (const { state, selector } of keys)
        if (state === 'active') delete testbed.dns.zone[dkimName(selector, domain.domain)]
      assert.strictEqual((await testbed.verify(domain)).kind, 'verified')
      assert.deepEqual(await signing(domain), next)
    })

    it('runs one at a time, also when several start together', async () => {
      const domain = await verified()
      const kinds = (await Promise.all([rotate(domain), rotate(domain), rotate(domain)])).map(({ kind }) => kind)
      assert.deepEqual(kinds.toSorted(), ['begun', 'under-way', 'under-way'])
      assert.strictEqual((await selectors(domain, 'waiting')).length, 2)
    })

    it('with only RSA published can be followed by another', async () => {
      const domain = await verified()
      await rotate(domain)
      testbed.publish(await testbed.read(domain), ({ name }) => !name.includes('-ed.'))
      await pass(HOUR, HOUR)
      await pass(12 * MINUTE)
      assert.strictEqual((await selectors(domain, 'waiting')).length, 1)
      assert.strictEqual((await rotate(domain)).kind, 'begun')
      assert.strictEqual((await selectors(domain, 'waiting')).length, 2)
    })

    it('requires a verified domain of the workspace', async () => {
      const domain = await testbed.add(workspaceId)
      assert.strictEqual((await rotate(domain)).kind, 'not-verified')
      assert.strictEqual(
        (await rotateDkimKeys(testbed.ctx, await testbed.ctx.newWorkspace(), domain.id)).kind,
        'not-found',
      )
    })
  })

  describe('a removed domain', () => {
    const accept = async (domainId: string, more: object = {}): Promise<string> => {
      const acceptor = createAcceptor(testbed.ctx)
      const submission = { ...submissionOf(workspaceId), domainId, ...more }
      await acceptor.accept(submission)
      await acceptor.drain()
      return submission.id
    }
    const recipientOf = async (id: string): Promise<{ state: string; reason: string | null } | undefined> =>
      (
        await testbed.ctx.db.query<{ state: string; reason: string | null }>(
          'SELECT state, reason FROM recipients WHERE message_id = $1',
          [id],
        )
      ).rows[0]

    it('fails its queued and scheduled mail with a clear reason, and no other mail', async () => {
      const [gone, stays] = [await testbed.add(workspaceId), await testbed.add(workspaceId)]
      const queued = await accept(gone.id)
      const scheduled = await accept(gone.id, { scheduledAt: new Date(testbed.ctx.clock.now() + 30 * DAY) })
      const others = [await accept(stays.id), await accept(newId())]
      assert.strictEqual(await removeDomain(testbed.ctx, workspaceId, gone.id), true)
      const loop = createDomainRemovalRound(testbed.ctx)
      await Promise.all([loop(), createDomainRemovalRound(testbed.ctx)()])
      for (const id of [queued, scheduled])
        assert.deepEqual(await recipientOf(id), {
          state: 'failed',
          reason: `the sending domain ${gone.domain} was removed`,
        })
      for (const id of others) assert.strictEqual((await recipientOf(id))?.state, 'queued')
      const { rows } = await testbed.ctx.db.query<{ type: string }>(
        `SELECT type FROM events WHERE message_id = $1 ORDER BY sequence`,
        [queued],
      )
      assert.deepEqual(
        rows.map(({ type }) => type),
        ['email.queued', 'email.failed'],
      )
      assert.strictEqual(await findDomain(testbed.ctx.db, workspaceId, gone.id), null)
    })

    it('is processed again after a minute, for mail accepted at the last moment', async () => {
      const domain = await testbed.add(workspaceId)
      await removeDomain(testbed.ctx, workspaceId, domain.id)
      const loop = createDomainRemovalRound(testbed.ctx)
      await loop()
      const late = await accept(domain.id)
      advance(MINUTE + 1)
      await loop()
      assert.strictEqual((await recipientOf(late))?.state, 'failed')
      assert.deepEqual((await testbed.ctx.db.query('SELECT 1 FROM domain_removals')).rows, [])
    })

    it('with more mail than a slice', async () => {
      const domain = await testbed.add(workspaceId)
      const acceptor = createAcceptor(testbed.ctx)
      const all = Array.from({ length: 1300 }, (_, i) => ({
        ...submissionOf(workspaceId),
        domainId: i % 2 === 0 ? domain.id : newId(),
      }))
      await Promise.all(all.map((one) => acceptor.accept(one)))
      await removeDomain(testbed.ctx, workspaceId, domain.id)
      await createDomainRemovalRound(testbed.ctx)()
      const { rows } = await testbed.ctx.db.query<{ state: string; n: number }>(
        'SELECT state, count(*) AS n FROM recipients WHERE workspace_id = $1 GROUP BY state ORDER BY state',
        [workspaceId],
      )
      assert.deepEqual(rows, [
        { state: 'failed', n: 650 },
        { state: 'queued', n: 650 },
      ])
    })
  })
})
