import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { CAUSES } from './cause.ts'

describe('causes of suppression', () => {
  it('are documented in the order of the code, strongest first', () => {
    const rows = readFileSync('docs/guides/suppression.md', 'utf8').matchAll(/^\| `(\w+)` \| (.+) \|$/gm)
    assert.deepEqual(
      [...rows].map(([, kind, meaning]) => [kind, meaning]),
      Object.entries(CAUSES).map(([kind, { meaning }]) => [kind, meaning]),
    )
  })
})
