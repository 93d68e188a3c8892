/** Rotations of DKIM keys by the worker, on real stores and a real DNS server, with a clock that is moved. */
import { assert } from 'chai'
import type { Domain } from '#src/domains/domains.ts'
import { dkimName } from '#src/domains/records.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { loadSendingDomain } from '#src/domains/signing-keys.ts'
import { createDomainChecks, type DomainChecks } from '#test/support/domain-checks.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { createDomainCheckRound } from './domains.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('the worker and sending domains', () => {
  let testbed: DomainTestbed
  let time: DomainChecks
  let workspaceId: string
  before(async () => {
    testbed = await createDomainTestbed()
    time = createDomainChecks(testbed, createDomainCheckRound(testbed.ctx))
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

  describe('a key rotation', () => {
    const selectors = async (domain: Domain, state: string): Promise<string[]> =>
      (await testbed.read(domain)).keys.filter((key) => key.state === state).map(({ selector }) => selector)
    const signing = async (domain: Domain): Promise<string[]> => {
      const sending = await loadSendingDomain(testbed.ctx, domain.id)
      return sending.kind === 'ready' ? sending.keys.map(({ selector }) => selector) : []
    }
    const rotate = (domain: Domain): ReturnType<typeof rotateDkimKeys> =>
      rotateDkimKeys(testbed.ctx, { workspaceId, id: domain.id })

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
        (await rotateDkimKeys(testbed.ctx, { workspaceId: await testbed.ctx.newWorkspace(), id: domain.id })).kind,
        'not-found',
      )
    })
  })
})
