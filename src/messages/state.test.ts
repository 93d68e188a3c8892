import { assert } from 'chai'
import { EVENT_TYPE_NAMES, EVENT_TYPES } from '#src/events/catalogue.ts'
import { INITIAL_STATES, isOpen, MOVES, STATES, type State } from './state.ts'

const names = Object.keys(STATES) as State[]

describe('states of a recipient', () => {
  it('every state can be reached from an initial state', () => {
    const reachable = new Set<string>(Object.keys(INITIAL_STATES))
    for (const _ of names)
      for (const move of Object.values(MOVES)) if (move.from.some((from) => reachable.has(from))) reachable.add(move.to)
    assert.deepEqual([...reachable].toSorted(), names.toSorted())
  })
  it('every open state can be left, a settled one only by a late report', () => {
    for (const state of names) {
      const leaving = Object.entries(MOVES)
        .filter(([, move]) => move.from.some((from) => from === state))
        .map(([name]) => name)
      if (isOpen(state)) assert.ok(leaving.length > 0, state)
      else
        assert.ok(
          leaving.every((name) => name === 'late_bounce' || name === 'confirm'),
          `${state}: ${leaving.join()}`,
        )
    }
  })
  it('emits every event that the catalogue says a transition raises, and no others', () => {
    const emitted = [
      ...Object.values(MOVES).flatMap(({ emits }): readonly string[] => emits),
      ...Object.values(INITIAL_STATES),
    ]
    const raised = EVENT_TYPE_NAMES.filter((type) => EVENT_TYPES[type].raisedBy === 'transition')
    assert.deepEqual([...new Set(emitted.flat())].toSorted(), raised.toSorted())
  })
  it('has a sentence for every state', () => {
    for (const state of names) assert.ok(STATES[state].length > 10, state)
  })
})
