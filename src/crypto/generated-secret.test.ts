import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadOrGenerateSecret } from './generated-secret.ts'
import { loadMasterKeys } from './master-key.ts'

describe('generated secret', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-secret-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  it('is generated once, readable by its owner only, without temporary files', () => {
    const made = loadOrGenerateSecret(join(dataDir, 'new'), 'a.key')
    assert.match(made, /^[0-9a-f]{64}$/)
    assert.strictEqual(loadOrGenerateSecret(join(dataDir, 'new'), 'a.key'), made)
    assert.deepEqual(readdirSync(join(dataDir, 'new')), ['a.key'])
    assert.strictEqual(statSync(join(dataDir, 'new', 'a.key')).mode & 0o777, 0o600)
  })
  it('an empty file is an error that names the file, not a reason for a new secret', () => {
    writeFileSync(join(dataDir, 'master.key'), '\n')
    assert.throws(
      () => loadMasterKeys({ masterKey: null, masterKeyCommand: null, dataDir }),
      /master\.key is empty: restore it/,
    )
    assert.strictEqual(readFileSync(join(dataDir, 'master.key'), 'utf8'), '\n')
  })
  it('a truncated file is an error that names the file', () => {
    writeFileSync(join(dataDir, 'master.key'), 'abc\n')
    assert.throws(
      () => loadMasterKeys({ masterKey: null, masterKeyCommand: null, dataDir }),
      /master\.key must be 32 bytes/,
    )
  })
})
