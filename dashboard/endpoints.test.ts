import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { ENDPOINTS_FILE, generateEndpoints } from './generate-endpoints.ts'

describe('the endpoints of the dashboard', () => {
  it('are those of the API', () => {
    const isCurrent = readFileSync(ENDPOINTS_FILE, 'utf8') === generateEndpoints()
    assert.ok(isCurrent, 'src/api/endpoints.ts is outdated: run `node dashboard/generate-endpoints.ts`')
  })
})
