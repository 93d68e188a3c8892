/** The operator's commands with the database that Mailstead brings along: there is no DATABASE_URL. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assert, expect } from 'chai'
import { chooseAccount } from '#bin/supervisor/account.ts'
import { closeStoreDirectory, openStoreDirectory } from '#bin/supervisor/data-directory.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { migrate } from '#src/stores/migrate.ts'
import { runCommand } from '#test/support/command.ts'
import { run as workspace } from './workspace.ts'

describe("the operator's commands without DATABASE_URL", () => {
  let dataDir: string
  before(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-cli-')
    chmodSync(dataDir, 0o755) // else a root's data would move to where the store account can enter
  })
  after(() => rmSync(dataDir, { recursive: true }))

  async function list(): Promise<string> {
    const { code, out } = await runCommand(workspace, ['list', '--json'], { DATA_DIR: dataDir })
    assert.strictEqual(code, 0)
    return out
  }

  it('say how to start when nothing exists', async () => {
    await expect(list()).to.be.rejectedWith(UserError, /npm start/)
  })

  it('start the embedded database for their own duration, one after the other', async () => {
    const home = openStoreDirectory(dataDir, () => {})
    const server = await startPostgres({
      dir: join(home.dir, 'postgres'),
      sockets: home.sockets,
      account: chooseAccount(home.dir),
      logFile: join(dataDir, 'log.txt'),
    })
    await migrate(server.url)
    await server.stop()
    closeStoreDirectory(home)
    assert.deepEqual(await Promise.all([list(), list(), list()]), ['[]\n', '[]\n', '[]\n'])
  })
})
