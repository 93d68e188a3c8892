/** The people of the service, from the command line, and the link that `start` prints. */
import { mkdtempSync, rmSync } from 'node:fs'
import { assert } from 'chai'
import { Client } from 'pg'
import { loadConfig } from '#config/load.ts'
import { runCommand } from '#test/support/command.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { offerFirstAccount } from './first-operator.ts'
import { run as user } from './user.ts'
import { run as workspace } from './workspace.ts'

const LINK = /http:\/\/localhost:3000\/(join|reset)\/[\w-]{43}/

describe('mailstead user', () => {
  let database: TestDatabase
  let client: Client
  let dataDir: string
  let env: Record<string, string>
  before(async () => {
    database = await createDatabase()
    client = new Client(database.url)
    await client.connect()
    dataDir = mkdtempSync('/tmp/mailstead-test-users-')
    env = { DATABASE_URL: database.url, DATA_DIR: dataDir }
    await runCommand(workspace, ['create', '--name', 'Acme'], env)
  })
  after(async () => {
    await client.end()
    await database.drop()
    rmSync(dataDir, { recursive: true })
  })

  async function call(...args: string[]): Promise<string> {
    const { code, out, err } = await runCommand(user, args, env)
    assert.equal(code, 0, err)
    return out
  }

  it('creates users with a link for the password, and lists them', async () => {
    const place = ['--workspace', 'Acme', '--role', 'developer']
    assert.match(await call('create', '--email', 'Anna@People.example', '--name', 'Anna', ...place), LINK)
    assert.match(await call('list'), /anna@people\.example +Anna/)
    const twice = await runCommand(user, ['create', '--email', 'anna@people.example', '--name', 'A', ...place], env)
    assert.equal(twice.code, 1)
    assert.match(twice.err, /exists/)
  })
  it('invites to a workspace or to operate, and to nothing else', async () => {
    assert.match(await call('invite', '--email', 'bert@people.example', '--workspace', 'Acme'), LINK)
    assert.match(await call('invite', '--email', 'cleo@people.example', '--operator'), LINK)
    for (const args of [[], ['--workspace', 'Acme', '--role', 'king'], ['--role', 'owner', '--operator']])
      assert.equal((await runCommand(user, ['invite', '--email', 'a@b.example', ...args], env)).code, 2, args.join(' '))
  })
  it('resets, disables, enables and deletes', async () => {
    assert.match(await call('reset', 'anna@people.example'), LINK)
    await call('disable', 'ANNA@people.example')
    assert.match(await call('list'), /disabled/)
    await call('enable', 'anna@people.example')
    assert.notMatch(await call('list'), /disabled/)
    await call('delete', 'anna@people.example', '--yes')
    assert.match(await call('list'), /No users/)
  })
  it('keeps the last operator', async () => {
    await call('create', '--email', 'op@people.example', '--name', 'Op', '--operator')
    for (const action of [['disable'], ['delete', '--yes']]) {
      const { code, err } = await runCommand(user, [...action, 'op@people.example'], env)
      assert.equal(code, 1)
      assert.match(err, /last operator/)
    }
  })
  it('start prints a link while there is no operator', async () => {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM workspaces')
    const config = { ...loadConfig(env), databaseUrl: database.url }
    assert.deepEqual(await offerFirstAccount(config, rows[0]?.id ?? ''), [])
    await client.query('UPDATE users SET is_operator = false')
    const [, first] = await offerFirstAccount(config, rows[0]?.id ?? '')
    const [, second] = await offerFirstAccount(config, rows[0]?.id ?? '')
    assert.match(first ?? '', LINK)
    assert.notEqual(first, second)
    const open = await client.query('SELECT FROM invitations WHERE email IS NULL AND revoked_at IS NULL')
    assert.lengthOf(open.rows, 1)
  })
})
