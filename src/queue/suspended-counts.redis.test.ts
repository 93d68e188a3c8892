import { assert } from 'chai'
import { createContext, type TestContext } from '#test/support/context.ts'
import { clearSuspendedCounts, readSuspendedCounts, saveSuspendedCount } from './suspended-counts.ts'

describe('counts of suspended mail', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  // as two workers sweep a long queue: what each found so far, and at the end of its sweep
  const STEPS: readonly [what: string, count: number, isWhole: boolean, expected: number][] = [
    ['the first slice', 5000, false, 5000],
    ['another worker is behind', 2000, false, 5000],
    ['the end of a sweep', 7200, true, 7200],
    ['the first slice of the next sweep', 5000, false, 7200],
    ['mail was cancelled', 6100, true, 6100],
    ['nothing is suspended any more', 0, true, 0],
  ]

  it('rise during a sweep, and are exact at its end', async () => {
    for (const [what, count, isWhole, expected] of STEPS) {
      await saveSuspendedCount(ctx.redis, { tier: 'bulk', count, isWhole })
      assert.strictEqual((await readSuspendedCounts(ctx.redis))('bulk'), expected, what)
      assert.strictEqual((await readSuspendedCounts(ctx.redis))('high'), 0)
    }
  })
  it('are 0 after they are cleared', async () => {
    await saveSuspendedCount(ctx.redis, { tier: 'high', count: 3, isWhole: true })
    await clearSuspendedCounts(ctx.redis)
    assert.strictEqual((await readSuspendedCounts(ctx.redis))('high'), 0)
  })
})
