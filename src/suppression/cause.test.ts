import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { CAUSES } from './cause.ts'

describe('causes of suppression', () => {
  it('stand in the docs as they are here, strongest first', () => {
    const rows = readFileSync('docs/suppression.md', 'utf8').matchAll(/^\| `(\w+)` \| (.+) \|$/gm)
    assert.deepEqual(
      [...rows].map(([, kind, meaning]) => [kind, meaning]),
      Object.entries(CAUSES).map(([kind, { meaning }]) => [kind, meaning]),
    )
  })
})
