/** Which addresses the server of an account may have, and how its replies are redacted. */
import type { LookupFunction } from 'node:net'
import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import type { Account } from '#src/providers/accounts.ts'
import { redactSecrets, resolveHost } from './relay-connect.ts'

const PUBLIC = {
  'public.example': ['9.9.9.9'],
  'inside.example': ['10.9.0.1'],
  'both.example': ['10.9.0.1', '9.9.9.9'],
}
const lookup: LookupFunction = (name, _options, callback) => {
  const found = PUBLIC[name as keyof typeof PUBLIC]
  if (found === undefined) callback(new Error('no such name'), '')
  else
    callback(
      null,
      found.map((address) => ({ address, family: 4 })),
    )
}
const allowed = cidrs('10.9.0.0/16')

describe('connecting to the server of an account', () => {
  const CASES: readonly (readonly [
    host: string,
    security: Account['security'],
    expected: readonly string[] | RegExp,
  ])[] = [
    ['public.example', 'starttls', ['9.9.9.9']],
    ['inside.example', 'tls', ['10.9.0.1']],
    ['9.9.9.9', 'tls', ['9.9.9.9']],
    ['10.9.3.3', 'none', ['10.9.3.3']],
    ['127.0.0.1', 'tls', /private or reserved/],
    ['::1', 'tls', /private or reserved/],
    ['nowhere.example', 'tls', /no such name/],
    ['public.example', 'none', /refused to authenticate/],
    ['both.example', 'none', ['10.9.0.1']],
  ]
  for (const [host, security, expected] of CASES)
    it(`${host}, ${security}`, async () => {
      const found = await resolveHost({ lookup, allowed }, { host, security })
      if (expected instanceof RegExp) assert.match('detail' in found ? found.detail : '', expected)
      else assert.deepEqual(found, expected)
    })
})

describe('replies of the server of an account', () => {
  it('hides every occurrence of a secret, except very short texts', () => {
    assert.strictEqual(
      redactSecrets('535 hunter22 and aHVudGVyMjI= and a', ['hunter22', 'aHVudGVyMjI=', 'a']),
      '535 ******** and ******** and a',
    )
  })
})
