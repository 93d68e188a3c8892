/** KEY_PREFIX belongs to the installation: servers and commands use the same one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { assert, expect } from 'chai'
import { pino } from 'pino'
import { ConfigError, loadConfig } from '#config/load.ts'
import { storeKeyPrefix } from '#src/auth/key-prefix.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { runCommand } from '#test/support/command.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { run as key } from './key.ts'
import { run as workspace } from './workspace.ts'

describe('the key prefix of an installation', () => {
  let database: TestDatabase
  let dataDir: string
  let db: Db

  before(async function () {
    this.timeout(120_000)
    database = await createDatabase()
    dataDir = mkdtempSync('/tmp/mailstead-test-cli-')
    db = openDb(database.url, pino({ level: 'silent' }), 3)
  })
  after(async () => {
    await db.close()
    await database.drop()
    rmSync(dataDir, { recursive: true })
  })

  const settings = (prefix?: string): Record<string, string> => ({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    ...(prefix === undefined ? {} : { KEY_PREFIX: prefix }),
  })
  const start = (prefix?: string): Promise<string> => storeKeyPrefix(db, loadConfig(settings(prefix)))
  /** Creates a key by a command with this setting; returns its prefix. */
  const createKey = async (prefix?: string): Promise<string | undefined> => {
    const args = ['create', '--workspace', 'Acme', '--type', 'admin', '--json']
    const { out } = await runCommand(key, args, settings(prefix))
    return /"secret_key": *"([a-z]+)_/.exec(out)?.[1]
  }

  it('is stored by the first start, one of two at the same time', async () => {
    await runCommand(workspace, ['create', '--name', 'Acme'], settings())
    assert.strictEqual(await createKey('early'), 'early')
    const [one, two] = await Promise.allSettled([start('acme'), start('other')])
    assert.deepEqual([one.status, two.status].toSorted(), ['fulfilled', 'rejected'])
    await runCommand(key, ['prefix', 'acme'], settings('acme'))
  })

  it('applies to each server and command that has no setting of its own', async () => {
    assert.deepEqual([await start(), await start('acme')], ['acme', 'acme'])
    assert.deepEqual([await createKey(), await createKey('acme')], ['acme', 'acme'])
  })

  it('refuses servers and commands with another one, which the error names with what to do', async () => {
    const message =
      /KEY_PREFIX is "other", but .* begin with "acme"\. Set KEY_PREFIX=acme .* mailstead key prefix other/
    await expect(start('other')).to.be.rejectedWith(ConfigError, message)
    await expect(createKey('other')).to.be.rejectedWith(ConfigError, message)
    await expect(runCommand(workspace, ['list'], settings('other'))).to.be.rejectedWith(ConfigError, message)
  })

  it('is changed by a command, for new keys', async () => {
    const { out } = await runCommand(key, ['prefix', 'shop'], settings('shop'))
    assert.match(out, /New keys begin with shop\. Keys that exist keep their prefix and stay valid/)
    assert.deepEqual([await createKey(), await start('shop')], ['shop', 'shop'])
    await expect(start('acme')).to.be.rejectedWith(ConfigError)
    assert.strictEqual((await runCommand(key, ['prefix', 'My_'], settings())).code, 2)
  })
})
