import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { readMessage, type RecipientView } from '#src/messages/read.ts'
import { acquireLease } from '#src/queue/lease.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createDeadLeaseRound } from './dead-leases.ts'
import type { Round } from './loop.ts'

describe('dead leases', () => {
  let ctx: TestContext
  let workspaceId: string
  let loop: Round
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    loop = createDeadLeaseRound(ctx)
    await loop()
  })
  afterEach(() => ctx.close())

  async function accepted(): Promise<string> {
    const submission = submissionOf(workspaceId)
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  const read = async (id: string): Promise<RecipientView | undefined> =>
    (await readMessage(ctx.db, workspaceId, id))?.recipients[0]
  const stateOf = async (id: string): Promise<RecipientView['state'] | undefined> => (await read(id))?.state

  /** The lease of a process of this machine that is not there any more. */
  async function leaseOfTheDead(): Promise<number> {
    const mine = await acquireLease(ctx)
    const { pid } = spawnSync('true')
    const { rows } = await ctx.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (machine, pid, expires_at)
        SELECT machine, $2, expires_at
        FROM leases
        WHERE id = $1
        RETURNING id`,
      [mine.id, pid],
    )
    await mine.end()
    return rows[0]?.id ?? 0
  }

  it('recipients of a dead process are released, uncounted', async () => {
    const id = await accepted()
    const lease = await leaseOfTheDead()
    assert.strictEqual((await claimRecipients(ctx.db, lease, [{ messageId: id, n: 0 }], new Date())).length, 1)
    await loop()
    assert.strictEqual(await stateOf(id), 'queued')
    assert.strictEqual((await read(id))?.tries, 0)
    assert.deepEqual((await ctx.db.query('SELECT id FROM leases')).rows, [])
  })

  it('recipients of a living process are not released', async () => {
    const lease = await acquireLease(ctx)
    const id = await accepted()
    await claimRecipients(ctx.db, lease.id, [{ messageId: id, n: 0 }], new Date())
    await loop()
    assert.strictEqual(await stateOf(id), 'sending')
    await lease.end()
  })

  describe('that have expired', () => {
    const GRACE_MS = 200
    let id: number
    beforeEach(async () => {
      loop = createDeadLeaseRound({ ...ctx, config: { ...ctx.config, leaseSeconds: (3 * GRACE_MS) / 1000 } })
      const { rows } = await ctx.db.query<{ id: number }>(`
        INSERT INTO leases (machine, pid, expires_at) VALUES ('elsewhere', 1, now()) RETURNING id`)
      id = rows[0]?.id ?? 0
      await loop()
    })
    const leases = async (): Promise<number[]> =>
      (await ctx.db.query<{ id: number }>('SELECT id FROM leases')).rows.map((row) => row.id)

    it('have a grace period in which a living process renews them', async () => {
      assert.deepEqual(await leases(), [id])
      await ctx.db.query(`UPDATE leases SET expires_at = now() + interval '1 minute'`)
      await sleep(GRACE_MS)
      await loop()
      assert.deepEqual(await leases(), [id])
    })
    it('are released after it', async () => {
      await sleep(GRACE_MS)
      await loop()
      assert.deepEqual(await leases(), [])
    })
  })

  it('a claim that PostgreSQL executes after its lease is deleted is found soon', async () => {
    const id = await accepted()
    const lease = await leaseOfTheDead()
    await ctx.db.transaction(async (tx) => {
      assert.strictEqual((await claimRecipients(tx, lease, [{ messageId: id, n: 0 }], new Date())).length, 1)
      await loop() // does not see it yet, and removes the lease
    })
    assert.strictEqual(await stateOf(id), 'sending')
    for (let rounds = 0; rounds < 3; rounds++) await loop()
    assert.strictEqual(await stateOf(id), 'queued')
  })

  it('nothing is claimed under a deleted lease', async () => {
    const id = await accepted()
    const lease = await leaseOfTheDead()
    await loop()
    assert.deepEqual(await claimRecipients(ctx.db, lease, [{ messageId: id, n: 0 }], new Date()), [])
    assert.strictEqual(await stateOf(id), 'queued')
  })
})
