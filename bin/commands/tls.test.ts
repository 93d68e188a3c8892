import { assert } from 'chai'
import { runCommand, type CommandResult } from '#test/support/command.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { run } from './tls.ts'

describe('mailstead tls', () => {
  let database: TestDatabase
  before(async () => {
    database = await createDatabase()
  })
  after(() => database.drop())

  const call = (...args: string[]): Promise<CommandResult> => runCommand(run, args, { DATABASE_URL: database.url })

  it('sets, lists and removes rules', async () => {
    assert.strictEqual((await call('set', 'Bücher.example', 'required')).code, 0)
    assert.strictEqual((await call('set', 'b.example', 'required')).code, 0)
    assert.match((await call('set', 'b.example', 'opportunistic')).out, /TLS with b\.example is opportunistic/)
    const rules = [
      { domain: 'b.example', level: 'opportunistic' },
      { domain: 'xn--bcher-kva.example', level: 'required' },
    ]
    assert.deepEqual(JSON.parse((await call('list', '--json')).out), rules)
    assert.strictEqual((await call('unset', 'b.example')).code, 0)
    assert.deepInclude(await call('unset', 'b.example'), {
      code: 1,
      err: 'No rule for b.example exists. See mailstead tls list.\n',
    })
    assert.match((await call('list')).out, /xn--bcher-kva\.example +required/)
  })

  for (const args of [
    ['set', 'b.example'],
    ['set', 'b.example', 'maybe'],
    ['set', 'a b', 'required'],
    ['set', '*', 'required'],
    ['unset'],
  ])
    it(`refuses with exit code 2: ${args.join(' ')}`, async () => assert.strictEqual((await call(...args)).code, 2))
})
