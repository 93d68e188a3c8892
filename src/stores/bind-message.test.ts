/** Bind messages in parts: the octets are those of pg, and PostgreSQL stores what was sent. */
import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import fc from 'fast-check'
import { PassThrough } from 'node:stream'
import { Connection } from 'pg'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { bindMessage } from './bind-message.ts'
import { PostgresClient } from './postgres-client.ts'
import { SplitParameter } from './split-parameter.ts'

/** The octets that pg sends. */
function bindOfPg(options: object): unknown {
  const stream = new PassThrough()
  new Connection({ stream: stream as never }).bind(options, false)
  return stream.read()
}

describe('large parameters', () => {
  it('the message in parts is that of pg', () => {
    const value = fc.oneof(
      fc.constant(null),
      fc.constant(undefined),
      fc.string({ unit: 'binary' }),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 32_000, max: 33_500 }).map((length) => Buffer.alloc(length, 'x')),
    )
    fc.assert(
      fc.property(
        fc.record({
          portal: fc.constantFrom('', 'p'),
          statement: fc.constantFrom('', 'find-message'),
          binary: fc.boolean(),
          values: fc.array(value),
        }),
        (options) => {
          assert.deepEqual(Buffer.concat(bindMessage(options)), bindOfPg(options))
        },
      ),
    )
  })

  it('are parts themselves, from 32 KB on', () => {
    const [small, large] = [Buffer.alloc(32_767), Buffer.alloc(32_768)]
    const parts = bindMessage({ values: [large, small, 'text', large] })
    assert.deepEqual(
      parts.map((part) => part === large),
      [false, true, false, true, false],
    )
  })

  it('so are the large values in a parameter', () => {
    const [small, large] = [Buffer.from('small'), Buffer.alloc(32_768)]
    for (const parts of [[large], [small, large], [small, large, large, small], [large, small], [small]]) {
      const message = bindMessage({ values: [1, new SplitParameter(parts), 'text'], valueMapper: String })
      assert.deepEqual(
        message.filter((part) => part === large),
        parts.filter((part) => part === large),
      )
      assert.deepEqual(Buffer.concat(message), bindOfPg({ values: ['1', Buffer.concat(parts), 'text'] }))
    }
  })

  describe('in PostgreSQL', () => {
    let database: TestDatabase
    let client: PostgresClient
    before(async () => {
      database = await createDatabase()
      client = new PostgresClient({ connectionString: database.url })
      await client.connect()
    })
    after(async () => {
      await client.end()
      await database.drop()
    })

    it('arrive unchanged, between others and several times', async () => {
      const [one, two] = [randomBytes(5 * 1024 * 1024), randomBytes(1024 * 1024)]
      for (let round = 0; round < 2; round++) {
        const { rows } = await client.query({
          name: 'large-parameters',
          text: 'SELECT $1::bytea AS one, $2::text AS text, $3::bytea AS two, $4::int AS missing, $5::int AS n',
          values: [one, 'grün', two, null, 7],
        })
        assert.deepEqual(rows, [{ one, text: 'grün', two, missing: null, n: 7 }])
      }
    })

    it('a statement that fails leaves the connection usable', async () => {
      await assert.isRejected(client.query('SELECT $1::bytea, 1 / $2::int', [randomBytes(2 * 1024 * 1024), 0]), /zero/)
      assert.deepEqual((await client.query('SELECT 1 AS n')).rows, [{ n: 1 }])
    })
  })
})
