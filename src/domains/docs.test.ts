/** The tables of docs/guides/sending-domains.md match the code. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { REGIONS } from '#config/regions.ts'
import { KEY_STATES } from './key-state.ts'
import { DOMAIN_STATES } from './domain-status.ts'

describe('docs/guides/sending-domains.md', () => {
  const page = readFileSync(new URL('../../docs/guides/sending-domains.md', import.meta.url), 'utf8')
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
