import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { createEncryption } from '#src/crypto/encryption.ts'
import { loadMasterKeys } from '#src/crypto/master-key.ts'
import { ENCRYPTED_COLUMNS, reencryptAll } from '#src/operator/master-key-rotation.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { run } from './rotate-master-key.ts'

const EXPIRY = '2100-01-01'
const COUNT = 450

interface KeyRow {
  readonly id: string
  readonly use: string
  readonly values: number
}

describe('mailstead rotate-master-key', () => {
  let ctx: TestContext
  let workspaceId: string
  let dataDir: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-rotation-')
  })
  afterEach(async () => {
    rmSync(dataDir, { recursive: true })
    await ctx.db.query('DELETE FROM oauth_states')
  })

  const call = (...args: string[]): Promise<CommandResult> =>
    runCommand(run, args, { DATABASE_URL: ctx.databaseUrl, DATA_DIR: dataDir })
  const keysOf = async (): Promise<KeyRow[]> =>
    (JSON.parse((await call('status', '--json')).out) as { keys: KeyRow[] }).keys
  const encryption = (): ReturnType<typeof createEncryption> =>
    createEncryption(...loadMasterKeys({ masterKey: null, masterKeyCommand: null, dataDir }))

  /** Values of sign-ins stand for all encrypted columns: a row of theirs needs only a workspace. */
  async function store(values: readonly Buffer[]): Promise<void> {
    await ctx.db.query(
      sql`
        INSERT INTO oauth_states (id, workspace_id, provider, verifier, expires_at)
        SELECT id, $3, 'google', verifier, $4
        FROM unnest($1::uuid[], $2::bytea[]) AS v (id, verifier)
      `,
      [values.map(() => newId()), values, workspaceId, EXPIRY],
    )
  }

  async function stored(): Promise<string[]> {
    const { rows } = await ctx.db.query<{ verifier: Buffer }>('SELECT verifier FROM oauth_states ORDER BY id')
    return rows.map(({ verifier }) => encryption().decrypt('oauth-verifier', verifier).toString())
  }

  it('replaces the key step by step; every value can be read after each', async () => {
    const texts = Array.from({ length: COUNT }, (_, i) => `value ${i}`)
    await store(texts.map((text) => encryption().encrypt('oauth-verifier', text)))
    const [old] = await keysOf()
    assert.deepInclude(old, { use: 'encrypts', values: COUNT })

    assert.strictEqual((await call('add')).code, 0)
    const added = (await keysOf())[1]
    assert.deepEqual(added, { id: added?.id ?? '', use: 'decrypts', values: 0 })
    assert.deepEqual(await stored(), texts)

    assert.strictEqual((await call('activate', added?.id ?? '')).code, 0)
    assert.deepEqual(await stored(), texts)
    const early = await call('remove', old?.id ?? '', '--yes')
    assert.match(early.err, /^450 values may need this key\. Run first: mailstead rotate-master-key run/)

    assert.match((await call('run')).out, /450 values encrypted with key/)
    assert.match((await call('run')).out, /0 values encrypted with key/)
    assert.deepEqual(await stored(), texts)

    assert.match((await call('remove', old?.id ?? '')).err, /unsubscribe links would fail/)
    assert.strictEqual((await call('remove', old?.id ?? '', '--yes')).code, 0)
    assert.deepEqual(await keysOf(), [{ id: added?.id ?? '', use: 'encrypts', values: COUNT }])
    assert.deepEqual(await stored(), texts)
    assert.deepEqual(readdirSync(dataDir), ['master.key'])
  })

  it('leaves out values that were erased, as those of retired DKIM keys', async () => {
    await store([encryption().encrypt('oauth-verifier', 'a'), Buffer.alloc(0)])
    await call('add')
    await call('activate', (await keysOf())[1]?.id ?? '')
    const { code, out } = await call('run')
    assert.strictEqual(code, 0)
    assert.match(out, /1 value encrypted with key/)
    assert.deepEqual(
      (await keysOf()).map(({ values }) => values),
      [1, 0],
    )
  })

  it('reports values that no key decrypts, and leaves them as they are', async () => {
    const lost = createEncryption(Buffer.alloc(32, 3)).encrypt('oauth-verifier', 'lost')
    const unnamed = encryption().encrypt('oauth-verifier', 'of an earlier version')
    await store([lost, Buffer.concat([Buffer.of(1), unnamed.subarray(5)])])
    assert.match((await call('status')).out, /missing +1\n.*1 value of an earlier version names? no key/s)
    const result = await call('run')
    assert.strictEqual(result.code, 1)
    assert.match(result.out, /1 value encrypted.*\n1 value cannot be decrypted with any key/)
    const { rows } = await ctx.db.query<{ verifier: Buffer }>('SELECT verifier FROM oauth_states ORDER BY id')
    assert.deepEqual(rows[0]?.verifier, lost)
  })

  it('ends between two slices, and continues where it ended', async () => {
    await store(Array.from({ length: COUNT }, (_, i) => encryption().encrypt('oauth-verifier', `value ${i}`)))
    await call('add')
    await call('activate', (await keysOf())[1]?.id ?? '')
    const ending = new AbortController()
    const db = {
      query: ctx.db.query.bind(ctx.db),
      transaction: (async (work) => {
        const result = await ctx.db.transaction(work)
        const { rows } = await ctx.db.query<{ count: number }>(
          'SELECT count(*)::integer AS count FROM oauth_states WHERE substring(verifier FROM 2 FOR 4) = $1',
          [encryption().keyId],
        )
        if ((rows[0]?.count ?? 0) > 0) ending.abort()
        return result
      }) as typeof ctx.db.transaction,
    }
    const sum = (done: Awaited<ReturnType<typeof reencryptAll>>): number =>
      done.reduce((total, column) => total + column.reencrypted, 0)
    assert.strictEqual(sum(await reencryptAll({ db, encryption: encryption() }, ending.signal)), 200)
    assert.strictEqual(sum(await reencryptAll({ db: ctx.db, encryption: encryption() })), COUNT - 200)
  })

  for (const [args, expected] of [
    [['activate', '00000000'], /no key has the id 00000000/],
    [['remove', '00000000'], /no key has the id 00000000/],
    [['activate'], /KEY/],
  ] as const)
    it(`refuses ${args.join(' ')}`, async () => {
      const result = await call(...args)
      assert.deepInclude(result, { code: 2 })
      assert.match(result.err, expected)
    })

  it('prints a new key, and changes nothing, where MASTER_KEY has the keys', async () => {
    const env = { DATABASE_URL: ctx.databaseUrl, DATA_DIR: dataDir, MASTER_KEY: '5a'.repeat(32) }
    assert.match((await runCommand(run, ['add'], env)).out, /come from MASTER_KEY\. Add this key .*: [0-9a-f]{64}\n/)
    assert.deepEqual(readdirSync(dataDir), [])
  })

  it('writes the file that MASTER_KEY_FILE names, as in the packages', async () => {
    const file = join(dataDir, 'named.key')
    writeFileSync(file, `${'5a'.repeat(32)}\n`)
    const env = { DATABASE_URL: ctx.databaseUrl, DATA_DIR: dataDir, MASTER_KEY_FILE: file }
    const { ids } = JSON.parse((await runCommand(run, ['add', '--json'], env)).out) as { ids: string[] }
    const [first, second, ...others] = readFileSync(file, 'utf8').trim().split('\n')
    assert.deepEqual([first, others, ids.length], ['5a'.repeat(32), [], 2])
    await runCommand(run, ['activate', ids[1] ?? ''], env)
    assert.strictEqual(readFileSync(file, 'utf8'), `${second}\n${first}\n`)
    assert.deepEqual(readdirSync(dataDir), ['named.key'])
  })

  it('knows every column that the migrations describe as encrypted', () => {
    const folder = 'migrations'
    const described = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/^ +(?:ADD COLUMN )?(\w+) bytea.*-- .*encrypted/gm)].map(
        ([, name]) => name,
      ),
    )
    assert.sameMembers(
      described,
      ENCRYPTED_COLUMNS.map(({ column }) => column),
    )
  })
})
