import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { readMessage, type RecipientView } from '#src/messages/read.ts'
import { acquireLease } from '#src/queue/lease.ts'
import { markJournalRead } from '#src/queue/lease-observer.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'
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
  async function leaseOfTheDead(journal: string | null = null): Promise<number> {
    const mine = await acquireLease(ctx)
    const { pid } = spawnSync('true')
    const { rows } = await ctx.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at, journal)
        SELECT '0.2.0', machine, $2, expires_at, $3
        FROM leases
        WHERE id = $1
        RETURNING id`,
      [mine.id, pid, journal],
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

  describe('with a journal', () => {
    let id: string
    let lease: number
    beforeEach(async () => {
      id = await accepted()
      lease = await leaseOfTheDead('results.journal')
      await claimRecipients(ctx.db, lease, [{ messageId: id, n: 0 }], new Date())
      await loop()
    })

    it('are released when it was read, and not before', async () => {
      assert.strictEqual(await stateOf(id), 'sending')
      await markJournalRead(ctx.db, 'results.journal', [lease])
      await loop()
      assert.strictEqual(await stateOf(id), 'queued')
    })
    it('are released when nobody read it in time', async () => {
      const waitMs = ctx.config.journalWaitSeconds * 1000
      await ctx.db.query(`UPDATE leases SET expires_at = now() - $1 * interval '1 ms'`, [waitMs - 5000])
      await loop()
      assert.strictEqual(await stateOf(id), 'sending')
      await ctx.db.query(`UPDATE leases SET expires_at = now() - $1 * interval '1 ms'`, [waitMs])
      await loop()
      assert.strictEqual(await stateOf(id), 'queued')
    })
  })

  describe('of a machine that was restarted', () => {
    const HERE = { host: 'ab'.repeat(16), boot: '0d7c8b1e-62f5-4c1e-9a57-3d1c4f5b6a79' }
    const BEFORE = 'f3a0c1d2-11aa-4b7c-8d22-5e6f708192a3 pid:[4026531836]'
    const ROWS: readonly (readonly [
      what: string,
      machine: string,
      host: string | null,
      node: string,
      dead: boolean,
    ])[] = [
      ['before it was restarted', BEFORE, HERE.host, 'here', true],
      ['since it was restarted', `${HERE.boot} pid:[4026531836]`, HERE.host, 'here', false],
      ['of another node, a clone', BEFORE, HERE.host, 'there', false],
      ['of another machine', BEFORE, 'cd'.repeat(16), 'here', false],
      ['of a machine without an id', BEFORE, null, 'here', false],
    ]
    const add = (machine: string, host: string | null, node: string): Promise<unknown> =>
      ctx.db.query(
        sql`
          INSERT INTO leases (version, machine, pid, expires_at, host, node)
          VALUES ('0.2.0', $1, 1, now() + interval '1 minute', $2, $3)`,
        [machine, host, node],
      )
    const count = async (): Promise<number> => (await ctx.db.query('SELECT id FROM leases')).rows.length
    beforeEach(() => {
      loop = createDeadLeaseRound({ ...ctx, config: { ...ctx.config, nodeName: 'here' } }, HERE)
    })

    for (const [what, machine, host, node, isDead] of ROWS)
      it(`${what}: ${isDead ? 'is released after ten rounds of silence' : 'is left alone'}`, async () => {
        await add(machine, host, node)
        for (let round = 0; round < 10; round++) await loop()
        assert.strictEqual(await count(), 1)
        await loop()
        assert.strictEqual(await count(), isDead ? 0 : 1)
      })

    it('before it was restarted, still renewed: is left alone', async () => {
      await add(BEFORE, HERE.host, 'here')
      for (let round = 0; round < 25; round++) {
        if (round % 8 === 0) await ctx.db.query(`UPDATE leases SET expires_at = expires_at + interval '1 second'`)
        await loop()
      }
      assert.strictEqual(await count(), 1)
    })

    it('cannot be renewed once it is declared dead', async () => {
      const lease = await acquireLease(ctx)
      const { id } = lease
      await ctx.db.query('UPDATE leases SET is_declared_dead = true')
      await until(() => lease.id !== id)
      await lease.end()
    })
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
        INSERT INTO leases (version, machine, pid, expires_at) VALUES ('0.2.0', 'elsewhere', 1, now()) RETURNING id`)
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
