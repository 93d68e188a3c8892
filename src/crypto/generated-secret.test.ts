import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadOrGenerateSecret } from './generated-secret.ts'
import { loadMasterKey } from './encryption.ts'

describe('a secret of the installation', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-secret-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  it('is made once, for its owner to read, and nothing is left beside it', () => {
    const made = loadOrGenerateSecret(join(dataDir, 'new'), 'a.key')
    assert.match(made, /^[0-9a-f]{64}$/)
    assert.strictEqual(loadOrGenerateSecret(join(dataDir, 'new'), 'a.key'), made)
    assert.deepEqual(readdirSync(join(dataDir, 'new')), ['a.key'])
    assert.strictEqual(statSync(join(dataDir, 'new', 'a.key')).mode & 0o777, 0o600)
  })
  it('that was emptied is not made anew: the file is named', () => {
    writeFileSync(join(dataDir, 'master.key'), '\n')
    assert.throws(() => loadMasterKey({ masterKey: null, dataDir }), /master\.key is empty: restore it/)
    assert.strictEqual(readFileSync(join(dataDir, 'master.key'), 'utf8'), '\n')
  })
  it('that was cut short is named too', () => {
    writeFileSync(join(dataDir, 'master.key'), 'abc\n')
    assert.throws(() => loadMasterKey({ masterKey: null, dataDir }), /master\.key must be 32 bytes/)
  })
})
