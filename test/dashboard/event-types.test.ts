/** The dashboard groups the types of events; the catalogue has them. */
import { assert } from 'chai'
import { EVENT_TYPES as CHOICE } from '#dashboard/src/webhooks/event-types.ts'
import { EVENT_TYPES } from '#src/events/catalogue.ts'

describe('dashboard: events of a webhook', () => {
  it('are those of the catalogue, each in one group', () => {
    assert.deepEqual([...CHOICE].toSorted(), Object.keys(EVENT_TYPES).toSorted())
  })
})
