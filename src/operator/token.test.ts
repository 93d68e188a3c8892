import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { loadOperatorToken, type OperatorToken } from './token.ts'

const TOKEN = 'o'.repeat(40)
const OTHERS = [
  '',
  TOKEN.slice(1),
  `${TOKEN}o`,
  TOKEN.toUpperCase(),
  `sha256:${createHash('sha256').update(TOKEN).digest('hex')}`,
]

const log = { warn: () => undefined }
const open = (env: Record<string, string>): OperatorToken => loadOperatorToken({ config: loadConfig(env), log })

describe("the operator's token", () => {
  for (const [how, adminToken] of [
    ['as it is', TOKEN],
    ['as its hash', OTHERS.at(-1) ?? ''],
  ] as const) {
    it(`given ${how}: only it matches`, () => {
      const token = open({ ADMIN_TOKEN: adminToken })
      assert.deepEqual(
        [TOKEN, ...OTHERS].map((given) => token.matches(given)),
        [true, false, false, false, false, false],
      )
    })
  }
  it('without a setting it is generated once, readable by its owner only', () => {
    const dataDir = mkdtempSync('/tmp/mailstead-test-token-')
    try {
      const [first, second] = [open({ DATA_DIR: dataDir }), open({ DATA_DIR: dataDir })]
      assert.strictEqual(first.matches('x'), false)
      const file = join(dataDir, 'admin.token')
      const made = readFileSync(file, 'utf8').trim()
      assert.match(made, /^[0-9a-f]{64}$/)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.deepEqual([first.matches(made), second.matches(made)], [true, true])
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  })
  it('that cannot be stored rejects everybody', () => {
    const token = open({ DATA_DIR: '/dev/null/nowhere' })
    assert.deepEqual(
      ['', 'undefined', 'null', TOKEN].map((given) => token.matches(given)),
      [false, false, false, false],
    )
  })
  it('one that is easy to guess is rejected at the start', () => {
    assert.throws(() => loadConfig({ ADMIN_TOKEN: 'secret' }), /ADMIN_TOKEN must be/)
  })
})
