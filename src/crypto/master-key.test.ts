import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { generateMasterKey, loadMasterKeys, masterKeyFile, parseMasterKeys, writeMasterKeyFile } from './master-key.ts'

const ONE = '5a'.repeat(32)
const TWO = Buffer.alloc(32, 7).toString('base64')

const TEXTS: readonly (readonly [text: string, expected: readonly string[] | RegExp])[] = [
  [ONE, [ONE]],
  [`${ONE}\n`, [ONE]],
  [`${ONE}\n${TWO}\n`, [ONE, '07'.repeat(32)]],
  [`${TWO} ${ONE}`, ['07'.repeat(32), ONE]],
  [`${TWO},${ONE}`, ['07'.repeat(32), ONE]],
  ['', /^KEYS has no key: it must be 32 bytes/],
  ['short', /^KEYS must be 32 bytes, written as 64 hex digits or in base64/],
  [`${ONE} ${ONE}5a`, /^KEYS must be 32 bytes/],
]

describe('master keys', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-keys-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  for (const [text, expected] of TEXTS)
    it(`${JSON.stringify(text.slice(0, 9))}… ${expected instanceof RegExp ? 'no key' : 'keys'}`, () => {
      const parse = (): string[] => parseMasterKeys(text, 'KEYS').map((key) => key.toString('hex'))
      if (expected instanceof RegExp) assert.throws(parse, expected)
      else assert.deepEqual(parse(), [...expected])
    })

  const COMMANDS: readonly (readonly [command: string, expected: string | RegExp])[] = [
    [`echo ${ONE}`, ONE],
    [`cat <<E\n${ONE}\n${TWO}\nE`, ONE],
    [`echo secret ${ONE}; exit 3`, /^MASTER_KEY_COMMAND failed\. Run it in a shell to see why$/],
    ['true', /^MASTER_KEY_COMMAND has no key/],
    ['yes 2>&-', /^MASTER_KEY_COMMAND failed/],
  ]
  for (const [command, expected] of COMMANDS)
    it(`the command ${command.slice(0, 8)} ${expected instanceof RegExp ? 'fails' : 'prints the keys'}`, () => {
      const load = (): string | undefined =>
        loadMasterKeys({ masterKey: null, masterKeyCommand: command, dataDir })[0].toString('hex')
      if (expected instanceof RegExp) assert.throws(load, expected)
      else assert.strictEqual(load(), expected)
      assert.deepEqual(readdirSync(dataDir), [])
    })

  it('the file keeps its mode, and has the keys in their order', () => {
    const settings = { masterKey: null, masterKeyCommand: null, dataDir }
    const [first] = loadMasterKeys(settings)
    const second = generateMasterKey()
    writeMasterKeyFile(masterKeyFile(settings), [second, first])
    assert.deepEqual(loadMasterKeys(settings), [second, first])
    assert.deepEqual(readdirSync(dataDir), ['master.key'])
    assert.strictEqual(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600)
  })

  it('a file that cannot be replaced is an error', () => {
    const settings = { dataDir: join(dataDir, 'gone') }
    assert.throws(() => writeMasterKeyFile(masterKeyFile(settings), [generateMasterKey()]), /ENOENT/)
  })
})
