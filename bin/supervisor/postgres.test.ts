import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, expect } from 'chai'
import { Client } from 'pg'
import { chooseAccount } from './account.ts'
import { createPrivateDirectory } from './data-directory.ts'
import { superuserUrl } from './postgres-access.ts'
import { type PostgresOptions, startPostgres } from './postgres.ts'

async function ask(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

describe('the embedded PostgreSQL', () => {
  let options: PostgresOptions & { dir: string }
  let root: string

  before(async () => {
    const account = chooseAccount('/nonexistent')
    root = mkdtempSync('/tmp/mailstead-pg, \'a "b?#%41-')
    createPrivateDirectory(root, account)
    createPrivateDirectory(join(root, 'sock'), account)
    options = {
      dir: join(root, 'postgres'),
      sockets: join(root, 'sock'),
      account,
      logFile: join(root, 'log'),
      removeOnExit: root,
    }
    const server = await startPostgres(options)
    await ask(server.url, 'CREATE TABLE kept AS SELECT 42 AS x')
    await server.stop()
  })
  after(() => rmSync(root, { recursive: true, force: true }))

  it('keeps what was committed, and listens on its socket only', async () => {
    const server = await startPostgres(options)
    assert.strictEqual(await ask(server.url, 'SELECT x FROM kept'), 42)
    const settings = { listen_addresses: '', fsync: 'on', synchronous_commit: 'on', server_encoding: 'UTF8' }
    for (const [name, value] of Object.entries(settings))
      assert.strictEqual(await ask(server.url, `SHOW ${name}`), value, name)
    await server.stop()
    assert.strictEqual(existsSync(join(options.dir, 'postmaster.pid')), false)
  })

  it('has an owner of the database who has no rights beyond it', async () => {
    const server = await startPostgres(options)
    const rights = 'rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls'
    assert.strictEqual(await ask(server.url, `SELECT ${rights} FROM pg_roles WHERE rolname = current_user`), false)
    const owner = 'SELECT datdba::regrole::text FROM pg_database WHERE datname = current_database()'
    assert.strictEqual(await ask(server.url, owner), await ask(server.url, 'SELECT current_user::text'))
    for (const statement of ["COPY (SELECT 1) TO PROGRAM 'true'", "SELECT pg_read_file('PG_VERSION')"])
      await assert.isRejected(ask(server.url, statement), /permission denied/)
    await server.stop()
  })

  it('gives that owner what an earlier version created as superuser', async () => {
    const first = await startPostgres(options)
    const objects = ['TABLE t (id bigserial)', 'SEQUENCE s', "TYPE e AS ENUM ('a')", 'VIEW v AS SELECT 1']
    for (const what of objects) await ask(superuserUrl(first.url), `CREATE ${what}`)
    await ask(superuserUrl(first.url), "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT $1'")
    await ask(superuserUrl(first.url), 'ALTER DATABASE mailstead OWNER TO mailstead')
    await first.stop()
    const second = await startPostgres(options)
    for (const what of ['VIEW v', 'TABLE t', 'SEQUENCE s', 'FUNCTION f(int)', 'TYPE e'])
      await ask(second.url, `DROP ${what}`)
    await ask(second.url, 'CREATE TABLE again ()')
    await ask(second.url, 'DROP TABLE again')
    await second.stop()
  })

  it('starts after kill -9', async () => {
    const first = await startPostgres(options)
    await first.kill()
    assert.strictEqual(existsSync(join(options.dir, 'postmaster.pid')), true)
    const second = await startPostgres(options)
    assert.strictEqual(await ask(second.url, 'SELECT x FROM kept'), 42)
    await second.stop()
  })

  for (const [what, damage] of [
    ['missing', null],
    ['damaged', ''],
  ] as const) {
    it(`does not create a new cluster over data whose version is ${what}`, async () => {
      const file = join(options.dir, 'PG_VERSION')
      const version = readFileSync(file)
      if (damage === null) rmSync(file)
      else writeFileSync(file, damage)
      await expect(startPostgres(options))
        .to.be.rejectedWith(/is not empty, but .*PG_VERSION/)
        .and.eventually.have.property('name', 'UserError')
      writeFileSync(file, version)
      const server = await startPostgres(options)
      assert.strictEqual(await ask(server.url, 'SELECT x FROM kept'), 42)
      await server.stop()
    })
  }

  it('starts although the pid in a leftover postmaster.pid belongs to another process', async () => {
    const unrelated = spawn('/bin/sleep', ['60'])
    await once(unrelated, 'spawn')
    writeFileSync(
      join(options.dir, 'postmaster.pid'),
      `${unrelated.pid}\n${options.dir}\n1\n5432\n${options.sockets}\n\n\nready   \n`,
    )
    writeFileSync(join(options.sockets, '.s.PGSQL.5432.lock'), `${unrelated.pid}\n`)
    const server = await startPostgres(options)
    assert.strictEqual(await ask(server.url, 'SELECT x FROM kept'), 42)
    assert.strictEqual(unrelated.exitCode ?? unrelated.signalCode, null)
    unrelated.kill()
    await server.stop()
  })

  it('replaces one that a killed supervisor left running', async () => {
    const orphan = await startPostgres(options)
    const server = await startPostgres(options)
    assert.notStrictEqual(server.pid, orphan.pid)
    await orphan.exited
    assert.strictEqual(await ask(server.url, 'SELECT x FROM kept'), 42)
    await server.stop()
  })

  it('prefers the settings of the operator to its own', async () => {
    writeFileSync(join(options.dir, 'operator.conf'), "work_mem = '7MB'\n")
    const server = await startPostgres(options)
    assert.strictEqual(await ask(server.url, 'SHOW work_mem'), '7MB')
    await server.stop()
    rmSync(join(options.dir, 'operator.conf'))
  })

  it('reports the end of its log when it cannot start', async () => {
    writeFileSync(join(options.dir, 'operator.conf'), 'no_such_setting = 1\n')
    await assert.isRejected(startPostgres(options), /did not start: it ended[^]*no_such_setting/)
    rmSync(join(options.dir, 'operator.conf'))
  })

  it('refuses data of another major version with an explanation, and does not change them', async () => {
    const file = join(options.dir, 'PG_VERSION')
    const version = readFileSync(file, 'utf8')
    writeFileSync(file, '14\n')
    await assert.isRejected(
      startPostgres(options),
      /written by PostgreSQL 14, and this machine has only \d+.*pg_dumpall/,
    )
    writeFileSync(file, version)
    const server = await startPostgres(options)
    assert.strictEqual(await ask(server.url, 'SELECT x FROM kept'), 42)
    await server.stop()
  })

  it('cancels a start that was aborted', async () => {
    await assert.isRejected(startPostgres({ ...options, signal: AbortSignal.abort() }), /a stop was requested/)
    assert.strictEqual(existsSync(join(options.dir, 'postmaster.pid')), false)
  })
})
