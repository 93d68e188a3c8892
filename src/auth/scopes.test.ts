import { assert } from 'chai'
import { ALL_SCOPES, parseScopes, SCOPES } from './scopes.ts'

const CASES: readonly [text: string, scopes: readonly string[] | null][] = [
  ['all', ALL_SCOPES],
  [' all ', ALL_SCOPES],
  ['contacts:read', ['contacts:read']],
  ['webhooks:manage, contacts:read,contacts:read', ['contacts:read', 'webhooks:manage']],
  ['', null],
  [',', null],
  ['contacts', null],
  ['contacts:read,contacts:delete', null],
  ['all,contacts:read', null],
  ['__proto__', null],
  ['constructor', null],
]

describe('scopes', () => {
  for (const [text, scopes] of CASES) {
    it(`parses ${JSON.stringify(text)}`, () => assert.deepEqual(parseScopes(text), scopes))
  }

  it('are those of the specification, with additions', () => {
    assert.deepEqual(Object.keys(SCOPES), [
      'contacts:read',
      'contacts:write',
      'audiences:manage',
      'emails:read',
      'emails:manage',
      'automations:read',
      'automations:write',
      'automations:trigger',
      'domains:manage',
      'api-keys:create',
      'api-keys:manage',
      'webhooks:manage',
      'inbound:manage',
      'suppressions:manage',
      'accounts:manage',
      'campaigns:manage',
      'audit:read',
      'privacy:manage',
      'statistics:read',
      'tracking:manage',
    ])
  })
})
