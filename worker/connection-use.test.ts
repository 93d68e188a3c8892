/** Rounds that read many things every ten seconds must not hold a connection for each while the service is idle. */
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { readInstallationMetrics } from './installation-metrics.ts'
import { createNoticeRound } from './notices.ts'
import { readQueueMetrics } from './queue-metrics.ts'

const ROUNDS: Readonly<Record<string, (ctx: TestContext) => Promise<unknown>>> = {
  'metrics of the queue': readQueueMetrics,
  'metrics of the installation': readInstallationMetrics,
  notices: (ctx) => createNoticeRound(ctx)(),
}

describe('connections of the worker', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  for (const [name, run] of Object.entries(ROUNDS))
    it(`${name}: one statement at a time`, async () => {
      const statements = { running: 0, most: 0, all: 0 }
      const query: Db['query'] = async (statement, values) => {
        statements.all++
        statements.most = Math.max(statements.most, ++statements.running)
        try {
          return await ctx.db.query(statement, values)
        } finally {
          statements.running--
        }
      }
      await run({ ...ctx, db: { ...ctx.db, query } })
      assert.isAbove(statements.all, 5)
      assert.strictEqual(statements.most, 1)
    })
})
