import { assert } from 'chai'
import { selectTests, type Selection } from './selection.ts'

function select(...args: string[]): Selection {
  const selection = selectTests(args)
  if (typeof selection === 'string') assert.fail(selection)
  return selection
}

describe('the tests that a run consists of', () => {
  it('are all of them without arguments, with the stores', () => {
    const { files, isWhole, needsStores } = select()
    assert.ok(isWhole && needsStores && files.length > 300)
  })
  it('are the whole suite when only options are given', () => {
    const { isWhole, options } = select('--grep', 'mta/smtp')
    assert.ok(isWhole)
    assert.deepEqual(options, ['--grep', 'mta/smtp'])
  })
  it('are the files that are named, also by a folder or a glob', () => {
    assert.deepEqual(select('./test/selection.test.ts', '--bail').files, ['test/selection.test.ts'])
    assert.ok(select('src/mail/').files.includes('src/mail/address.test.ts'))
    assert.deepEqual(select('src/mail/addr*.ts').files, ['src/mail/address.test.ts'])
  })

  const missing: readonly (readonly [what: string, path: string])[] = [
    ['a file that does not exist', 'src/mail/adress.test.ts'],
    ['a file that is no test', 'src/mail/address.ts'],
    ['a folder without tests', 'docs/decisions'],
    ['a glob that matches nothing', 'src/mail/nothing*.test.ts'],
  ]
  for (const [what, path] of missing) {
    it(`are an error for ${what}, also among others`, () => {
      assert.match(JSON.stringify(selectTests(['src/mail/address.test.ts', path])), /no test at .*Name a test file/)
    })
  }

  it('need no store when no file can reach one', () => {
    assert.isFalse(select('src/mail', 'mta/scheduling/site-queues.test.ts').needsStores)
    assert.isTrue(select('src/mail/address.test.ts', 'api/routes/emails.test.ts').needsStores)
  })
})
