import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { FACTORS } from './factors.ts'

describe('docs/contacts.md', () => {
  it('has every factor of the score as it is', () => {
    const text = readFileSync(new URL('../../docs/contacts.md', import.meta.url), 'utf8')
    const rows = [...text.slice(text.indexOf('## How the score')).matchAll(/^\| (.+) \| ([\d.]+) \|$/gm)]
    assert.deepEqual(
      rows.map(([, when, times]) => [when, Number(times)]),
      Object.values(FACTORS).map(({ when, times }) => [when, times]),
    )
  })
})
