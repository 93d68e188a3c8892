/** The tables of docs/domains.md say what the code does. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { REGIONS } from '#config/regions.ts'
import { KEY_STATES } from './key-state.ts'
import { DOMAIN_STATES } from './status.ts'

describe('docs/domains.md', () => {
  const page = readFileSync(new URL('../../docs/domains.md', import.meta.url), 'utf8')
  const rows = (table: Readonly<Record<string, string>>): string =>
    Object.entries(table)
      .map(([name, meaning]) => `| \`${name}\` | ${meaning} |`)
      .join('\n')

  it('lists the statuses of a domain', () => assert.ok(page.includes(rows(DOMAIN_STATES))))
  it('lists the states of a DKIM key', () => assert.ok(page.includes(rows(KEY_STATES))))
  it('lists the regions and their pools', () => {
    const table = Object.fromEntries(
      Object.entries(REGIONS).map(([name, { place, pool }]) => [name, `${place} | \`${pool}\``]),
    )
    assert.ok(page.includes(rows(table)))
  })
})
