import { assert } from 'chai'
import { ALL_SCOPES } from '#src/auth/scopes.ts'
import { hasPermission, mayManage, PERMISSIONS, ROLE_NAMES, scopesOfRole, type Permission } from './roles.ts'

describe('roles', () => {
  it('a lower role may do nothing that owner and admin may not', () => {
    for (const permission of Object.keys(PERMISSIONS) as Permission[])
      for (const role of ['owner', 'admin'] as const) assert.ok(hasPermission(role, permission), permission)
  })
  it('only owners and admins manage members, privacy, Admin keys and the audit log', () => {
    for (const permission of ['members:manage', 'privacy:manage', 'admin-keys:create', 'audit:read'] as const)
      assert.deepEqual(
        ROLE_NAMES.filter((role) => hasPermission(role, permission)),
        ['owner', 'admin'],
      )
  })
  it('a viewer changes nothing', () => {
    const permissions = (Object.keys(PERMISSIONS) as Permission[]).filter((one) => hasPermission('viewer', one))
    assert.ok(permissions.every((one) => one.endsWith(':read')))
  })
  it('nobody manages a role above their own', () => {
    const managed = ROLE_NAMES.map((role) => ROLE_NAMES.filter((other) => mayManage(role, other)))
    assert.deepEqual(managed, [ROLE_NAMES, ROLE_NAMES.slice(1), [], [], []])
  })
  it('a role gives the scopes of keys that do no more than it', () => {
    assert.deepEqual(scopesOfRole('owner'), ALL_SCOPES)
    assert.deepEqual(scopesOfRole('viewer'), ['automations:read', 'statistics:read'])
    const developer = scopesOfRole('developer')
    assert.includeMembers([...developer], ['domains:manage', 'api-keys:manage', 'webhooks:manage'])
    for (const scope of ['campaigns:manage', 'contacts:read', 'contacts:write', 'privacy:manage', 'audit:read'])
      assert.notInclude(developer as readonly string[], scope)
  })
})
