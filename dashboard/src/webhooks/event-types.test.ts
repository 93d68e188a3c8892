import { assert } from 'chai'
import { chosenTypes, EVENT_TYPES, toEvents } from './event-types.ts'

describe('events of a webhook', () => {
  it('are all for * and for none', () => {
    assert.deepEqual(chosenTypes(['*']), EVENT_TYPES)
    assert.deepEqual(chosenTypes([]), EVENT_TYPES)
    assert.deepEqual(chosenTypes(['email.sent', 'no.such']), ['email.sent'])
  })
  it('are * if all are chosen', () => {
    assert.strictEqual(toEvents(EVENT_TYPES), '*')
    assert.deepEqual(toEvents(['email.sent']), ['email.sent'])
  })
})
