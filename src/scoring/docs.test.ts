import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { SCORE_FACTORS } from './score-factors.ts'

describe('docs/guides/contacts-and-audiences.md', () => {
  it('lists every factor of the score', () => {
    const text = readFileSync(new URL('../../docs/guides/contacts-and-audiences.md', import.meta.url), 'utf8')
    const rows = [...text.slice(text.indexOf('## How the score')).matchAll(/^\| (.+) \| ([\d.]+) \|$/gm)]
    assert.deepEqual(
      rows.map(([, when, times]) => [when, Number(times)]),
      Object.values(SCORE_FACTORS).map(({ when, times }) => [when, times]),
    )
  })
})
