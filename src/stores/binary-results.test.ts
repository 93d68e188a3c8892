/** Values of the type bytea are received unchanged, in text at first and in binary from the second time on. */
import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { PostgresClient } from './postgres-client.ts'
import { sql } from './sql.ts'

interface Described {
  readonly fields: readonly { readonly name: string; readonly format: string }[]
}

describe('binary results', () => {
  let database: TestDatabase
  let client: PostgresClient
  /** The binary columns of each description, since the last look. */
  let described: string[][] = []
  before(async () => {
    database = await createDatabase()
    client = new PostgresClient({ connectionString: database.url })
    await client.connect()
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
    connection.prependListener('rowDescription', ({ fields }: Described) =>
      described.push(fields.filter(({ format }) => format === 'binary').map(({ name }) => name)),
    )
  })
  after(async () => {
    await client.end()
    await database.drop()
  })
  beforeEach(() => {
    described = []
  })

  const MIXED = {
    name: 'mixed',
    text: sql`
      SELECT 'grün' AS text, i, $1::bytea AS one, NULL::bytea AS none, now() AS time, ARRAY[$2::bytea] AS list,
        CASE WHEN i % 2 = 0 THEN $2::bytea END AS two, '{"a":1}'::jsonb AS json
      FROM generate_series(1, $3) AS i`,
  }
  const PLAIN = { name: 'plain', text: 'SELECT $1::text AS text, $2::int AS n' }

  it('are those of text, for all sizes, beside other types and in many rows', async () => {
    for (const size of [0, 1, 15, 4096, 70_000, 1_500_000])
      for (const count of [0, 1, 3]) {
        const [one, two] = [randomBytes(size), randomBytes(7)]
        const { rows } = await client.query({ ...MIXED, values: [one, two, count] })
        assert.strictEqual(rows.length, count)
        for (const [index, row] of rows.entries()) {
          const { time, ...others } = row as Record<string, unknown>
          assert.instanceOf(time, Date)
          assert.deepEqual(others, {
            text: 'grün',
            i: index + 1,
            one,
            none: null,
            list: [two],
            two: index % 2 === 1 ? two : null,
            json: { a: 1 },
          })
        }
      }
    assert.deepEqual(
      [described[0], described[1], described.at(-1)],
      [[], ['one', 'none', 'two'], ['one', 'none', 'two']],
    )
  })

  it('stay as they were received when later rows arrive', async () => {
    const { rows } = await client.query<{ octets: Buffer }>({
      name: 'rows',
      text: sql`
        SELECT decode(repeat(lpad(to_hex(i % 256), 2, '0'), 3000), 'hex') AS octets
        FROM generate_series(1, 300) AS i`,
    })
    const again = await client.query<{ octets: Buffer }>({ name: 'rows', text: '' })
    for (const [index, { octets }] of again.rows.entries()) {
      assert.deepEqual(octets, Buffer.alloc(3000, (index + 1) % 256))
      assert.deepEqual(octets, rows[index]?.octets)
    }
    assert.deepEqual(described, [[], ['octets']])
  })

  it('do not take the columns of another statement for theirs after a failure', async () => {
    const FAILING = { name: 'failing', text: 'SELECT $1::int AS n, $2::bytea AS one' }
    await assert.isRejected(client.query({ ...FAILING, values: ['x', null] }), /invalid input syntax/)
    await client.query("SELECT '\\x00'::bytea AS a, '\\x00'::bytea AS b, '\\x00'::bytea AS c")
    for (let round = 0; round < 2; round++) {
      const { rows } = await client.query({ ...FAILING, values: [1, Buffer.from('a')] })
      assert.deepEqual(rows, [{ n: 1, one: Buffer.from('a') }])
    }
  })

  it('alternate with results that are text, also after an error', async () => {
    for (let round = 0; round < 3; round++) {
      assert.deepEqual((await client.query({ ...PLAIN, values: ['ü', 5] })).rows, [{ text: 'ü', n: 5 }])
      const octets = randomBytes(50)
      const one = await client.query({ name: 'one', text: 'SELECT $1::bytea AS one', values: [octets] })
      assert.deepEqual(one.rows, [{ one: octets }])
      await assert.isRejected(
        client.query({ name: 'wrong', text: 'SELECT 1 / $1::int', values: [0] }),
        /division by zero/,
      )
      assert.deepEqual((await client.query('SELECT $1::bytea AS one', [octets])).rows, [{ one: octets }])
      assert.deepEqual((await client.query("SELECT '\\x00ff'::bytea AS one")).rows, [{ one: Buffer.from([0, 255]) }])
    }
  })
})
