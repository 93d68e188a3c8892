/** Addresses in log lines, and their hashes. */
import { spawnSync } from 'node:child_process'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { hashAddress, hashAddresses } from './log-addresses.ts'

const KEY = 'a key of at least sixteen characters'
const ANN = hashAddress(KEY, 'ann@example.com')

const LINES: readonly (readonly [line: string, expected: string])[] = [
  ['{"to":"ann@example.com","msg":"deliver"}', `{"to":"${ANN}","msg":"deliver"}`],
  ['{"to":"Ann@Example.com"}', `{"to":"${hashAddress(KEY, 'ann@Example.com')}"}`],
  ['{"reason":"550 5.1.1 <ann@example.com>: no such user"}', `{"reason":"550 5.1.1 <${ANN}>: no such user"}`],
  ['{"path":"/contacts?email=ann%40example.com&x=1"}', `{"path":"/contacts?email=${ANN}&x=1"}`],
  ['{"path":"/contacts/ann@example.com"}', `{"path":"/contacts/${ANN}"}`],
  ['{"to":["ann@example.com","bob@b.example"]}', `{"to":["${ANN}","${hashAddress(KEY, 'bob@b.example')}"]}`],
  ['{"reason":"to:ann@example.com."}', `{"reason":"to:${ANN}."}`],
  ['{"to":"\\"ann b\\"@example.com"}', `{"to":"${hashAddress(KEY, 'ann b@example.com')}"}`],
  ['{"to":"jürgen@müller.example"}', `{"to":"${hashAddress(KEY, 'jürgen@müller.example')}"}`],
  [`{"to":"o'ann@example.com"}`, `{"to":"${hashAddress(KEY, "o'ann@example.com")}"}`],
  [`{"err":"'ann@example.com' is wrong"}`, `{"err":"'${ANN}' is wrong"}`],
  ['{"msg":"started","roles":["outbound"]}', '{"msg":"started","roles":["outbound"]}'],
  ['{"msg":"at 10:00 @ noon"}', '{"msg":"at 10:00 @ noon"}'],
]

describe('addresses in the log', () => {
  for (const [line, expected] of LINES)
    it(`${line} becomes ${expected}`, () => assert.strictEqual(hashAddresses(KEY, line), expected))

  it('have a hash that does not depend on case, but on the key', () => {
    assert.strictEqual(hashAddress(KEY, 'ANN@example.com'), ANN)
    assert.notStrictEqual(hashAddress('another key of some length', 'ann@example.com'), ANN)
    assert.match(ANN, /^[0-9a-f]{16}@example\.com$/)
  })
  it('are found with openssl, as docs/reference/logs.md says', function () {
    const { error, stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', KEY], { input: 'ann@example.com' })
    if (error !== undefined) this.skip()
    assert.include(stdout.toString(), ANN.slice(0, 16))
  })
  it('are hashed in what a process logs with LOG_ADDRESS_KEY', () => {
    const program = `
      const { openLog } = await import(${JSON.stringify(new URL('log.ts', import.meta.url).href)})
      const log = openLog({ logLevel: 'info', logAddressKey: ${JSON.stringify(KEY)} }, 'test')
      log.info({ to: 'ann@example.com' }, 'sent')
    `
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: import.meta.dirname })
    const line = JSON.parse(stdout.toString()) as { to: string; msg: string }
    assert.deepEqual([line.to, line.msg], [ANN, 'sent'])
  })
  it('never remain, and a line of JSON stays one', () => {
    const local = fc.stringMatching(/^[a-zA-Z0-9!#$%*+^_`{|}~.-]{1,64}$/)
    fc.assert(
      fc.property(fc.string(), local, (text, name) => {
        const line = JSON.stringify({ before: text, to: `${name}@example.com`, after: text })
        const hashed = JSON.parse(hashAddresses(KEY, line)) as { to: string }
        assert.match(hashed.to, /[0-9a-f]{16}@example\.com$/)
      }),
    )
  })
  it('take linear time', () => {
    const line = 'a'.repeat(1_000_000)
    assert.strictEqual(hashAddresses(KEY, line), line)
  })
})
