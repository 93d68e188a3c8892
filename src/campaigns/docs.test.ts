import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { LEDGER } from './ledger-states.ts'
import { CAMPAIGN_MOVES, CAMPAIGN_STATES } from './state.ts'

/** The cells of each table row whose first cell is code. */
const ROWS = [...readFileSync('docs/guides/campaigns.md', 'utf8').matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(
  ([, name = '', rest = '']) => [name, rest] as const,
)
const rowsOf = (names: readonly string[]): unknown => Object.fromEntries(ROWS.filter(([name]) => names.includes(name)))

describe('docs/guides/campaigns.md', () => {
  it('lists the states of a campaign and of its ledger with their meaning', () => {
    assert.deepEqual(rowsOf(Object.keys(CAMPAIGN_STATES)), CAMPAIGN_STATES)
    assert.deepEqual(rowsOf(Object.keys(LEDGER)), LEDGER)
  })
  it('lists the moves', () => {
    const moves = Object.fromEntries(
      Object.entries(CAMPAIGN_MOVES).map(([name, { from, to }]) => [name, `${from.join(', ')} | ${to}`]),
    )
    assert.deepEqual(rowsOf(Object.keys(CAMPAIGN_MOVES)), moves)
  })
  it('the CHECK constraint lists the same ledger states', () => {
    const migration = readFileSync('migrations/018-campaigns.ts', 'utf8')
    const listed = /campaign_recipients_state CHECK \(\s*state IN \(([^)]+)\)/.exec(migration)?.[1] ?? ''
    assert.deepEqual(
      [...listed.matchAll(/'([a-z]+)'/g)].map(([, name]) => name),
      Object.keys(LEDGER),
    )
  })
})
