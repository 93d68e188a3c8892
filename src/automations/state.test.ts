import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { CAMPAIGN_MOVES, CAMPAIGN_STATES } from '#src/campaigns/state.ts'
import type { Db } from '#src/stores/db.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { ENROLMENT_STATES, MOVES, STATUSES } from './state.ts'
import { CONDITIONS, OPERATORS, STEP_KINDS } from './step-kinds.ts'
import { TRIGGERS } from './triggers.ts'

const docs = (name: string): string => readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8')
const sorted = (names: Iterable<string>): string[] => [...names].toSorted((a, b) => a.localeCompare(b))
const column = (table: Readonly<Record<string, object>>, field: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(table).map(([name, row]) => [name, (row as Record<string, unknown>)[field]]))

describe('the states of automations and campaigns', () => {
  let database: OpenDatabase
  let db: Db
  before(async () => {
    database = await openDatabase()
    db = database.db
  })
  after(() => database.close())

  const CHECKS: readonly (readonly [constraint: string, names: object])[] = [
    ['automations_status', STATUSES],
    ['automations_trigger_type', TRIGGERS],
    ['enrolments_state', ENROLMENT_STATES],
    ['campaigns_status', CAMPAIGN_STATES],
  ]
  for (const [constraint, names] of CHECKS) {
    it(`the CHECK constraint lists the same names: ${constraint}`, async () => {
      const {
        rows: [row],
      } = await db.query<{ text: string }>(
        'SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = $1',
        [constraint],
      )
      assert.deepEqual(
        sorted([...(row?.text ?? '').matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '')),
        sorted(Object.keys(names)),
      )
    })
  }

  const TOLD: readonly (readonly [what: string, page: string, rows: Readonly<Record<string, unknown>>])[] = [
    ['statuses', 'automations', STATUSES],
    ['states of a contact', 'automations', ENROLMENT_STATES],
    ['triggers', 'automations', column(TRIGGERS, 'when')],
    ['steps', 'automations', column(STEP_KINDS, 'does')],
    ['conditions', 'automations', column(CONDITIONS, 'does')],
    ['states of a campaign', 'campaigns', CAMPAIGN_STATES],
  ]
  for (const [what, page, rows] of TOLD) {
    it(`docs/guides/${page}.md lists the same ${what}`, () => {
      const text = docs(page)
      for (const [name, says] of Object.entries(rows)) {
        const found = text.split('\n').filter((row) => row.startsWith(`| \`${name}\` |`))
        assert.ok(
          found.some((row) => row.includes(`| ${String(says)} |`)),
          `${name} | ${String(says)}`,
        )
      }
    })
  }
  it('docs/guides/automations.md lists every operator', () => {
    for (const name of Object.keys(OPERATORS)) assert.ok(docs('automations').includes(`\`${name}\``), name)
  })

  type Moves = Readonly<Record<string, { readonly from: readonly string[]; readonly to: string }>>
  const LIVES: readonly (readonly [what: string, first: string, states: object, moves: Moves])[] = [
    ['an automation', 'draft', STATUSES, MOVES],
    ['a campaign', 'DRAFT', CAMPAIGN_STATES, CAMPAIGN_MOVES],
  ]
  for (const [what, first, states, moves] of LIVES) {
    it(`${what} can reach every state`, () => {
      const reachable = new Set([first])
      for (const _ of Object.keys(states))
        for (const { from, to } of Object.values(moves)) if (from.some((one) => reachable.has(one))) reachable.add(to)
      assert.deepEqual(sorted(reachable), sorted(Object.keys(states)))
    })
  }
})
