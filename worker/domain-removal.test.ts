/** Removals of sending domains by the worker, and what becomes of their mail, with a clock that is moved. */
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { findDomain } from '#src/domains/domains.ts'
import { newId } from '#src/platform/id.ts'
import { createDomainChecks, type DomainChecks } from '#test/support/domain-checks.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createDomainCheckRound, createDomainRemovalRound } from './domains.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

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
      time.advance(MINUTE + 1)
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
