import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender } from '#test/support/sender.ts'
import { createHousekeepingRound } from './housekeeping.ts'

describe('housekeeping', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('deletes earlier secrets of API keys that have expired', async () => {
    await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'sender.example' })
    await ctx.db.query(sql`
      INSERT INTO api_key_secrets
      SELECT decode(secret, 'hex'), id, now() + age
      FROM
        (SELECT id FROM api_keys LIMIT 1) AS keys,
        (VALUES ('01', interval '-1 second'), ('02', interval '1 hour')) AS secrets (secret, age)
    `)
    await createHousekeepingRound(ctx)()
    const { rows } = await ctx.db.query(`SELECT encode(hash, 'hex') AS hash FROM api_key_secrets`)
    assert.deepEqual(rows, [{ hash: '02' }])
  })
})
