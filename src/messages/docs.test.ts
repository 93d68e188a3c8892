import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { checkSection } from '#test/support/generated-docs.ts'
import { MOVES, STATES, type Move } from './state.ts'

const PAGE = 'reference/architecture.md'

function listCode(names: readonly string[]): string {
  return names.map(code).join(', ')
}

function statesTable(): string {
  return markdownTable(
    ['State', 'Meaning'],
    Object.entries(STATES).map(([name, meaning]) => [code(name), meaning]),
  )
}

describe('docs/guides/sending-email.md', () => {
  it('lists the states of a recipient', () => checkSection('guides/sending-email.md', 'states', statesTable()))
})

describe('docs/reference/architecture.md', () => {
  it('lists the states of a recipient', () => checkSection(PAGE, 'states', statesTable()))
  it('lists the transitions', () => {
    const moves: readonly (readonly [string, Move])[] = Object.entries(MOVES)
    const rows = moves.map(([name, { from, to, emits }]) => [code(name), listCode(from), code(to), listCode(emits)])
    checkSection(PAGE, 'transitions', markdownTable(['Transition', 'From', 'To', 'Events'], rows))
  })
})
