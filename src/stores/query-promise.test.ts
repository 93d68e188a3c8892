import { assert } from 'chai'
import { Client } from 'pg'
import { createContext, type TestContext } from '#test/support/context.ts'
import { countBytesLeft } from '#test/support/young-collections.ts'
import { PostgresClient } from './postgres-client.ts'

const MB = 1024 * 1024

/** Passes 30 parameters of 1 MB. */
const PROGRAM = `
  const [name, connectionString] = process.argv.slice(1)
  const { [name]: Client } = await import(name === 'Client' ? 'pg' : './postgres-client.ts')
  const client = new Client({ connectionString })
  await client.connect()
  for (let i = 0; i < 30; i++) await client.query('SELECT length($1::bytea)', [Buffer.alloc(${MB})])
`

describe('promise of a statement', () => {
  let ctx: TestContext
  let client: PostgresClient
  before(async () => {
    ctx = await createContext()
    client = new PostgresClient({ connectionString: ctx.databaseUrl })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await ctx.close()
  })

  it('has the result', async () => {
    assert.deepEqual((await client.query('SELECT $1::int AS one', [1])).rows, [{ one: 1 }])
    assert.deepEqual((await client.query({ name: 'two', text: 'SELECT 2 AS two' })).rows, [{ two: 2 }])
  })

  it('has an error with the stack of its caller', async () => {
    const failing = async (): Promise<void> => {
      await client.query('SELECT 1 / 0')
    }
    const error = await failing().then(
      () => assert.fail('no error'),
      (reason: unknown) => reason as Error,
    )
    assert.strictEqual(error.message, 'division by zero')
    assert.include(error.stack ?? '', 'failing')
  })

  it('a callback still gets the result', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown[]>()
    client.query('SELECT 3 AS three', (_error, result) => resolve(result.rows))
    assert.deepEqual(await promise, [{ three: 3 }])
  })

  it('leaves the parameters of its statement to young collections', async function () {
    this.timeout(60_000)
    const [ofPg = 0, ofOurs = 0] = await Promise.all(
      [Client.name, PostgresClient.name].map((name) =>
        countBytesLeft(import.meta.dirname, PROGRAM, [name, ctx.databaseUrl]),
      ),
    )
    assert.isAbove(ofPg, 20 * MB, 'pg has the problem')
    assert.isBelow(ofOurs, 10 * MB)
  })
})
