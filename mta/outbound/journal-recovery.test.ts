import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { resultOf } from '#mta/delivery/result-handler.ts'
import { openResultJournal, type ResultJournal } from '#mta/delivery/result-journal.ts'
import { createResultWriter, type ResultWriter } from '#mta/delivery/result-writer.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients, type ClaimedRecipient } from '#src/messages/claim.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { readMessage, type RecipientView } from '#src/messages/read.ts'
import { applyTransitions } from '#src/messages/transition.ts'
import { releaseTransition } from '#src/messages/transition-for-outcome.ts'
import { machineId } from '#src/queue/lease-observer.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { attemptOf } from '#test/support/delivery.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createRecoveryRound } from './journal-recovery.ts'

const MINUTE_MS = 60_000
/** As the list of leases shows it. */
const observed = (row: object): object => ({ ...row, is_over: false, is_awaited: true })
const UNKNOWN: Outcome = { kind: 'unknown', reason: 'lost-after-dot', detail: 'connection lost' }

describe('recovery of a result journal', () => {
  let ctx: TestContext
  let workspaceId: string
  let folder: string
  let journal: ResultJournal
  let lease: number
  let writer: ResultWriter
  let round: () => Promise<void>
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    writer = createResultWriter(ctx)
  })
  after(async () => {
    await writer.drain()
    await ctx.close()
  })
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mailstead-journal-'))
    journal = openResultJournal(ctx, folder)
    const { rows } = await ctx.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at, journal)
        VALUES ('0.2.0', $1, $2, now() + interval '1 hour', $3)
        RETURNING id
      `,
      [machineId(), process.pid, journal.name],
    )
    lease = rows[0]?.id ?? 0
    round = createRecoveryRound(ctx, { folder, ownName: null, writer })
  })
  afterEach(async () => {
    await ctx.db.query('DELETE FROM leases')
    rmSync(folder, { recursive: true })
  })

  async function claimed(): Promise<ClaimedRecipient> {
    const { id } = submissionOf(workspaceId)
    await createAcceptor(ctx).accept({ ...submissionOf(workspaceId), id })
    const [one] = await claimRecipients(ctx.db, lease, [{ messageId: id, n: 0 }], new Date())
    assert.ok(one !== undefined)
    return one
  }
  const note = (one: ClaimedRecipient, outcome?: Outcome): void =>
    journal.record(resultOf(ctx, one, attemptOf(outcome)))
  /** The process of the lease is gone. */
  async function die(): Promise<void> {
    await ctx.db.query('UPDATE leases SET pid = $1', [spawnSync('true').pid])
  }
  async function read({ messageId }: ClaimedRecipient): Promise<RecipientView> {
    const recipient = (await readMessage(ctx.db, workspaceId, messageId))?.recipients[0]
    assert.ok(recipient !== undefined)
    return recipient
  }
  const stateOf = async (one: ClaimedRecipient): Promise<string> => (await read(one)).state
  const journalOfLease = async (): Promise<unknown> =>
    (await ctx.db.query<{ journal: string }>('SELECT journal FROM leases')).rows[0]?.journal

  it('records what was accepted and not committed; the rest stays for the worker to release', async () => {
    const [accepted, unknown, begun] = [await claimed(), await claimed(), await claimed()]
    note(accepted)
    note(unknown, UNKNOWN)
    await die()
    await round()
    assert.deepEqual(await Promise.all([accepted, unknown, begun].map(stateOf)), ['delivered', 'unknown', 'sending'])
    assert.strictEqual((await read(accepted)).attempts[0]?.replyCode, 250)
    assert.deepEqual([await journalOfLease(), readdirSync(folder)], [null, []])
  })
  it('leaves the journal of a living process alone', async () => {
    const one = await claimed()
    note(one)
    await round()
    assert.deepEqual([await stateOf(one), await journalOfLease()], ['sending', journal.name])
    assert.deepEqual(readdirSync(folder), [journal.name])
  })
  it('changes nothing that was committed, also when two processes read the journal at once', async () => {
    const [committed, open] = [await claimed(), await claimed()]
    for (const one of [committed, open]) note(one)
    await writer.write(resultOf(ctx, committed, attemptOf()))
    await die()
    const other = createRecoveryRound(ctx, { folder, ownName: null, writer: createResultWriter(ctx) })
    await Promise.all([round(), other()])
    for (const one of [committed, open]) {
      const { state, attempts, tries } = await read(one)
      assert.deepEqual([state, attempts.length, tries], ['delivered', 1, 1])
    }
  })
  it('ignores the result of an earlier attempt under the same lease', async () => {
    const one = await claimed()
    note(one, UNKNOWN)
    await writer.write(resultOf(ctx, one, attemptOf(UNKNOWN)))
    const release = releaseTransition(one, new Date(0), null)
    await applyTransitions(ctx.db, [{ ...release, move: 'try_again', lease: null, claimedAt: undefined }], new Date())
    const [second] = await claimRecipients(ctx.db, lease, [one], new Date())
    assert.strictEqual(second?.attempt, 2)
    await die()
    await round()
    assert.strictEqual(await stateOf(one), 'sending')
  })
  it('keeps the file when a lease of a living process names it too', async () => {
    const one = await claimed()
    note(one)
    await die()
    // the process had lost its lease and has another one, which the list of leases did not have yet
    const found = await ctx.db.query('SELECT * FROM leases')
    const db = Object.create(ctx.db) as TestContext['db']
    await ctx.db.query(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at, journal)
        VALUES ('0.2.0', $1, $2, now() + interval '1 hour', $3)
      `,
      [machineId(), process.pid, journal.name],
    )
    await round()
    assert.deepEqual([await stateOf(one), readdirSync(folder)], ['sending', [journal.name]])
    let reads = 0
    db.query = ((...args: Parameters<typeof ctx.db.query>) =>
      reads++ === 0 ? Promise.resolve({ ...found, rows: found.rows.map(observed) }) : ctx.db.query(...args)) as never
    await createRecoveryRound({ ...ctx, db }, { folder, ownName: null, writer })()
    assert.deepEqual([await stateOf(one), readdirSync(folder)], ['delivered', [journal.name]])
    const { rows } = await ctx.db.query('SELECT journal FROM leases ORDER BY id')
    assert.deepEqual(rows, [{ journal: null }, { journal: journal.name }])
  })
  it('records every complete line of a torn journal', async () => {
    const [one, other] = [await claimed(), await claimed()]
    note(one)
    note(other)
    appendFileSync(join(folder, journal.name ?? ''), '0badc0de {"claimed":{"messageId":"')
    await die()
    await round()
    assert.deepEqual(await Promise.all([one, other].map(stateOf)), ['delivered', 'delivered'])
  })
  it('removes a journal that no lease names, when no process can be starting with it', async () => {
    const one = await claimed()
    note(one)
    await ctx.db.query('DELETE FROM leases')
    ctx.advance(2 * MINUTE_MS) // the clock of PostgreSQL, not that of the file
    await round()
    ctx.advance(-2 * MINUTE_MS)
    assert.deepEqual(readdirSync(folder), [journal.name])
    const longAgo = new Date(Date.now() - 2 * MINUTE_MS)
    utimesSync(join(folder, journal.name ?? ''), longAgo, longAgo)
    await round()
    assert.deepEqual([readdirSync(folder), await stateOf(one)], [[], 'delivered'])
  })
})
