import { assert } from 'chai'
import { eventTypeRow, EVENT_TYPE_NAMES, EVENT_TYPES, isEventType, type EventTypeRow } from './catalogue.ts'

const ROWS: readonly (readonly [string, EventTypeRow])[] = Object.entries(EVENT_TYPES)
/** Only mail has transitions, opens, clicks and reports. */
const SUBJECTS: Readonly<Record<EventTypeRow['raisedBy'], RegExp>> = {
  transition: /^email\./,
  tracking: /^email\./,
  report: /^email\./,
  change: /^(contact|domain|account)\.|^email\.received$/,
}

describe('the catalogue of events', () => {
  for (const [type, { meaning, raisedBy, fields, sample }] of ROWS)
    it(`${type} has a name, a description and a sample with all its fields`, () => {
      assert.match(type, /^[a-z]+\.[a-z]+$/)
      assert.match(type, SUBJECTS[raisedBy])
      assert.match(meaning, /^[A-Z].*\.$/)
      for (const [name, field] of Object.entries(fields)) {
        assert.ok(name in sample, `the sample has no ${name}`)
        assert.equal(typeof sample[name], field.type === 'text' ? 'string' : 'boolean')
        if (field.values !== undefined) assert.ok(field.values.includes(String(sample[name])))
        assert.ok(field.meaning.length > 10)
      }
    })

  it('finds a row by its name, and an empty row for a type of a newer version', () => {
    for (const type of EVENT_TYPE_NAMES) assert.equal(eventTypeRow(type), EVENT_TYPES[type])
    assert.deepEqual(eventTypeRow('email.teleported').fields, {})
    assert.deepEqual(['email.sent', 'email.teleported', 'toString'].map(isEventType), [true, false, false])
  })
})
