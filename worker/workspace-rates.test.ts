import { assert } from 'chai'
import { listSuspensions, resume } from '#src/queue/suspensions.ts'
import { createWorkspaceRateRound } from './workspace-rates.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { addCounts, evaluateRates, readCounts, type ResultCounts } from '#src/workspaces/rates.ts'

const THRESHOLDS = { bounces: 0.1, complaints: 0.005, minimum: 100 }

/** Of no workspace. */
const DELETED = '019a9a00-0000-7000-8000-0000000000aa'

const CASES: readonly [what: string, counts: ResultCounts, cause: string | null][] = [
  ['nothing', { delivered: 0, hard: 0, complaints: 0 }, null],
  ['too few to say', { delivered: 0, hard: 99, complaints: 99 }, null],
  ['as many as allowed', { delivered: 900, hard: 100, complaints: 4 }, null],
  ['too many to nobody', { delivered: 899, hard: 101, complaints: 0 }, 'bounces'],
  ['nobody at all', { delivered: 0, hard: 100, complaints: 0 }, 'bounces'],
  ['too many complaints', { delivered: 1000, hard: 0, complaints: 6 }, 'complaints'],
]

describe('workspace rates', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext({ PAUSE_MINIMUM: '100', PAUSE_WINDOW_SECONDS: '7200' })
  })
  after(() => ctx.close())

  for (const [what, counts, cause] of CASES)
    it(`${what}: ${cause ?? 'goes on'}`, () =>
      assert.strictEqual(evaluateRates(counts, THRESHOLDS)?.cause ?? null, cause))

  const pausesOf = async (id: string) => (await listSuspensions(ctx.db)).filter(({ subject }) => subject === id)

  it('a bad workspace is suspended once, with its reason; resumed, it starts anew', async () => {
    const [bad, good] = [await ctx.newWorkspace(), await ctx.newWorkspace()]
    const now = new Date()
    await addCounts(
      ctx.db,
      [
        { workspaceId: bad, delivered: 50, hard: 20, complaints: 0 },
        { workspaceId: bad, delivered: 30, hard: 10, complaints: 0 },
      ],
      now,
    )
    await addCounts(ctx.db, [{ workspaceId: good, delivered: 500, hard: 1, complaints: 0 }], now)
    await Promise.all([createWorkspaceRateRound(ctx)(), createWorkspaceRateRound(ctx)()])
    assert.deepEqual(
      (await pausesOf(bad)).map(({ reason }) => reason),
      ['for its rates: 27.27 % of 110 messages hard bounced, more than 10 %'],
    )
    assert.deepEqual(await pausesOf(good), [])
    await resume(ctx, { kind: 'workspace', subject: bad })
    await createWorkspaceRateRound(ctx)()
    assert.deepEqual(await pausesOf(bad), [])
  })
  it('results before the window do not count, deleted workspaces are ignored', async () => {
    const id = await ctx.newWorkspace()
    await addCounts(
      ctx.db,
      [{ workspaceId: id, delivered: 0, hard: 500, complaints: 0 }],
      new Date(Date.now() - 4 * 3_600_000),
    )
    await addCounts(ctx.db, [{ workspaceId: DELETED, delivered: 0, hard: 500, complaints: 0 }], new Date())
    await createWorkspaceRateRound(ctx)()
    assert.deepEqual(await pausesOf(id), [])
    assert.strictEqual(
      (await readCounts(ctx.db, new Date(0), 1)).some(({ workspaceId }) => workspaceId === DELETED),
      false,
    )
  })
  it('disabled, it suspends no workspace', async () => {
    const id = await ctx.newWorkspace()
    await addCounts(ctx.db, [{ workspaceId: id, delivered: 0, hard: 500, complaints: 0 }], new Date())
    await createWorkspaceRateRound({ ...ctx, config: { ...ctx.config, workspacePauses: 'off' } })()
    assert.deepEqual(await pausesOf(id), [])
  })
})
