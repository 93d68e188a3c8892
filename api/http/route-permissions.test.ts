/** Every endpoint of a workspace has a permission or a reason, so that a new one cannot be forgotten. */
import { assert } from 'chai'
import { ROUTES } from '#api/table.ts'
import { PERMISSIONS, ROLE_NAMES } from '#src/people/roles.ts'
import { KEYS_ONLY, NAMED_ROUTES, permissionOf, rolesOf } from './route-permissions.ts'
import { isOfWorkspace, isPersonal } from './route.ts'

const OF_WORKSPACES = ROUTES.filter(isOfWorkspace).map(({ name }) => name)

describe('the permissions of endpoints', () => {
  it('exist for every endpoint of a workspace, or a reason against it', () => {
    const missing = OF_WORKSPACES.filter((name) => permissionOf(name) === null && !Object.hasOwn(KEYS_ONLY, name))
    assert.deepEqual(missing, [], 'add them to ROUTES_BY_PERMISSION or KEYS_ONLY')
  })
  it('name endpoints that exist, each once', () => {
    const named = [...NAMED_ROUTES, ...Object.keys(KEYS_ONLY)]
    assert.deepEqual(named.toSorted(), OF_WORKSPACES.toSorted())
  })
  it('are all used', () => {
    const used = new Set(NAMED_ROUTES.map(permissionOf))
    assert.deepEqual(
      Object.keys(PERMISSIONS).filter((name) => !(used as ReadonlySet<string | null>).has(name)),
      [],
    )
  })
  it('open every endpoint for people to a role', () => {
    for (const { name } of ROUTES.filter((spec) => spec.access === 'member' && isPersonal(spec)))
      assert.isNotEmpty(rolesOf(name), name)
  })
  it('give a viewer no endpoint that changes or downloads', () => {
    const changing = ROUTES.filter(({ method, name }) => method !== 'GET' && rolesOf(name).includes('viewer'))
    // these change nothing, or only who asks
    assert.deepEqual(changing.map(({ name }) => name).toSorted(), [
      'check-template',
      'dry-run-automation',
      'leave-workspace',
      'preview-segment',
      'preview-template',
    ])
  })
  it('are all those of owners', () => {
    for (const name of NAMED_ROUTES) assert.deepEqual(rolesOf(name).slice(0, 2), ROLE_NAMES.slice(0, 2), name)
  })
})
