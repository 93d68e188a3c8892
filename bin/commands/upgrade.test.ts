/** An upgrade from an earlier schema, with processes of the earlier version, to the end. */
import { assert } from 'chai'
import { Client } from 'pg'
import { softwareVersion } from '#src/platform/version.ts'
import { sql } from '#src/stores/sql.ts'
import { migrate } from '#src/stores/migrate.ts'
import { createEmptyDatabase, type TestDatabase } from '#test/support/stores.ts'
import { run } from './upgrade.ts'

describe('mailstead upgrade', function () {
  this.timeout(300_000)
  let database: TestDatabase
  let client: Client

  before(async () => {
    database = await createEmptyDatabase()
    client = new Client({ connectionString: database.url })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await database.drop()
  })

  interface Answer {
    readonly code: number
    readonly out: string
    readonly err: string
  }

  async function call(...args: string[]): Promise<Answer> {
    let [out, err] = ['', '']
    const io = {
      env: { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1' },
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
    }
    const code = await run(args, io)
    return { code, out, err }
  }

  const report = (version: string, ...roles: string[]): Promise<unknown> =>
    client.query(
      sql`
        INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
        VALUES (gen_random_uuid(), 'mail-1', $1, $2, '{}', false)
      `,
      [roles, version],
    )

  it('plans from an empty database to this version', async () => {
    const { code, out } = await call('--plan', '--json')
    const plan = JSON.parse(out) as { migrations: { migration: string; phase: string }[] }
    assert.equal(code, 3)
    assert.equal(plan.migrations[0]?.migration, '001-spine')
  })

  it('names processes of the earlier version, the order of their roles, and what can be undone', async () => {
    await migrate(database.url, { through: '058-nodes.ts' })
    await client.query(`INSERT INTO nodes (name) VALUES ('mail-1')`)
    await report('0.1.0', 'api')
    await report('0.1.0', 'worker', 'outbound')
    const { code, out } = await call('--plan')
    assert.equal(code, 3)
    assert.match(out, /2\. Replace the roles, in this order\n +worker, outbound, api/)
    assert.match(out, /059-delegated-keys {2}expand/)
    assert.match(out, /062-contract-bodies-apart {2}contract[^]*?after it, no earlier version starts on this database/)
    assert.match(out, /can be undone; that deletes .*table dkim_zone_records/)
  })

  it('migrates, and is finished when the last process is replaced', async () => {
    const { code, out, err } = await call()
    assert.equal(code, 3)
    assert.match(out, /Replace the roles of other versions, in this order: worker, outbound, api/)
    assert.match(err, /059-delegated-keys: 1 of 5/)
    await client.query('UPDATE node_processes SET version = $1', [softwareVersion()])
    const finished = await call('--wait')
    assert.equal(finished.code, 0)
    assert.match(
      finished.err,
      /^062-contract-bodies-apart: 1 of 2: .*\n062-contract-bodies-apart: 2 of 2: .*\n$/,
      'contracts wait for the last process',
    )
    assert.match((await call('--plan')).out, /Everything is at version/)
  })

  it('refuses beside a version that is too far away', async () => {
    await report('0.9.0', 'api')
    const { code, err } = await call()
    assert.equal(code, 1)
    assert.match(err, /0\.9\.0 run/)
  })

  it('undoes migrations only without processes, and only on purpose', async () => {
    assert.match((await call('--undo-to', '058-nodes', '--yes')).err, /Stop all roles first/)
    await client.query('DELETE FROM node_processes')
    assert.match((await call('--undo-to', '058-nodes')).err, /Add --yes/)
    assert.match((await call('--undo-to', '058-nodes', '--yes')).out, /Undone: .*059-delegated-keys\.ts/)
    assert.equal((await call('--plan')).code, 3)
    assert.equal((await call()).code, 0)
  })
})
